"""A run as the description of its plot: pure values in, pure values out; nothing is drawn here."""

import shlex
from dataclasses import replace

import msgspec

from jobmeter.model import endings, moments, units
from jobmeter.model.panel import Chart, Panel
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.model.view import RunView
from jobmeter.service import (
    explain,
    plot_gpu,
    plot_keys,
    plot_marks,
    plot_panels,
    plot_series,
    plot_source,
    plot_steps,
)
from jobmeter.service.plot_source import Source, Told


def describe(
    view: RunView,
    *,
    keys: tuple[str, ...] = (),
    buckets: int = 1000,
    told: Told = plot_source.NOTHING,
    logarithmic: bool = False,
) -> Chart:
    """Describe the plot of a run: the usual panels, or those of the keys asked for."""
    axis = _axis(view, told, buckets)
    source = Source(view=view, axis=axis, told=told, logarithmic=logarithmic)
    plot_keys.check(source, keys)
    samples = plot_series.sample_count(view)
    panels, notes = plot_keys.panels(source, keys) if keys else _usual(source)
    if samples < 2:
        # what the training logged has points of its own
        panels = [made for made in panels if made.lines[0].source]
        notes = notes if panels else [_too_few(view.run, samples)]
    marks, unmarked = plot_marks.of_run(view, axis, plot_steps.broken(source))
    if unmarked:
        notes.append(f"{unmarked} further events are not marked")
    return Chart(
        run_id=view.run.run_id,
        title=_title(view.run),
        status=view.run.status.value,
        facts=_facts(source, samples),
        started_at=view.run.started_at,
        seconds=axis.seconds,
        first_step=round(axis.start) if axis.counts_steps else None,
        panels=tuple(_with_meanings(view.run, made) for made in panels),
        marks=marks,
        phases=plot_marks.phases(view, axis),
        notes=tuple(notes),
    )


def _axis(view: RunView, told: Told, buckets: int) -> plot_series.Axis:
    """Lay the axis: of time, or of steps where there is nothing but steps without times."""
    known = plot_steps.moments(told)
    if known or not told.metrics or plot_series.sample_count(view):
        return plot_series.axis_of(view, buckets, known)
    first, last = plot_steps.reach(told)
    return plot_series.Axis(start=first, seconds=last - first, buckets=buckets, counts_steps=True)


def _usual(source: Source) -> tuple[list[Panel], list[str]]:
    """Draw what the training logged, its GPUs, and what the job used; say why something is missing."""
    training = plot_steps.all_panels(source)
    notes = _about_steps(source, training)
    if training and not source.view.series:
        return training, notes
    devices = (plot_gpu.utilisation(source), plot_gpu.memory(source), plot_gpu.power(source))
    # what a low terminal has no room for is left out from the end: a learning rate is what one knows already
    late = [made for made in training if made.name == plot_steps.RATE]
    early = [made for made in training if made.name != plot_steps.RATE]
    special = [made for made in (*early, *devices, *late) if made is not None]
    answers = plot_panels.all_panels(source)
    plain = [answer for answer in answers.values() if isinstance(answer, Panel)]
    run = source.view.run
    if special and not plain and run.provenance.origin != "jobmeter":
        # the log of a monitor: what it was not made for needs no reasons
        return special, [*notes, f"not measured by {run.provenance.origin}: {', '.join(answers)}"]
    return [*special, *plain], [*notes, *_reasons(run, answers)]


def _about_steps(source: Source, training: list[Panel]) -> list[str]:
    left_out = source.told.ranks_left_out
    notes = [f"{left_out} further ranks are not drawn"] if left_out else []
    if source.told.metrics and not training:
        notes.append(plot_steps.WITHOUT_TIMES)
    return notes


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


def _facts(source: Source, samples: int) -> tuple[str, ...]:
    run, axis = source.view.run, source.axis
    # the last sample is taken after the job ended: its own time is what others call its duration
    lasted = axis.seconds if run.wall_seconds is None and not axis.counts_steps else run.wall_seconds
    facts = [_ending(run), *([] if lasted is None else [units.format_seconds(lasted)])]
    started = moments.utc(run.started_at)
    if started is not None:
        facts.append(f"started {started:%Y-%m-%d %H:%M:%S} UTC")
    if run.host:
        facts.append(run.host)
    if samples or not source.told.metrics:
        facts.append(f"{run.samples if run.samples is not None else samples:,} samples")
    if run.steps is not None:
        # an evaluation is a record of its own: counting records would count its step twice
        facts.append(f"to step {run.steps.last_step:,}")
    if run.provenance.origin != "jobmeter":
        facts.append(f"measured by {run.provenance.origin}")
    return tuple(facts)


def _ending(run: Run) -> str:
    if run.status in LIVE:
        return f"{run.status.value}, so far"
    if run.status is Status.LOST:
        recorded = run.provenance.origin == "jobmeter"
        return "lost, shown up to the last sample" if recorded else "its end is not known"
    by = endings.cause(run)
    if by:
        return f"{run.status.value} {by}"
    return f"{run.status.value}, exit {run.exit_code}" if run.exit_code is not None else run.status.value


def shape(chart: Chart) -> object:
    """Lay a chart out for other programs, as `plot --json` prints it."""
    return msgspec.to_builtins(chart)
