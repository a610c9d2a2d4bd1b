"""nvidia-smi by a real program of that name which prints what such programs printed elsewhere, hangs, or breaks."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobmeter.collectors import nvsmi
from jobmeter.collectors.gpu_devices import JobDevices
from jobmeter.collectors.gpu_source import GpuSource
from jobmeter.model.breaker import Breaker
from jobmeter.probes.nvsmi import Listener
from jobmeter.probes.paths import Paths
from jobmeter.probes.slowtool import SlowTool
from support.gpus import Clock
from support.livejob import LiveJob

KEYS = frozenset(m.key for m in nvsmi.MEASUREMENTS)
A10G = "GPU-9a1c7e55-0000-1111-2222-333333333333"
T4 = "GPU-1b2c3d4e-0000-1111-2222-333333333333"
HEADER = (
    "uuid, index, pci.bus_id, name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], "
    "memory.total [MiB], power.draw [W], enforced.power.limit [W], temperature.gpu, temperature.memory, "
    "clocks.current.sm [MHz], clocks.current.memory [MHz], fan.speed [%]\n"
)
ROW = f"{A10G}, 0, 00000000:00:1E.0, NVIDIA A10G, 87 %, 41 %, 22569 MiB, 23028 MiB, 230.12 W, 300.00 W, 58, [N/A], 1710 MHz, 6251 MHz, [N/A]\n"  # noqa: E501  # as it is printed
OLD = f"{T4}, 1, 00000000:00:1F.0, Tesla T4, [Not Supported], [N/A], 105 MiB, 15109 MiB, [Unknown Error], 70.00 W, 36, N/A, 300 MHz, 405 MHz, [Not Supported]\n"  # noqa: E501  # as it is printed
SCRIPT = """#!/bin/sh
echo x >> {folder}/calls
case "$1" in
  --query-gpu=*) exec cat {folder}/gpus ;;
  *) exec cat {folder}/apps ;;
esac
"""


class Machine:
    """A nvidia-smi whose answers are files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "nvidia-smi"
        self.write(SCRIPT.format(folder=folder))
        self.answer(HEADER + ROW)
        self.clock = Clock()

    def write(self, script: str) -> None:
        fresh = self.folder / "fresh"
        fresh.write_text(script)
        fresh.chmod(0o755)
        os.replace(fresh, self.program)

    def answer(self, gpus: str, apps: str = "gpu_uuid, pid, used_gpu_memory [MiB]\n") -> None:
        (self.folder / "gpus").write_text(gpus)
        (self.folder / "apps").write_text(apps)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def pid() -> Iterator[int]:
    process = subprocess.Popen(
        ["sleep", "100"], env={"PATH": os.environ["PATH"], "CUDA_VISIBLE_DEVICES": "0,1"}
    )
    while Path(f"/proc/{process.pid}/comm").read_text() != "sleep\n":
        time.sleep(0.001)
    yield process.pid
    process.kill()
    process.wait()


@pytest.fixture
def source(machine: Machine, pid: int) -> Iterator[GpuSource]:
    job = LiveJob(pid)
    listener = Listener(str(machine.program), clock=machine.clock)
    devices = JobDevices(job, ("CUDA_VISIBLE_DEVICES",), "/dev/nvidia")  # type: ignore[arg-type]  # dressed as a job
    bound = GpuSource(job, nvsmi.MEASUREMENTS, KEYS, listener, devices, clock=machine.clock)  # type: ignore[arg-type]
    yield bound
    bound.close()
    assert listener.strays == ()


def read_until(
    source: GpuSource, machine: Machine, found: Callable[[dict[tuple[str, str], object]], bool]
) -> dict:
    """Sample once a second, as the clock of the test has it."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        readings = {(key, instance): value for key, instance, value in source.read()}
        if found(readings):
            return readings
        time.sleep(0.01)
        machine.clock.ahead += 0.2
    raise AssertionError("never came")


def test_cells_become_base_units_and_brackets_become_nothing(source: GpuSource, machine: Machine) -> None:
    found = read_until(source, machine, lambda readings: ("nvsmi_util", A10G) in readings)
    assert {key: value for (key, instance), value in found.items() if instance == A10G} == {
        "nvsmi_name": "NVIDIA A10G",
        "nvsmi_index": "0",
        "nvsmi_util": 87,
        "nvsmi_mem_util": 41,
        "nvsmi_mem_used": 23665311744,
        "nvsmi_mem_total": 24146608128,
        "nvsmi_power": 230.12,
        "nvsmi_power_limit": 300.0,
        "nvsmi_energy_estimate": 0.0,
        "nvsmi_temp": 58,
        "nvsmi_sm_clock": 1710000000,
        "nvsmi_mem_clock": 6251000000,
    }


def test_a_board_that_supports_little_says_little(source: GpuSource, machine: Machine) -> None:
    machine.answer(HEADER + ROW + OLD)
    found = read_until(source, machine, lambda readings: ("nvsmi_temp", T4) in readings)
    assert {key for key, instance in found if instance == T4} == {
        "nvsmi_name", "nvsmi_index", "nvsmi_mem_used", "nvsmi_mem_total", "nvsmi_power_limit", "nvsmi_temp",
        "nvsmi_sm_clock", "nvsmi_mem_clock",
    }  # fmt: skip
    assert ("nvsmi_power_total", "") not in found


def test_memory_of_the_jobs_processes_is_attributed(source: GpuSource, machine: Machine, pid: int) -> None:
    machine.answer(
        HEADER + ROW, f"gpu_uuid, pid, used_gpu_memory [MiB]\n{A10G}, {pid}, 1024 MiB\n{A10G}, 1, [N/A]\n"
    )
    found = read_until(source, machine, lambda readings: ("nvsmi_proc_mem_total", "") in readings)
    assert found["nvsmi_proc_mem_total", ""] == 1073741824


def test_power_over_time_is_energy(source: GpuSource, machine: Machine) -> None:
    machine.answer(HEADER + ROW.replace("230.12", "100.00"))
    found = read_until(
        source, machine, lambda readings: float(str(readings.get(("nvsmi_energy_estimate", A10G), 0))) > 200
    )
    assert 200 < float(str(found["nvsmi_energy_estimate", A10G])) < 1200  # 100 W, a reading every 1 to 10 s


def test_one_that_hangs_is_given_up_after_two_seconds_and_asked_again_later(
    source: GpuSource, machine: Machine
) -> None:
    machine.write("#!/bin/sh\nexec sleep 60\n")
    read_until(source, machine, lambda _: source.standing()["state"] == "open")
    assert source.tell() == [
        (
            "source_failed",
            {"source": "nvsmi", "error": "nvidia-smi gave no answer in 2 s", "state": "open", "failures": 1},
        )
    ]
    machine.write(SCRIPT.format(folder=machine.folder))
    found = read_until(source, machine, lambda readings: ("nvsmi_util", A10G) in readings)
    assert found["nvsmi_util", A10G] == 87
    assert source.standing()["state"] == "closed"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("Unable to determine the device handle for GPU0: GPU is lost.  Reboot the system\n",
         "nvidia-smi said: Unable to determine the device handle for GPU0: GPU is lost. Reboot the system"),
        ("No devices were found\n", "nvidia-smi said: No devices were found"),
        ("", "nvidia-smi said nothing"),
        ("\0\x01garbage,,,\n,,,\n", "nvidia-smi said: \0\x01garbage,,, ,,,"),
    ],
)  # fmt: skip
def test_what_is_no_table_opens_the_breaker_and_is_quoted(
    source: GpuSource, machine: Machine, said: str, error: str
) -> None:
    machine.answer(said)
    read_until(source, machine, lambda _: source.standing()["state"] == "open")
    assert source.standing()["error"] == error
    assert source.read() == []


def test_one_that_never_stops_talking_is_cut_short(machine: Machine) -> None:
    machine.write("#!/bin/sh\nexec yes\n")
    tool = SlowTool(str(machine.program), [], every_seconds=1.0, clock=lambda: 100.0)
    while tool.state is not Breaker.OPEN:
        tool.take()
    assert tool.last_error == "nvidia-smi does not stop talking"
    tool.close()
    assert tool.strays == ()


def test_one_that_cannot_be_started_is_no_traceback(source: GpuSource, machine: Machine) -> None:
    machine.program.unlink()
    read_until(source, machine, lambda _: source.standing()["state"] == "open")
    assert "could not be started" in str(source.standing()["error"])


def test_what_its_calls_used_is_known(machine: Machine, pid: int) -> None:
    job = LiveJob(pid)
    listener = Listener(str(machine.program), clock=machine.clock)
    while not listener.hear():
        time.sleep(0.005)
    listener.close()
    assert listener.usage.maxrss_bytes > 0
    assert job.helpers == []


def test_it_is_missing_without_a_gpu_and_without_the_program(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidiactl").touch()
    here, nowhere = Paths(dev=str(tmp_path / "dev")), Paths(proc=str(tmp_path), dev=str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert nvsmi.missing(nowhere) == "no NVIDIA GPU"
    assert nvsmi.missing(here) == "no nvidia-smi on PATH"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert nvsmi.missing(here) is None
