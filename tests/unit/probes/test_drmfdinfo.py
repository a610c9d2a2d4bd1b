"""Descriptors of graphics drivers, as the kernel documents and several drivers print them."""

import os
from pathlib import Path

from jobmeter.probes import drmfdinfo

AMD = b"""pos:\t0
flags:\t02100002
mnt_id:\t26
ino:\t603
pasid:\t32773
drm-driver:\tamdgpu
drm-pdev:\t0000:c5:00.0
drm-client-id:\t98
drm-memory-vram:\t524288 KiB
drm-memory-gtt: \t2048 KiB
drm-engine-gfx:\t1000000000 ns
drm-engine-compute:\t500000000 ns
"""
INTEL = b"drm-driver: i915\ndrm-pdev: 0000:00:02.0\ndrm-client-id: 7\ndrm-engine-render: 9288864723 ns\n"


def test_an_amd_client_tells_its_memory_and_its_time() -> None:
    found = drmfdinfo.parse(AMD)
    assert found is not None
    assert (found.device, found.client, found.vram_bytes, found.busy_ns) == (
        "0000:c5:00.0",
        "98",
        536870912,
        1500000000,
    )


def test_what_a_driver_does_not_tell_is_absent() -> None:
    found = drmfdinfo.parse(INTEL)
    assert found is not None
    assert (found.vram_bytes, found.busy_ns) == (None, 9288864723)


def test_other_descriptors_are_none_of_ours() -> None:
    assert drmfdinfo.parse(b"pos:\t0\nflags:\t02\n") is None
    assert drmfdinfo.parse(b"") is None


def test_a_client_with_two_descriptors_counts_once(tmp_path: Path) -> None:
    (tmp_path / "7/fd").mkdir(parents=True)
    (tmp_path / "7/fdinfo").mkdir()
    for number, target in ((3, "/dev/dri/renderD128"), (4, "/dev/dri/renderD128"), (5, "/dev/null")):
        os.symlink(target, tmp_path / f"7/fd/{number}")
        (tmp_path / f"7/fdinfo/{number}").write_bytes(AMD)
    assert [client.vram_bytes for client in drmfdinfo.of_process(str(tmp_path), 7)] == [536870912]
    assert drmfdinfo.of_process(str(tmp_path), 8) == []
