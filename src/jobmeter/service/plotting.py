"""A run as the description of its plot: pure values in, pure values out; nothing is drawn here."""

import shlex
from dataclasses import replace

import msgspec

from jobmeter.model import moments, units
from jobmeter.model.panel import Chart, Mark, Panel, Phase
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.model.view import SEVERE_EVENTS, Event, RunView
from jobmeter.service import explain, plot_keys, plot_panels, plot_series, plot_source, plot_who

MARKS = 40
"""More marks than this are a pattern, not events: the rest is counted in a note."""


def describe(view: RunView, *, keys: tuple[str, ...] = (), buckets: int = 1000) -> Chart:
    """Describe the plot of a run: the usual panels, or those of the keys asked for."""
    axis = plot_series.axis_of(view, buckets)
    source = plot_source.Source(view=view, axis=axis)
    for key in keys:
        plot_keys.quantity_of(view, key)
    samples = plot_series.sample_count(view)
    notes: list[str] = []
    panels: list[Panel] = []
    if samples < 2:
        notes.append(_too_few(view.run, samples))
    elif keys:
        panels, notes = plot_keys.panels(source, keys)
    else:
        answers = plot_panels.all_panels(source)
        panels = [answer for answer in answers.values() if isinstance(answer, Panel)]
        notes = _reasons(view.run, answers)
    marks, unmarked = _marks(view, axis)
    if unmarked:
        notes.append(f"{unmarked} further events are not marked")
    return Chart(
        run_id=view.run.run_id,
        title=_title(view.run),
        status=view.run.status.value,
        facts=_facts(view.run, axis, samples),
        started_at=view.run.started_at,
        seconds=axis.seconds,
        panels=tuple(_with_meanings(view.run, made) for made in panels),
        marks=marks,
        phases=_phases(view, axis),
        notes=tuple(notes),
    )


def _title(run: Run) -> str:
    """Call a run by its name, else by its command; one word with spaces was never split by its recorder."""
    command = run.command[0] if len(run.command) == 1 else shlex.join(run.command)
    return run.name or command or run.run_id


def _reasons(run: Run, answers: dict[str, plot_panels.Answer]) -> list[str]:
    """Say why a panel is missing; who used the CPU is said in words where it could not be drawn."""
    reasons = {name: answer for name, answer in answers.items() if isinstance(answer, str)}
    shares = plot_panels.cpu_shares(run) if "CPU by command" in reasons else ""
    if shares:
        del reasons["CPU by command"]
    said = [f"CPU by command: {shares}"] if shares else []
    return [*said, *(f"no {name} panel: {reason}" for name, reason in reasons.items())]


def _with_meanings(run: Run, made: Panel) -> Panel:
    """Give every line the words of the run's own definition of its key."""
    meanings = {line.key: explain.definition_of(line.key, run.definitions)[0] for line in made.lines}
    lines = [
        replace(line, about=meaning.about) if (meaning := meanings[line.key]) else line for line in made.lines
    ]
    return replace(made, lines=tuple(lines))


def _too_few(run: Run, samples: int) -> str:
    taken = "no sample" if samples == 0 else "only 1 sample"
    lasted = f" in {units.format_seconds(run.wall_seconds)}" if run.wall_seconds is not None else ""
    return (
        f"{taken} was taken{lasted}, which is too little to plot; `jobmeter show {run.run_id}` has the totals"
    )


def _facts(run: Run, axis: plot_series.Axis, samples: int) -> tuple[str, ...]:
    facts = [_ending(run), units.format_seconds(axis.seconds)]
    started = moments.utc(run.started_at)
    if started is not None:
        facts.append(f"started {started:%Y-%m-%d %H:%M:%S} UTC")
    if run.host:
        facts.append(run.host)
    facts.append(f"{run.samples if run.samples is not None else samples:,} samples")
    if run.provenance.origin != "jobmeter":
        facts.append(f"measured by {run.provenance.origin}")
    return tuple(facts)


def _ending(run: Run) -> str:
    if run.status in LIVE:
        return f"{run.status.value}, so far"
    if run.status is Status.LOST:
        return "lost, shown up to the last sample"
    if run.signal:
        return f"{run.status.value} by {run.signal}"
    return f"{run.status.value}, exit {run.exit_code}" if run.exit_code is not None else run.status.value


def _marks(view: RunView, axis: plot_series.Axis) -> tuple[tuple[Mark, ...], int]:
    marks = [
        Mark(
            seconds=event.timestamp - axis.start,
            label=_event_label(event),
            type=event.type,
            severe=event.type in SEVERE_EVENTS,
        )
        for event in view.events
        if event.type != "continued"
    ]
    if view.run.signal and view.run.status not in LIVE:
        ends = view.run.wall_seconds if view.run.wall_seconds is not None else axis.seconds
        marks.append(Mark(seconds=ends, label=f"ended by {view.run.signal}", type="end", severe=True))
    merged = _merge(sorted(marks, key=lambda mark: mark.seconds), axis.seconds / 200)
    return tuple(merged[:MARKS]), len(merged[MARKS:])


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


def _event_label(event: Event) -> str:
    words = event.type.replace("_", " ")
    for name in ("signal", "source", "threshold", "percent", "name", "command"):
        detail = event.details.get(name)
        if isinstance(detail, str | int | float) and not isinstance(detail, bool):
            return (
                f"{words} {plot_who.command_name(str(detail))}" if name == "command" else f"{words} {detail}"
            )
    return words.replace("oom", "OOM")


def _phases(view: RunView, axis: plot_series.Axis) -> tuple[Phase, ...]:
    phases = [Phase(start=begin, end=end, label="no samples") for begin, end in axis.silences]
    stopped: float | None = None
    for event in view.events:
        if event.type == "stopped" and stopped is None:
            stopped = event.timestamp - axis.start
        elif event.type == "continued" and stopped is not None:
            phases.append(Phase(start=stopped, end=event.timestamp - axis.start, label="stopped"))
            stopped = None
    if stopped is not None:
        phases.append(Phase(start=stopped, end=axis.seconds, label="stopped"))
    return tuple(sorted(phases, key=lambda phase: phase.start))


def shape(chart: Chart) -> object:
    """Lay a chart out for other programs, as `plot --json` prints it."""
    return msgspec.to_builtins(chart)
