"""The life of the GPU helper process: drivers that hang or fail, recorders that die, nothing that waits."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jobmeter.model.breaker import Breaker
from jobmeter.probes import gpu_process
from jobmeter.probes.gpu_process import HelperProcess
from support.gpus import GPU, Clock, has, in_state, read_until
from support.nvml import StandIn


def test_a_slow_call_that_hangs_costs_its_own_values_only(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    gpus.update({"TotalEnergyConsumption.0": "hang"})
    source, helper, _ = attach(started(CUDA_VISIBLE_DEVICES="0"))
    for _ in range(3):
        found = read_until(source, has(("nvml_util", GPU)))
        assert ("nvml_energy", GPU) not in found
    assert helper.failures == 0


def test_a_driver_that_hangs_is_given_up_and_tried_again_later(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    source, helper, clock = attach(started(CUDA_VISIBLE_DEVICES="0"))
    read_until(source, has(("nvml_util", GPU)))
    gpus.update({"Util.0": "hang"})
    pid = helper.strays[0]
    clock.ahead += 60
    read_until(source, in_state(helper, "open"))
    assert [kind for kind, details in source.tell() if details["state"] == "open"] == ["source_failed"]
    assert source.read() == []
    assert source.standing()["state"] == "open"
    gpus.update({"Util.0": 55})
    clock.ahead += gpu_process.FIRST_PAUSE_SECONDS
    assert read_until(source, has(("nvml_util", GPU)))["nvml_util", GPU] == 55
    assert helper.strays[0] != pid
    assert source.standing() == {
        "state": "closed",
        "failures": 1,
        "error": source.standing()["error"],
        "devices": ["0 NVIDIA H200"],
    }


def test_each_failure_in_a_row_doubles_the_pause(gpus: StandIn, attach: Callable, started: Callable) -> None:
    source, helper, clock = attach(started())
    for pause in (2, 4, 8):
        read_until(source, in_state(helper, "closed"))
        os.kill(helper.strays[0], signal.SIGKILL)
        read_until(source, in_state(helper, "open"))
        clock.ahead += pause - 1
        source.read()
        assert helper.state is Breaker.OPEN
        clock.ahead += 1
    assert helper.failures == 3


def test_a_value_is_used_once(gpus: StandIn, attach: Callable, started: Callable) -> None:
    source, helper, _ = attach(started(CUDA_VISIBLE_DEVICES="0"))
    read_until(source, has(("nvml_util", GPU)))
    os.kill(helper.strays[0], signal.SIGSTOP)
    drained = [source.read() for _ in range(3)][-1]
    assert {key for key, _, _ in drained} <= {"nvml_count"}
    os.kill(helper.strays[0], signal.SIGCONT)
    read_until(source, has(("nvml_util", GPU)))


def test_an_answer_from_long_before_the_last_sample_is_not_new(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    source, _, clock = attach(started(CUDA_VISIBLE_DEVICES="0"), shared_clock=True)
    read_until(source, has(("nvml_util", GPU)))
    clock.ahead += 6
    source.read()  # asks again, 6 s after what is on its way was read
    assert ("nvml_util", GPU) not in {(key, instance) for key, instance, _ in source.read()}


def test_a_library_that_will_not_start_is_said_once_and_not_tried_again(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    gpus.update({"Init": "error 9"})
    source, helper, clock = attach(started())
    read_until(source, in_state(helper, "unusable"))
    assert [details["state"] for _, details in source.tell()] == ["unusable"]
    read_until(source, lambda _: helper.strays == ())  # it has spoken, but may still be on its way out
    clock.ahead += 1000
    assert source.read() == []
    assert helper.strays == ()
    assert source.tell() == []


def test_what_the_helper_used_is_known_when_it_is_gone(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    source, helper, _ = attach(started())
    read_until(source, in_state(helper, "closed"))
    source.close()
    assert helper.strays == ()
    assert helper.usage.cpu_ns > 1_000_000
    assert helper.usage.maxrss_bytes > 4 << 20
    assert helper.usage.io[0] > 0


ALONE = """
import os, sys
from jobmeter.probes.gpu_process import HelperProcess
helper = HelperProcess(["nvml"], "/proc")
while helper.state.value != "closed": helper.hear()
print(helper.strays[0], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("busy", [True, False])
def test_the_helper_ends_with_a_recorder_that_was_killed(gpus: StandIn, busy: bool) -> None:
    recorder = subprocess.Popen(
        [sys.executable, "-c", ALONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert recorder.stdout is not None
    pid = int(recorder.stdout.readline())
    if busy:
        os.kill(pid, signal.SIGSTOP)  # as if it hung in the driver: it cannot see that its input ended
    recorder.kill()
    recorder.communicate()
    while (
        Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]
    ):
        time.sleep(0.01)


def test_without_a_descriptor_it_is_started_later_and_none_is_lost(gpus: StandIn) -> None:
    clock = Clock()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = set(os.listdir("/proc/self/fd"))
    highest = max(map(int, held))
    # one pipe can be made, the second cannot
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 3, before[1]))
    hogs = [os.dup(0) for _ in range(highest + 3 - len(held) - 2)]
    try:
        helper = HelperProcess(["nvml"], "/proc", clock=clock)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for fd in hogs:
            os.close(fd)
    assert (helper.state, helper.last_error) == (
        Breaker.OPEN,
        "the GPU helper could not be started: Too many open files",
    )
    assert set(os.listdir("/proc/self/fd")) == held
    clock.ahead += gpu_process.FIRST_PAUSE_SECONDS
    while helper.state is not Breaker.CLOSED:
        helper.hear()
    helper.close()
