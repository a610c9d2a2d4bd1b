"""Which of the errors in a job's output is the cause, and which came of it.

A rank that fails leaves the others waiting: their timeouts, broken pipes and the launcher's summary come later and say
nothing new. What a process says before the kernel kills one of its workers matters less than that kill. A stop from
outside explains an end by itself, unless some rank had already failed: then the rest only waited for it.
"""

from collections.abc import Sequence
from itertools import pairwise

from jobmeter.model.report import LogError
from jobmeter.model.view import RunView

STOPS = ("time_limit", "cancelled", "interrupted")
_LATER = frozenset(("nccl_timeout", "nccl_error", "child_failed"))
_LAST = "build_failed"
"""Says that something failed, and whatever else was said says what."""
_LATER_TYPES = frozenset(
    (
        "BrokenPipeError",
        "ConnectionResetError",
        "ConnectionRefusedError",
        "ConnectionAbortedError",
        "EOFError",
    )
)
_DECISIVE = frozenset(
    ("cuda_oom", "worker_killed", "gpu_fault", "disk_full", "cpu_oom", "resource_limit", "segfault")
)
_PASSED_ON = frozenset(("Interrupt", "Terminated"))
_APART_BYTES = 4_096


def fatal(view: RunView) -> list[LogError]:
    """List the errors that the job did not survive, in the order they were said."""
    return [
        error
        for error in view.log_errors
        if error.signature is not None and error.level != "WARNING" and not error.survived
    ]


def root(view: RunView) -> LogError | None:
    """Give the error that the others came of; None where the output shows none."""
    found = fatal(view)
    kills = [error for error in found if is_memory_kill(error)]
    if kills:
        return next((kill for kill in kills if "pid" in kill.fields), kills[0])
    causes = [error for error in found if not _is_later(error) and error.signature not in STOPS]
    stop = _stop(found)
    if stop is not None:
        before = [error for error in causes if found.index(error) < found.index(stop) and _is_decisive(error)]
        return before[0] if before else stop
    if causes:
        return _first_of_last(causes, found)
    killed = next((error for error in found if was_signalled(error)), None)
    if killed is not None:
        return killed
    for name in ("nccl_timeout", "nccl_error"):
        if (later := next((error for error in found if error.signature == name), None)) is not None:
            return later
    told = [error for error in found if error.signature != _LAST]
    return next(iter(told or found), None)


def is_memory_kill(error: LogError) -> bool:
    """Tell a kill for want of memory that the kernel, a scheduler or a container runtime told of."""
    return error.signature == "kernel_oom" or (error.signature == "oom_killed" and "memory" in error.fields)


def was_signalled(error: LogError) -> bool:
    """Tell a process that a signal ended, by the word of its launcher."""
    return error.signature == "child_failed" and "signal" in error.fields


def consequences(view: RunView, cause: LogError) -> list[LogError]:
    """List what followed from a cause."""
    return [error for error in fatal(view) if error is not cause and _is_later(error)]


def _stop(found: Sequence[LogError]) -> LogError | None:
    for name in STOPS:
        stops = [error for error in found if error.signature == name]
        if stops and not _was_given_up(stops[-1], found):
            return stops[-1]
    return None


def _was_given_up(stop: LogError, found: Sequence[LogError]) -> bool:
    """Tell a step that Slurm ended because one of its tasks had failed: nobody stopped that job."""
    before = {error.signature for error in found[: found.index(stop)]}
    return (
        "step" in stop.fields and "reason" not in stop.fields and bool(before & {"child_failed", "segfault"})
    )


def _is_later(error: LogError) -> bool:
    if error.signature in _LATER or error.signature == _LAST or error.type.rpartition(".")[2] in _LATER_TYPES:
        return True
    if error.signature == "worker_killed":
        return error.fields.get("signal") in _PASSED_ON
    if error.signature == "exception" and "::" in error.type:
        return True  # what ends a C++ program after it said why
    return error.signature == "oom_killed" or error.fields.get("signal") == "SIGABRT"


def _is_decisive(error: LogError) -> bool:
    return error.signature in _DECISIVE or bool(error.ranks)


def _first_of_last(causes: Sequence[LogError], found: Sequence[LogError]) -> LogError:
    """Pass over exceptions that were caught: the job wrote on for long before the next one came.

    Among several ranks the first one counts, because the others wait for long before they complain.
    """
    first = causes[0]
    if first.ranks or any(error.signature in _LATER for error in found):
        return first
    for before, after in pairwise(causes):
        if before.stream == after.stream and _gap_bytes(before, after) > _APART_BYTES:
            first = after
    return first


def _gap_bytes(before: LogError, after: LogError) -> int:
    if before.offset is None or after.offset is None:
        return 0
    return after.offset - before.offset - len(before.traceback or before.message) * before.count
