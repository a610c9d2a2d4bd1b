"""`jobmeter run` on a machine with a GPU: a driver's folder in a mount namespace, a library with NVML's interface."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.nvml import H200, StandIn
from support.recorder import Home, Record, children, events, leave, records, series, wait_for

DRIVER = ["unshare", "-m", "sh", "-c",
          'mount -t tmpfs none /proc/driver && mkdir -p /proc/driver/nvidia/gpus && exec "$@"', "sh"]  # fmt: skip
GPU = "GPU-11111111-2222-3333-4444-555555555555"
HELD = ["sh", "-c", "read line"]
"""A job that lasts until its input ends."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    return StandIn(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def gpu(library: StandIn) -> StandIn:
    library.clear()
    library.update(H200)
    return library


class Recording:
    """A job that is being recorded on that machine, until it is let go."""

    def __init__(self, home: Home, gpu: StandIn, options: Sequence[str], **environment: str) -> None:
        self.home = home
        read_end, self._release = os.pipe()
        self.process = home.start(
            "--sample-interval", "0.1", *options, "--", *HELD,
            before=DRIVER,
            env=home.environ(CUDA_VISIBLE_DEVICES="0", **gpu.environment, **environment),
            stdin=read_end,
        )  # fmt: skip
        os.close(read_end)

    def values(self, key: str) -> list[float]:
        """Give every value of a key that is on the disk."""
        return [value for folder in self.home.folders() for _, value in series(folder, key)]

    def end(self) -> Record:
        """Let the job end and give its last record."""
        os.close(self._release)
        finished = self.home.finish(self.process)
        assert finished.code in (0, 1), finished.stderr
        return records(finished.folder)["end"]


def test_a_run_knows_its_gpu_and_what_it_used(home: Home, gpu: StandIn) -> None:
    recording = Recording(home, gpu, ["--energy-price", "0.5 EUR"])
    wait_for(lambda: recording.values("nvml_util"))
    gpu.update({"TotalEnergyConsumption.0": 1_300_000, "MemUsed.0": 70 << 30})
    wait_for(lambda: 70 << 30 in recording.values("nvml_mem_used"))
    end = recording.end()
    summary = end["summary"]
    assert summary["nvml_mean_util"] == 87
    assert summary["nvml_peak_mem_used_total"] == 75161927680
    assert summary["nvml_energy"] == 300
    assert summary["nvml_name"] == "NVIDIA H200"
    assert end["sources"]["nvml"]["state"] == "closed"
    assert events(home.folders()[0], "source_failed") == []


def test_energy_up_to_the_very_end_is_counted(home: Home, gpu: StandIn) -> None:
    recording = Recording(home, gpu, ["--sample-interval", "0.5"])
    wait_for(lambda: recording.values("nvml_energy"))
    gpu.update({"TotalEnergyConsumption.0": 1_900_000})
    assert recording.end()["summary"]["nvml_energy"] == 900


@pytest.mark.parametrize("own_cgroup", ["auto", "never"])
def test_the_helper_is_no_part_of_the_job(home: Home, gpu: StandIn, own_cgroup: str) -> None:
    recording = Recording(home, gpu, ["--own-cgroup", own_cgroup])
    wait_for(lambda: recording.values("nvml_util"))
    wait_for(lambda: os.kill(children(recording.process.pid)[-1], signal.SIGKILL) is None)  # the helper
    wait_for(lambda: events(home.folders()[0], "source_failed"))
    end = recording.end()
    assert end["summary"]["wait_cputime"] < 0.03  # the helper's start alone takes twice that
    assert end["summary"]["proc_peak_count"] == 1


def test_a_helper_that_stands_still_is_still_ours(home: Home, gpu: StandIn) -> None:
    recording = Recording(home, gpu, ["--own-cgroup", "never"])
    wait_for(lambda: recording.values("nvml_util"))
    helper = children(recording.process.pid)[-1]
    os.kill(helper, signal.SIGSTOP)
    wait_for(lambda: Path(f"/proc/{helper}/stat").read_text().split(")")[1].split()[0] == "T")
    seen = len(recording.values("proc_count"))
    wait_for(lambda: len(recording.values("proc_count")) > seen + 5)
    assert recording.end()["summary"]["proc_peak_count"] == 1
    assert not Path(f"/proc/{helper}").exists()


def test_waiting_for_children_does_not_wait_for_the_helper(home: Home, gpu: StandIn) -> None:
    recording = Recording(home, gpu, ["--wait-for-children"])
    wait_for(lambda: recording.values("nvml_util"))
    end = recording.end()
    assert "processes_left" not in end


def test_a_driver_that_hangs_costs_no_sample(home: Home, gpu: StandIn) -> None:
    gpu.update({"Util.0": "hang"})
    recording = Recording(home, gpu, [])
    wait_for(lambda: len(recording.values("proc_count")) > 15)
    assert recording.values("nvml_util") == []
    assert recording.end()["sources"]["nvml"]["failures"] == 0  # it was not waited for


def test_the_helper_does_not_outlive_a_recorder_that_was_killed(home: Home, gpu: StandIn) -> None:
    recording = Recording(home, gpu, [])
    wait_for(lambda: recording.values("nvml_util"))
    helper = children(recording.process.pid)[-1]
    assert b"gpu_helper" in Path(f"/proc/{helper}/cmdline").read_bytes()
    leave(recording.process)
    wait_for(
        lambda: (
            not Path(f"/proc/{helper}/cmdline").exists() or not Path(f"/proc/{helper}/cmdline").read_bytes()
        )
    )
