"""What launchers, schedulers and builders say of a failure, and what that makes of it."""

from jobmeter.model.report import Cause
from jobmeter.model.run import Provenance, Status
from support.verdicts import decide, told


def test_a_rank_that_a_signal_ended_comes_before_the_others_complaints() -> None:
    rank = told("child_failed", fields={"rank": 3, "exit_code": -9, "signal": "SIGKILL"})
    found = decide(errors=(told("nccl_error"), rank, told("nccl_timeout")), exit_code=1)
    assert found.cause is Cause.KILLED_SIGNAL
    assert (
        found.sentence == "rank 3 was ended by SIGKILL: often for want of memory, which nothing here proves"
    )
    assert found.confidence == 0.7


def test_a_child_that_crashed_is_told_with_the_meaning_of_its_signal() -> None:
    found = decide(errors=(told("child_failed", fields={"signal": "SIGSEGV"}),), exit_code=1)
    assert found.sentence == (
        "a process was ended by SIGSEGV: it used memory that is not its own (a bug in native code)"
    )


def test_a_build_failed_for_what_else_was_said() -> None:
    build, kill = told("build_failed", "make: *** [all] Error 2"), told("oom_killed", "Killed signal")
    assert decide(errors=(build, kill), exit_code=2).cause is Cause.KILLED_SIGNAL
    found = decide(errors=(build,), exit_code=2)
    assert (found.cause, found.sentence) == (Cause.EXCEPTION, "the job failed: make: *** [all] Error 2")


def test_a_step_cancelled_after_its_task_failed_was_stopped_by_nobody() -> None:
    failed = told("child_failed", fields={"rank": 3, "exit_code": 1})
    step = told("cancelled", fields={"job": "9.0", "step": 1})
    ended = {"exit_code": 1, "wall_seconds": 9.0}
    assert decide(errors=(failed, step), **ended).cause is Cause.EXCEPTION
    assert decide(errors=(step, failed), **ended).cause is Cause.KILLED_SIGNAL
    job = told("cancelled", fields={"job": "9"})
    assert decide(errors=(failed, job), **ended).cause is Cause.KILLED_SIGNAL


def test_a_machine_short_of_memory_is_no_limit_that_was_reached() -> None:
    found = decide(errors=(told("oom_killed", fields={"memory": 1, "host": 1}),), exit_code=1)
    assert found.cause is Cause.OOM_HOST
    assert found.sentence == "the job was killed because the machine was short of memory"


def test_the_kill_that_names_its_victim_is_the_one_told() -> None:
    cut = told("kernel_oom", fields={"constraint": "CONSTRAINT_MEMCG"})
    whole = told("kernel_oom", fields={"constraint": "CONSTRAINT_MEMCG", "pid": 7, "process": "python"})
    assert decide(errors=(cut, whole), exit_code=1).sentence.startswith("the kernel killed python (pid 7)")


def test_errors_before_the_tests_passed_were_asked_for() -> None:
    log = {"status": Status.COMPLETED, "provenance": Provenance(origin="log"), "command": ()}
    before, after = told("exception", offset=10), told("exception", offset=90)
    passed = {"tests_passed_at": 50}
    assert decide(errors=(before,), context=passed, **log).cause is Cause.COMPLETED
    assert decide(errors=(before, after), context=passed, **log).cause is Cause.EXCEPTION
    assert decide(errors=(before,), context={}, **log).cause is Cause.EXCEPTION
