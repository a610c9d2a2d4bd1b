"""A worker process died and took the job with it; memory is the usual reason, unless what was measured denies it."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Evidence, LogError, Verdict
from jobmeter.model.view import RunView

_SURE, _LIKELY = 0.9, 0.7
_KILL = "Killed"
"""What the C library calls SIGKILL."""


def judge(view: RunView) -> Verdict | None:
    """Say that a worker died, where nobody says why."""
    error = story.root(view)
    if error is None or error.signature != "worker_killed" or not facts.went_wrong(view):
        return None
    pid, signal = error.fields.get("pid"), error.fields.get("signal")
    who = "a worker process" if pid is None else f"a worker process (pid {pid})"
    why, measured = _why(view, error)
    return facts.verdict(
        Cause.WORKER_KILLED,
        f"{who} {_how(signal)}{facts.on_ranks(error)}{why}",
        _SURE if pid is not None or signal else _LIKELY,
        facts.quoted(error, "its parent says so"),
        *measured,
        *facts.endings(view.run),
    )


def _how(signal: object) -> str:
    if signal == _KILL:
        return "was killed by SIGKILL"
    return f"was killed ({signal})" if signal else "died"


def _why(view: RunView, error: LogError) -> tuple[str, tuple[Evidence, ...]]:
    """Say what is known of the reason, and what it was measured by."""
    signal = error.fields.get("signal")
    if "shared_memory" in error.fields:
        return ": the shared memory in /dev/shm was used up", ()
    spare = facts.spare_memory(view) if signal in (None, _KILL) else None
    if spare is not None:
        words, measured = spare
        return f"; {words}{': something else sent the signal' if signal else ''}", measured
    return (", most likely for want of memory, which nothing here proves" if signal == _KILL else ""), ()
