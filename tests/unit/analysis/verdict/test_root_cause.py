"""Which of several errors is the cause."""

from jobmeter.analysis.verdict import story
from jobmeter.model.report import LogError
from jobmeter.model.run import Run, Status
from jobmeter.model.view import RunView


def told(signature: str, **more: object) -> LogError:
    known: dict[str, object] = {"level": "ERROR", "type": signature, "message": "words"} | more
    return LogError(signature=signature, **known)  # type: ignore[arg-type]


def root(*errors: LogError) -> LogError | None:
    run = Run(run_id="r", job_id="r", status=Status.FAILED, command=("x",))
    return story.root(RunView(run=run, series={}, log_errors=errors))


def test_without_errors_there_is_no_root() -> None:
    assert root() is None
    assert root(told("exception", survived=True), told("exception", level="WARNING")) is None


def test_a_kill_for_want_of_memory_comes_first_however_late_it_was_told() -> None:
    kill = told("oom_killed", fields={"memory": 1})
    assert root(told("exception"), told("worker_killed"), kill) is kill


def test_a_rank_that_failed_comes_before_those_that_waited() -> None:
    failed = told("exception", type="ValueError", ranks=(3,))
    assert root(told("nccl_timeout"), told("nccl_error"), failed, told("child_failed")) is failed


def test_broken_pipes_and_aborts_come_of_something_else() -> None:
    failed = told("exception", type="KeyError")
    pipe, reset = told("exception", type="BrokenPipeError"), told("exception", type="x.ConnectionResetError")
    aborted, native = told("segfault", fields={"signal": "SIGABRT"}), told("exception", type="c10::Error")
    killed = told("oom_killed")
    assert root(pipe, reset, aborted, native, killed, failed) is failed
    assert root(pipe) is pipe


def test_timeouts_are_the_root_where_nothing_else_failed() -> None:
    timeout = told("nccl_timeout")
    assert root(told("child_failed"), told("nccl_error"), timeout) is timeout
    error = told("nccl_error")
    assert root(told("child_failed"), error) is error


def test_a_stop_from_outside_explains_an_end_by_itself() -> None:
    stop = told("time_limit")
    assert root(told("exception", type="ValueError"), stop) is stop
    assert root(told("cancelled"), stop) is stop


def test_a_stop_after_a_failed_rank_does_not() -> None:
    failed = told("exception", type="ValueError", ranks=(0,))
    assert root(failed, told("cancelled")) is failed
    memory = told("cuda_oom")
    assert root(memory, told("interrupted")) is memory
    stop = told("interrupted")
    assert root(stop, memory) is stop


def test_workers_that_were_told_to_stop_are_no_cause() -> None:
    stop = told("interrupted")
    assert root(told("worker_killed", fields={"signal": "Terminated"}), stop) is stop
    dead = told("worker_killed", fields={"signal": "Killed"})
    assert root(dead, told("exception")) is dead


def test_an_exception_that_the_job_wrote_on_after_was_caught() -> None:
    caught = told("exception", type="ValueError", offset=0)
    later = told("exception", type="KeyError", offset=9_000)
    assert root(caught, later) is later
    assert root(caught, told("exception", type="KeyError", offset=500)) is caught
    assert root(caught, told("exception", type="KeyError")) is caught
    assert root(caught, told("exception", type="KeyError", offset=9_000, stream="stderr")) is caught
    assert root(caught, later, told("child_failed")) is caught
