"""A machine with one GPU: the real helper process over a library with NVML's interface, compiled here."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobmeter.collectors import nvml
from jobmeter.collectors.gpu_devices import JobDevices
from jobmeter.collectors.gpu_source import GpuSource
from jobmeter.probes.gpu_process import HelperProcess
from support.gpus import Clock
from support.livejob import LiveJob
from support.nvml import H200, StandIn

KEYS = frozenset(m.key for m in nvml.MEASUREMENTS)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    return StandIn(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def gpus(library: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A machine with one H200 nobody is on."""
    library.clear()
    library.update(H200)
    for name, value in library.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return library


@pytest.fixture
def started() -> Iterator[Callable[..., int]]:
    """Starts processes that wait, with an environment of their own."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(**environment: str) -> int:
        process = subprocess.Popen(["sleep", "100"], env={"PATH": os.environ["PATH"], **environment})
        processes.append(process)
        # before exec its environment is ours
        while Path(f"/proc/{process.pid}/comm").read_text() != "sleep\n":
            time.sleep(0.001)
        return process.pid

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def attach(gpus: StandIn) -> Iterator[Callable[..., tuple[GpuSource, HelperProcess, Clock]]]:
    """Binds the source to processes, with a clock that can be set forward."""
    sources: list[GpuSource] = []

    def bind(
        *pids: int, gpus_option: str = "job", shared_clock: bool = False
    ) -> tuple[GpuSource, HelperProcess, Clock]:
        clock = Clock()
        now = clock if shared_clock else time.monotonic
        job = LiveJob(*pids)
        job.gpus = gpus_option
        helper = HelperProcess(["nvml"], "/proc", clock=clock)
        devices = JobDevices(job, nvml.VARIABLES, nvml.DEVICE_FILES)  # type: ignore[arg-type]  # dressed as a job
        source = GpuSource(job, nvml.MEASUREMENTS, KEYS, helper, devices, clock=now)  # type: ignore[arg-type]
        sources.append(source)
        return source, helper, clock

    yield bind
    for source in sources:
        source.close()
