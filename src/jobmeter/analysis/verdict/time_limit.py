"""The time was over: `--timeout` of the recorder, or what a scheduler wrote into the job's output."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model import endings
from jobmeter.model.report import Cause, Evidence, Verdict
from jobmeter.model.units import format_seconds
from jobmeter.model.view import RunView

_TIMEOUT_PROGRAM = 124
_LATE_SECONDS = 1.0


def judge(view: RunView) -> Verdict | None:
    """Say that the job was ended at its time limit."""
    if not facts.went_wrong(view):
        return None
    error = story.root(view)
    timeout = next(facts.events(view, "timeout"), None)
    if timeout is not None and (error is None or error.signature in story.STOPS):
        evidence = Evidence(
            sentence="the recorder stopped the job when --timeout was over",
            source="event timeout",
            timestamp=timeout.timestamp,
        )
        sentence = f"the job was stopped at its time limit{_limit(view)}"
        return facts.verdict(Cause.TIMEOUT, sentence, 0.98, evidence, *facts.endings(view.run))
    if error is not None and error.signature == "time_limit":
        limit = error.fields.get("timeout_seconds")
        span = f" of {format_seconds(float(limit))}" if isinstance(limit, int | float) else ""
        evidence = facts.quoted(error, "the scheduler says so")
        sentence = f"the scheduler ended the job at its time limit{span}{_after(view)}"
        return facts.verdict(Cause.TIMEOUT, sentence, 0.95, evidence, *facts.endings(view.run))
    is_timeout = view.run.command[:1] and view.run.command[0].rpartition("/")[2] == "timeout"
    if view.run.exit_code == _TIMEOUT_PROGRAM and is_timeout:
        sentence = f"`timeout` stopped the command{_after(view)}"
        return facts.verdict(Cause.TIMEOUT, sentence, 0.95, *facts.endings(view.run))
    return None


def _limit(view: RunView) -> str:
    """Say what the limit was, and how long it lasted where the job took its time to end."""
    limit_seconds, wall_seconds = endings.time_limit_seconds(view.run), view.run.wall_seconds
    if limit_seconds is None:
        return _after(view)
    is_late = wall_seconds is not None and wall_seconds > limit_seconds + _LATE_SECONDS
    return f" of {format_seconds(limit_seconds)}" + (f", and ended{_after(view)}" if is_late else "")


def _after(view: RunView) -> str:
    seconds = view.run.wall_seconds
    return "" if seconds is None else f" after {format_seconds(seconds)}"
