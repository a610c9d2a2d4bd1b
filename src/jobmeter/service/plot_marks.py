"""What happened in a run, as marks on the axis of its plot: events, the signal that ended it, stretches of silence."""

from collections.abc import Iterable, Iterator

from jobmeter.model.panel import Mark, Phase
from jobmeter.model.run import LIVE
from jobmeter.model.view import SEVERE_EVENTS, Event, RunView
from jobmeter.service import event_twins, plot_series, plot_who

MOST = 40
"""More marks than this are a pattern, not events: the rest is counted in a note."""
UNMARKED = frozenset(("continued", "summary"))
"""The end of a phase, and what a training said of itself as a whole."""
DETAILS = ("signal", "source", "threshold", "percent", "name", "title", "command")
CHANGES = (("from", "to"), ("old", "new"), ("previous", "current"))
CHANGED = " changed"


def of_run(
    view: RunView, axis: plot_series.Axis, others: Iterable[Mark] = ()
) -> tuple[tuple[Mark, ...], int]:
    """Mark what happened, in order; also count what is too much to mark."""
    marks = [*_events(view, axis), *others]
    if view.run.signal and view.run.status not in LIVE and not axis.counts_steps:
        ends = view.run.wall_seconds if view.run.wall_seconds is not None else axis.seconds
        marks.append(Mark(seconds=ends, label=f"ended by {view.run.signal}", type="end", severe=True))
    merged = _merge(sorted(marks, key=lambda mark: mark.seconds), axis.seconds / 200)
    return tuple(merged[:MOST]), len(merged[MOST:])


def _events(view: RunView, axis: plot_series.Axis) -> Iterator[Mark]:
    for event in event_twins.without(view.events):
        seconds = _place(event, axis)
        if event.type in UNMARKED or seconds is None:
            continue
        yield Mark(seconds=seconds, label=_label(event), type=event.type, severe=event.type in SEVERE_EVENTS)


def _place(event: Event, axis: plot_series.Axis) -> float | None:
    if not axis.counts_steps:
        return event.timestamp - axis.start
    step = event.details.get("step")
    return step - axis.start if isinstance(step, int) and 0 <= step - axis.start <= axis.seconds else None


def _label(event: Event) -> str:
    words = event.type.replace("_", " ")
    if words.endswith(CHANGED):
        return _change(event, words.removesuffix(CHANGED)) or words
    for name in DETAILS:
        detail = event.details.get(name)
        if isinstance(detail, str | int | float) and not isinstance(detail, bool):
            return (
                f"{words} {plot_who.command_name(str(detail))}" if name == "command" else f"{words} {detail}"
            )
    return words.replace("oom", "OOM")


def _change(event: Event, what: str) -> str:
    """Say what became what: `batch size 32 to 16`."""
    now = event.details.get(what.replace(" ", "_"))
    for before, after in CHANGES:
        if before in event.details and (after in event.details or now is not None):
            return f"{what} {event.details[before]} to {event.details.get(after, now)}"
    return f"{what} {now}" if isinstance(now, str | int | float) else ""


def _merge(marks: list[Mark], distance: float) -> list[Mark]:
    """Fold marks of one label that would be drawn on top of one another."""
    groups: list[list[Mark]] = []
    for mark in marks:
        last = groups[-1] if groups else []
        if last and last[0].label == mark.label and mark.seconds - last[-1].seconds <= distance:
            last.append(mark)
            continue
        groups.append([mark])
    return [
        group[0]
        if len(group) == 1
        else Mark(
            seconds=group[0].seconds,
            label=f"{group[0].label} ({len(group)} times)",
            type=group[0].type,
            severe=group[0].severe,
        )
        for group in groups
    ]


def phases(view: RunView, axis: plot_series.Axis) -> tuple[Phase, ...]:
    """Name the stretches in which the job stood still or nothing was read."""
    found = [Phase(start=begin, end=end, label="no samples") for begin, end in axis.silences]
    stopped: float | None = None
    for event in view.events:
        if event.type == "stopped" and stopped is None:
            stopped = event.timestamp - axis.start
        elif event.type == "continued" and stopped is not None:
            found.append(Phase(start=stopped, end=event.timestamp - axis.start, label="stopped"))
            stopped = None
    if stopped is not None:
        found.append(Phase(start=stopped, end=axis.seconds, label="stopped"))
    return tuple(sorted(found, key=lambda phase: phase.start))
