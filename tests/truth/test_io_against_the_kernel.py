"""Bytes read and written against what the job really did, fsynced to a real disk."""

from collections.abc import Callable

import pytest

from harness.recorded import Recorded

Record = Callable[..., Recorded]
MIB = 1 << 20


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_300_mb_written_are_counted(record: Record, who: str) -> None:
    run = record(who, "write.py", "--after", "0.6")
    assert run.headline["io_write_bytes"]["value"] == pytest.approx(300_000_000, rel=0.02)


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_a_reaped_childs_bytes_count_once(record: Record, who: str) -> None:
    # /proc/PID/io of the shell contains what dd wrote, once the shell has waited for dd
    script = "dd if=/dev/zero of=block bs=1M count=64 conv=fsync status=none; sleep 1.3; rm block"
    run = record(who, "/bin/bash", "-c", f"{script}; true")
    assert run.exit_code == 0
    assert run.headline["io_write_bytes"]["value"] == pytest.approx(64 * MIB, rel=0.02)


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_bytes_of_many_short_writers_are_all_counted(record: Record, who: str) -> None:
    writer = "dd if=/dev/zero of=b$i bs=1M count=8 conv=fsync status=none"
    run = record(
        who, "/bin/bash", "-c", f"for i in 1 2 3 4 5 6 7 8; do {writer} & done; wait; rm b?; sleep 0.3"
    )
    assert run.headline["io_write_bytes"]["value"] == pytest.approx(64 * MIB, rel=0.02)


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_the_recorders_own_bytes_are_not_the_jobs(record: Record, who: str) -> None:
    run = record(who, "/bin/sleep", "1.2")
    assert run.headline["io_write_bytes"]["value"] == 0
