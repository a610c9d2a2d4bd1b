"""A limit of the system other than memory, time or disk, by the job's own words or by the signal that enforces it."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Verdict
from jobmeter.model.view import RunView

_WORDS = {
    "open_files": "the job had as many files open as it may (ulimit -n)",
    "processes": "the job could not start another process or thread (ulimit -u, pids.max)",
    "cpu_seconds": "the job used up its CPU time (ulimit -t)",
    "file_size": "a file became larger than the job may write (ulimit -f)",
    "inotify": "the job watched as many files as it may (fs.inotify)",
}
_SIGNALS = {"SIGXCPU": "cpu_seconds", "SIGXFSZ": "file_size"}


def judge(view: RunView) -> Verdict | None:
    """Say which limit was reached."""
    if not facts.went_wrong(view):
        return None
    kind = _SIGNALS.get(facts.signal_name(view.run) or "")
    if kind is not None:
        return facts.verdict(Cause.RESOURCE_LIMIT, _WORDS[kind], 0.97, *facts.endings(view.run))
    error = story.root(view)
    if error is None or error.signature != "resource_limit":
        return None
    words = _WORDS.get(str(error.fields.get("limit")), "the job reached a limit of the system")
    return facts.verdict(
        Cause.RESOURCE_LIMIT,
        f"{words}{facts.on_ranks(error)}",
        0.93,
        facts.quoted(error, "the job says so"),
        *facts.endings(view.run),
    )
