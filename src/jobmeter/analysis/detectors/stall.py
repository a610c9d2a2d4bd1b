"""Stall: a job that worked stops doing anything, or its steps stop coming.

Nothing means no CPU, no reading or writing (of files, pipes or sockets, where that was recorded) and no GPU. A
job that never worked is idle, not stalled: `sleep` is fine. A stall that lasts to the end of a run that did not
end by itself is a hang. Steps are looked at on their own, because a rank that waits for another in a busy
loop keeps its CPU and its GPU at 100 %.

What can mislead: waiting for a remote service looks like this too, and so does a job whose work is done by
processes of others (a database, a container daemon).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis import progress, series
from jobmeter.analysis.series import Curve, Floats, Resource
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Run, Status, Value
from jobmeter.model.view import Event, RunView

LEAST_SECONDS = 30.0
IDLE = {"cores": 0.02, "bytes_per_second": 16384.0, "percent": 2.0, "bytes": 0.0}
"""Up to so much is nothing, by unit."""
_HARDLY = 0.02
"""Of the CPU the job uses when it works: up to so much is nothing too."""
_BLIP = 0.1
_BLIP_CELLS = 3
_MOSTLY = 0.8
"""A blip is so short and uses no more of the CPU than that; so much of a pause is idle."""
_CLOSING_SECONDS = 5.0
"""What a job that is ended does last does not count."""
_WORKED_CPU_SECONDS = 2.0
_WORKED_CORES = 0.1
_FEW = 3
"""More pauses than this are how the job works."""
_MUCH_SHARE = 0.25
_MUCH_SECONDS = 300.0
_SLOW_STEPS = 20.0
"""A step that takes this many times as long as the middle one, and `LEAST_SECONDS` more, hangs."""
_MOST_PROCESSES = 5


@dataclass(frozen=True, slots=True)
class Pause:
    """A stretch without any sign of life."""

    begin: float
    end: float
    at_end: bool
    looked_at: tuple[Resource, ...]
    """What was measured, and was nothing."""

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.end - self.begin


def detect(view: RunView) -> Iterable[Finding]:
    """Tell where the job stopped working."""
    pauses = _pauses(view)
    final = [one for one in pauses if one.at_end]
    inner = [one for one in pauses if not one.at_end]
    for pause in (*(inner if len(inner) <= _FEW else ()), *final):
        yield _idle_finding(view, pause)
    yield from _step_findings(view)


def _pauses(view: RunView) -> list[Pause]:
    """Find the stretches of idleness that follow work."""
    curves = series.activity(view)
    cpu = next((curve for curve in curves if curve.resource is Resource.CPU), None)
    if cpu is None:
        return []
    looked_at = tuple(dict.fromkeys(curve.resource for curve in curves))
    idle = np.logical_and.reduce([_idle_at(cpu.times, curve) for curve in curves])
    closing_seconds = max(_CLOSING_SECONDS, 2 * cpu.step_seconds)
    found = []
    for first, last in _stretches(idle, cpu.values <= _BLIP * _working_level(cpu)):
        begin, end = (cpu.begin if first == 0 else float(cpu.times[first - 1])), float(cpu.times[last - 1])
        if end - begin >= LEAST_SECONDS and _worked(cpu, first):
            found.append(Pause(begin, end, cpu.end - end <= closing_seconds, looked_at))
    return found


def _idle_at(times: Floats, curve: Curve) -> NDArray[np.bool_]:
    """Say for each of these moments whether a curve shows nothing."""
    place = np.minimum(np.searchsorted(curve.times, times), len(curve) - 1)
    nothing = IDLE[curve.unit]
    if curve.resource is Resource.CPU:
        nothing = max(nothing, _HARDLY * _working_level(curve))
    return curve.values[place] <= nothing


def _working_level(cpu: Curve) -> float:
    """Give the CPU a job uses when it uses any."""
    busy = cpu.values[cpu.values > IDLE[cpu.unit]]
    return float(np.median(busy)) if len(busy) else 0.0


def _stretches(idle: NDArray[np.bool_], quiet: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Give where idleness begins and ends; the blips of a heartbeat in it do not end it."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], idle, [False])).astype(np.int8)))
    joined: list[tuple[int, int]] = []
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        before = joined[-1][1] if joined else -1
        if joined and first - before <= _BLIP_CELLS and quiet[before:first].all():
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    yield from (one for one in joined if idle[slice(*one)].mean() >= _MOSTLY)


def _worked(cpu: Curve, cells: int) -> bool:
    """Tell whether the job did something worth the name before."""
    if cells == 0:
        return False
    seconds = float(cpu.times[cells - 1]) - cpu.begin
    cores = float(cpu.values[:cells].mean())
    per_core = 1.0 if cpu.unit == "cores" else 0.01
    return cores * per_core >= _WORKED_CORES and cores * per_core * seconds >= _WORKED_CPU_SECONDS


def _idle_finding(view: RunView, pause: Pause) -> Finding:
    lasted = units.format_seconds(pause.seconds)
    before = units.format_seconds(pause.begin - (view.run.started_at or pause.begin))
    nothing = ", ".join(f"no {resource.value}" for resource in pause.looked_at)
    sentence = (
        f"the job did nothing for its last {lasted}: {nothing}"
        if pause.at_end
        else f"the job paused for {lasted}, {before} after its start: {nothing}"
    )
    return Finding(
        detector="stall",
        severity=_severity(view.run, pause),
        sentence=sentence,
        begin=pause.begin,
        end=pause.end,
        evidence=tuple(_witnesses(view.events, pause.begin, pause.end)),
        figures={"seconds": round(pause.seconds, 1), "at_end": int(pause.at_end)},
    )


def _severity(run: Run, pause: Pause) -> Severity:
    # where IO was not measured, it may have been busy with that
    known = Resource.READ in pause.looked_at
    if pause.at_end and run.status is not Status.COMPLETED:
        return Severity.CRITICAL if known else Severity.WARNING
    wall = run.wall_seconds or pause.seconds
    much = pause.seconds >= _MUCH_SECONDS and pause.seconds >= _MUCH_SHARE * wall
    return Severity.WARNING if much and known else Severity.INFO


def _witnesses(events: Iterable[Event], begin: float, end: float) -> Iterator[Evidence]:
    """Say what processes were seen waiting in, where the recorder looked."""
    for event in events:
        processes = event.details.get("processes")
        if event.type != "stall" or not begin <= event.timestamp <= end or not isinstance(processes, list):
            continue
        for one in processes[:_MOST_PROCESSES]:
            if isinstance(one, dict):
                yield _witness(event, one)


def _witness(event: Event, process: dict[str, object]) -> Evidence:
    told = [f"{name} {process[name]}" for name in ("state", "wchan", "syscall") if process.get(name)]
    stack = process.get("stack")
    return Evidence(
        sentence=f"process {process.get('pid')} ({process.get('command')}): {', '.join(told) or 'waiting'}",
        source="event stall",
        timestamp=event.timestamp,
        quote=stack if isinstance(stack, str) else None,
    )


def _step_findings(view: RunView) -> Iterator[Finding]:
    """Tell of steps that took far too long, and of steps that stopped coming before the run ended."""
    told = progress.told(view.steps)
    if told is None:
        return
    waits = np.diff(told.times)
    usual = float(np.median(waits))
    long = LEAST_SECONDS + _SLOW_STEPS * usual
    slow = np.flatnonzero(waits > long)
    # a pause that comes again is an evaluation or a checkpoint
    for place in slow.tolist() if len(slow) <= _FEW - 1 else ():
        yield _slow_step(told, place, usual)
    ended_at = view.run.ended_at or _last_seen(view)
    quiet = 0.0 if ended_at is None else ended_at - float(told.times[-1])
    if ended_at is not None and quiet > long and view.run.status is not Status.COMPLETED:
        yield _steps_stopped(view, told, ended_at, usual)


def _last_seen(view: RunView) -> float | None:
    """Give when a run that has not ended was last heard of."""
    return max((one.times[-1] for one in view.series.values() if len(one.times)), default=None)


def _slow_step(told: progress.Progress, place: int, usual: float) -> Finding:
    begin, end = float(told.times[place]), float(told.times[place + 1])
    first, last = int(told.steps[place]) + 1, int(told.steps[place + 1])
    lasted, as_usual = units.format_seconds(end - begin), units.format_seconds(usual)
    sentence = (
        f"step {last} took {lasted}, usually it is {as_usual}"
        if first == last
        else f"steps {first} to {last} took {lasted}, usually one is told every {as_usual}"
    )
    figures: dict[str, Value] = {"usual_seconds": usual, "at_end": 0, "step": last}
    return _of_steps(told, (begin, end), Severity.WARNING, sentence, figures)


def _steps_stopped(view: RunView, told: progress.Progress, ended_at: float, usual: float) -> Finding:
    begin = float(told.times[-1])
    sentence = (
        f"no step came for the last {units.format_seconds(ended_at - begin)} after step {int(told.steps[-1])}; "
        f"before, one came every {units.format_seconds(usual)}"
    )
    figures: dict[str, Value] = {"usual_seconds": usual, "at_end": 1, "step": int(told.steps[-1])}
    found = _of_steps(told, (begin, ended_at), Severity.CRITICAL, sentence, figures)
    return replace(found, evidence=tuple(_witnesses(view.events, begin, ended_at)))


def _of_steps(
    told: progress.Progress,
    span: tuple[float, float],
    severity: Severity,
    sentence: str,
    figures: dict[str, Value],
) -> Finding:
    begin, end = span
    return Finding(
        detector="stall",
        severity=severity,
        sentence=sentence,
        key="step",
        begin=begin,
        end=end,
        rank=told.rank,
        figures={"seconds": round(end - begin, 1), **figures},
    )
