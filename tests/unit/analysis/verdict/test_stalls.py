"""Verdicts on runs that stood still."""

import pytest

from jobmeter.model.report import Cause
from jobmeter.model.run import Status
from support.verdicts import decide, event, told

STALL = event(
    "stall", seconds=600, processes=[{"pid": 7, "command": "python", "syscall": "futex", "stack": "File x"}]
)


def test_a_job_that_stood_still_until_it_was_stopped_hung() -> None:
    found = decide(STALL, event("timeout"), exit_code=124)
    assert found.cause is Cause.HANG
    assert found.sentence == (
        "the job stood still for 10 min 00 s until it was stopped from outside: python (pid 7) waits in futex"
    )
    assert found.evidence[0].quote == "File x"


def test_a_run_that_stands_still_hangs() -> None:
    found = decide(event("stall"), status=Status.RUNNING)
    assert (found.cause, found.sentence) == (Cause.HANG, "the job stood still and still does")
    assert decide(event("stall", processes=[{}, 3]), status=Status.RUNNING).sentence.endswith("still does")


@pytest.mark.parametrize("ending", [{"signal": "SIGTERM"}, {"exit_code": 143}, {}])
def test_a_stall_that_only_a_signal_ended_is_a_hang(ending: dict[str, object]) -> None:
    assert decide(STALL, **ending).cause is Cause.HANG


def test_a_stall_that_passed_is_none() -> None:
    assert decide(STALL, event("stall_over"), signal="SIGTERM").cause is Cause.KILLED_SIGNAL
    assert decide(STALL, exit_code=1).cause is Cause.UNKNOWN
    assert decide(STALL, exit_code=0, status=Status.COMPLETED).cause is Cause.COMPLETED


def test_a_stall_lasts_until_the_run_ended() -> None:
    assert "for 16 min 40 s until" in decide(STALL, signal="SIGKILL", ended_at=500.0).sentence


def test_what_a_job_does_when_it_is_stopped_does_not_end_its_stall() -> None:
    over = event("stall_over", seconds=700)
    assert decide(STALL, event("timeout"), over, exit_code=124).cause is Cause.HANG
    assert decide(STALL, event("signal", signal="SIGTERM"), over, signal="SIGTERM").cause is Cause.HANG
    assert (
        decide(STALL, event("signal", signal="SIGUSR1"), over, signal="SIGTERM").cause is Cause.KILLED_SIGNAL
    )


def test_a_job_that_never_worked_did_not_hang() -> None:
    asleep = event("stall", seconds=600, worked=False, processes=[])
    assert decide(asleep, event("timeout"), exit_code=124).cause is Cause.TIMEOUT


def test_a_job_that_waited_for_a_failed_rank_did_not_hang() -> None:
    failed = told("exception", "ValueError: x", type="ValueError", ranks=(1,))
    assert decide(STALL, event("timeout"), exit_code=124, errors=(failed,)).cause is Cause.EXCEPTION
