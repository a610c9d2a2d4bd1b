"""The job stood still: the recorder saw no CPU, no IO and no output for long, and nothing came after."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Evidence, Verdict
from jobmeter.model.units import format_seconds
from jobmeter.model.view import Event, RunView

_STOPPERS = frozenset(("SIGTERM", "SIGKILL", "SIGINT", "SIGQUIT", "SIGABRT", "SIGHUP"))


def judge(view: RunView) -> Verdict | None:
    """Say that the job hung, where a stall was seen that it never left by itself."""
    stall = _last_stall(view)
    if stall is None or facts.went_well(view) or not _stayed(view):
        return None
    if (error := story.root(view)) is not None and error.signature not in story.STOPS:
        return None  # it waited for something that had failed
    seconds = _seconds(view, stall)
    span = f" for {format_seconds(seconds)}" if seconds is not None else ""
    until = "and still does" if facts.is_live(view) else "until it was stopped from outside"
    return facts.verdict(
        Cause.HANG,
        f"the job stood still{span} {until}{_where(stall)}",
        0.9,
        Evidence(
            sentence="no CPU time, no IO and no output",
            source="event stall",
            value=seconds,
            timestamp=stall.timestamp,
            quote=_stack(stall),
        ),
        *facts.endings(view.run),
    )


def _last_stall(view: RunView) -> Event | None:
    """Find the stall that a job did not leave by itself; what it did when it was stopped does not count."""
    found: Event | None = None
    stopped = False
    for event in view.events:
        if event.type == "stall" and event.details.get("worked") is not False:
            found, stopped = event, False
        elif event.type in ("stall_over", "stall_end") and not stopped:
            found = None
        stopped = stopped or _is_stop(event)
    return found


def _is_stop(event: Event) -> bool:
    name = str(event.details.get("signal", "")).removeprefix("SIG")
    return event.type == "timeout" or (event.type == "signal" and f"SIG{name}" in _STOPPERS)


def _seconds(view: RunView, stall: Event) -> float | None:
    """Say how long it stood still: until the run ended, not only until it was noticed."""
    noticed = stall.details.get("seconds")
    if not isinstance(noticed, int | float):
        return None
    ended_at = view.run.ended_at
    return float(noticed) if ended_at is None else max(ended_at - stall.timestamp, 0.0) + noticed


def _stayed(view: RunView) -> bool:
    if facts.is_live(view) or view.run.signal is not None or next(facts.events(view, "timeout"), None):
        return True
    return view.run.exit_code is None or facts.signal_name(view.run) in _STOPPERS


def _processes(stall: Event) -> list[dict[str, object]]:
    listed = stall.details.get("processes")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _where(stall: Event) -> str:
    """Say what the processes waited in."""
    for one in _processes(stall):
        place = one.get("syscall") or one.get("wchan")
        if place:
            return f": {one.get('command') or 'a process'} (pid {one.get('pid')}) waits in {place}"
    return ""


def _stack(stall: Event) -> str | None:
    stacks = [str(one["stack"]) for one in _processes(stall) if one.get("stack")]
    return stacks[0][:2000] if stacks else None
