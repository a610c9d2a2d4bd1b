"""AMD GPUs through the real helper process, from a tree laid out as the amdgpu driver's. Never seen on a card."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobmeter.collectors import rocm
from jobmeter.probes.paths import Paths
from support.livejob import LiveJob

KEYS = frozenset(m.key for m in rocm.MEASUREMENTS)
CARD = "GPU-79ccd55167a2124a"
FILES = {
    "vendor": "0x1002",
    "device": "0x738c",
    "unique_id": "79ccd55167a2124a",
    "product_name": "Instinct MI100",
    "gpu_busy_percent": "93",
    "mem_info_vram_used": "6750208",
    "mem_info_vram_total": "34342961152",
    "hwmon/hwmon4/power1_average": "36000000",
    "hwmon/hwmon4/power1_cap": "290000000",
    "hwmon/hwmon4/temp1_label": "edge",
    "hwmon/hwmon4/temp1_input": "53000",
    "hwmon/hwmon4/temp2_label": "junction",
    "hwmon/hwmon4/temp2_input": "55000",
    "hwmon/hwmon4/freq1_label": "sclk",
    "hwmon/hwmon4/freq1_input": "300000000",
    "hwmon/hwmon4/freq2_label": "mclk",
    "hwmon/hwmon4/freq2_input": "1200000000",
}


@pytest.fixture
def pid() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "100"], env={"PATH": os.environ["PATH"]})
    yield process.pid
    process.kill()
    process.wait()


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """A machine with one MI100 at 0000:83:00.0 and somebody else's card beside it."""
    bus = tmp_path / "sys/devices/pci0000:80/0000:83:00.0"
    for name, text in FILES.items():
        (bus / name).parent.mkdir(parents=True, exist_ok=True)
        (bus / name).write_text(f"{text}\n")
    for number, vendor in ((0, "0x10de"), (2, "0x1a03")):
        other = tmp_path / f"sys/class/drm/card{number}/device"
        other.mkdir(parents=True)
        (other / "vendor").write_text(f"{vendor}\n")
    card = tmp_path / "sys/class/drm/card1"
    card.mkdir()
    (card / "device").symlink_to(bus)
    node = tmp_path / "sys/class/kfd/kfd/topology/nodes/1"
    node.mkdir(parents=True)
    (node / "gpu_id").write_text("51140\n")
    (node / "properties").write_text(
        f"simd_count 480\nlocation_id {0x83 << 8}\ndomain 0\ndrm_render_minor 128\n"
    )
    (tmp_path / "sys/class/kfd/kfd/proc").mkdir()
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kfd").touch()
    return Paths(sys=str(tmp_path / "sys"), dev=str(tmp_path / "dev"))


def read_until(
    job: LiveJob, found: Callable[[dict[tuple[str, str], object]], bool]
) -> dict[tuple[str, str], object]:
    source = rocm.attach(job, KEYS)  # type: ignore[arg-type]  # dressed as a job
    seen: dict[tuple[str, str], object] = {}
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not found(seen):
        seen.update({(key, instance): value for key, instance, value in source.read()})
        time.sleep(0.02)
    source.close()
    return seen


def test_a_card_is_read_in_base_units_once_a_process_of_the_job_is_on_it(paths: Paths, pid: int) -> None:
    held = Path(paths.sys) / f"class/kfd/kfd/proc/{pid}"
    held.mkdir()
    (held / "vram_51140").write_text("6700000\n")
    job = LiveJob(pid, paths=paths)
    seen = read_until(job, lambda seen: ("rocm_sm_clock", CARD) in seen and ("rocm_util", CARD) in seen)
    estimate = seen.pop(("rocm_energy_estimate", CARD))
    assert isinstance(estimate, float)
    assert {key: value for (key, instance), value in seen.items() if instance == CARD} == {
        "rocm_name": "Instinct MI100",
        "rocm_index": "0",
        "rocm_util": 93,
        "rocm_mem_used": 6750208,
        "rocm_mem_total": 34342961152,
        "rocm_power": 36.0,
        "rocm_power_limit": 290.0,
        "rocm_temp": 53.0,
        "rocm_junction_temp": 55.0,
        "rocm_sm_clock": 300000000,
        "rocm_mem_clock": 1200000000,
    }
    assert seen["rocm_proc_mem_total", ""] == 6700000
    assert seen["rocm_proc_mem", job.instance(pid)] == 6700000


def test_a_machine_without_such_a_card_says_so(paths: Paths, tmp_path: Path) -> None:
    assert rocm.missing(paths) is None
    assert rocm.missing(Paths(dev=str(tmp_path))) == f"no AMD GPU for computing: no {tmp_path}/kfd"
    nothing = Paths(sys=str(tmp_path / "none"), dev=paths.dev)
    assert rocm.missing(nothing) == f"no card of the amdgpu driver in {tmp_path}/none/class/drm"


def test_a_card_found_on_the_machine_is_recorded_without_being_asked_for(paths: Paths) -> None:
    from jobmeter.recording import selection

    chosen = selection.default(paths)
    assert "rocm_util" in chosen.definitions
    assert "rocm" not in selection.default(Paths()).missing
