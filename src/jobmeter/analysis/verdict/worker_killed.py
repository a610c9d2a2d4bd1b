"""A worker process died and took the job with it; memory is the usual reason, but nothing here proves it."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Verdict
from jobmeter.model.view import RunView

_SURE, _LIKELY = 0.9, 0.7


def judge(view: RunView) -> Verdict | None:
    """Say that a worker died, where nobody says why."""
    error = story.root(view)
    if error is None or error.signature != "worker_killed" or not facts.went_wrong(view):
        return None
    pid, signal = error.fields.get("pid"), error.fields.get("signal")
    who = "a worker process" if pid is None else f"a worker process (pid {pid})"
    how = f"was killed ({signal})" if signal else "died"
    if "shared_memory" in error.fields:
        why = ": the shared memory in /dev/shm was used up"
    elif signal == "Killed":
        why = ", most likely for want of memory, which nothing here proves"
    else:
        why = ""
    confidence = _SURE if pid is not None or signal else _LIKELY
    sentence = f"{who} {how}{facts.on_ranks(error)}{why}"
    return facts.verdict(
        Cause.WORKER_KILLED,
        sentence,
        confidence,
        facts.quoted(error, "its parent says so"),
        *facts.endings(view.run),
    )
