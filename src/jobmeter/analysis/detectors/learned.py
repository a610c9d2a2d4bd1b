"""Learned: what is unusual for this job, by its own earlier runs.

The model is small: of every figure the middle and the robust spread over the completed runs. A figure is unusual
when it lies outside of all that was seen and many spreads from the middle. With fewer than `FEWEST_RUNS` nothing is
said. A run that did not complete is held against the others only for using more of what adds up: it may have ended
early, with its loss still high.

What can mislead: the earlier runs may have had other inputs; a job whose runs are all alike down to a percent is
held to five percent.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from jobmeter.analysis import readings, robust
from jobmeter.model import units
from jobmeter.model.measurement import Unit
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import MetricSummary
from jobmeter.model.view import RunView

FEWEST_RUNS = 8
MOST_RUNS = 200
"""Older ones are forgotten."""
_FAR = 4.0
_FAR_FEW = 16.0
"""Spreads from the middle that are unusual: the first, plus the second over the number of runs."""
_LEAST_SHARE = 0.05
"""Of the middle: no spread is taken as less."""
_MUCH_MORE = 1.5
_MUCH_LESS = 0.7


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that runs have in common."""

    words: str
    unit: Unit
    floor: float
    """A difference too small to speak of."""
    more_is_worse: bool = True
    less_is_worse: bool = False
    adds_up: bool = True
    """It only grows while a run goes on."""


FIGURES: dict[str, Figure] = {
    "cpu_seconds": Figure("CPU time", Unit.SECONDS, 1.0),
    "energy_joules": Figure("energy", Unit.JOULES, 100.0),
    "gpu_memory_peak_bytes": Figure("GPU memory peak", Unit.BYTES, 64.0 * (1 << 20)),
    "gpu_util_percent": Figure(
        "GPU utilisation", Unit.PERCENT, 5.0, more_is_worse=False, less_is_worse=True, adds_up=False
    ),
    "io_read_bytes": Figure("bytes read", Unit.BYTES, 64.0 * (1 << 20)),
    "io_write_bytes": Figure("bytes written", Unit.BYTES, 64.0 * (1 << 20)),
    "last_loss": Figure("last loss", Unit.NONE, 1e-3, adds_up=False),
    "memory_peak_bytes": Figure("memory peak", Unit.BYTES, 16.0 * (1 << 20)),
    "step_count": Figure("number of steps", Unit.COUNT, 1.0, more_is_worse=False),
    "steps_per_second": Figure(
        "steps per second", Unit.NONE, 1e-3, more_is_worse=False, less_is_worse=True, adds_up=False
    ),
    "throttled_seconds": Figure("time throttled", Unit.SECONDS, 1.0),
    "used_cores": Figure("cores used", Unit.NONE, 0.1, more_is_worse=False, adds_up=False),
    "wall_seconds": Figure("run time", Unit.SECONDS, 2.0),
}
"""What is learned of a job, by name."""


@dataclass(frozen=True, slots=True)
class Normal:
    """What a figure usually is."""

    runs: int
    middle: float
    spread: float
    low: float
    high: float


def detect(view: RunView) -> Iterable[Finding]:
    """Tell what is unusual for this job."""
    known = learn(view.history)
    completed = view.run.status is Status.COMPLETED
    for name, value in sorted(figures_of(view.run).items()):
        normal = known.get(name)
        if normal is None or not is_unusual(value, normal):
            continue
        if completed or (FIGURES[name].adds_up and value > normal.high):
            yield _finding(view.run, name, value, normal)


def learn(history: Iterable[Run]) -> dict[str, Normal]:
    """Learn what is normal from the completed runs of a job, newest first."""
    completed = [run for run in history if run.status is Status.COMPLETED][:MOST_RUNS]
    seen: dict[str, list[float]] = {}
    for run in completed:
        for name, value in figures_of(run).items():
            seen.setdefault(name, []).append(value)
    return {name: _normal(name, values) for name, values in seen.items() if len(values) >= FEWEST_RUNS}


def _normal(name: str, values: list[float]) -> Normal:
    taken = np.array(values)
    middle = float(np.median(taken))
    # a difference below the floor is to be nothing, however alike the runs are
    spread = max(robust.spread(taken), _LEAST_SHARE * abs(middle), FIGURES[name].floor / _FAR)
    return Normal(len(values), middle, spread, float(taken.min()), float(taken.max()))


def is_unusual(value: float, normal: Normal) -> bool:
    """Tell whether a value lies outside of all that was seen, and far from it."""
    if normal.low <= value <= normal.high:
        return False
    return abs(value - normal.middle) > (_FAR + _FAR_FEW / normal.runs) * normal.spread


def figures_of(run: Run) -> dict[str, float]:
    """Take from a run what is learned of it; what was not measured is absent."""
    found: dict[str, float | None] = {name: one.value for name, one in run.headline.items()}
    found["wall_seconds"] = run.wall_seconds
    found["throttled_seconds"] = readings.number(run, "cgroup_throttled")
    found["used_cores"] = readings.used_cores(run)
    if run.steps is not None:
        found["step_count"] = run.steps.count
        found["steps_per_second"] = run.steps.steps_per_second
        found["last_loss"] = _last(run.steps.metrics.get("loss"))
    return {name: value for name, value in found.items() if name in FIGURES and value is not None}


def _last(metric: MetricSummary | None) -> float | None:
    # a loss that is not finite is a word here, and another detector's business
    return float(metric.last) if metric is not None and not isinstance(metric.last, str) else None


def _finding(run: Run, name: str, value: float, normal: Normal) -> Finding:
    figure = FIGURES[name]
    show = _shown(figure)
    sentence = (
        f"{figure.words} is {show(value)}; the middle of {normal.runs} earlier runs of this job is "
        f"{show(normal.middle)}, and none was {'above' if value > normal.high else 'below'} "
        f"{show(normal.high if value > normal.high else normal.low)}"
    )
    return Finding(
        detector="learned",
        severity=_severity(figure, value, normal),
        sentence=sentence,
        key=name,
        begin=run.started_at,
        end=run.ended_at,
        evidence=(
            Evidence(
                sentence=f"{figure.words} of {normal.runs} earlier runs: {show(normal.low)} to {show(normal.high)}",
                source="history",
                value=normal.middle,
            ),
        ),
        figures={
            "value": value,
            "median": normal.middle,
            "spread": normal.spread,
            "low": normal.low,
            "high": normal.high,
            "runs": normal.runs,
        },
    )


def _severity(figure: Figure, value: float, normal: Normal) -> Severity:
    worse = (figure.more_is_worse and value > _MUCH_MORE * normal.middle) or (
        figure.less_is_worse and value < _MUCH_LESS * normal.middle
    )
    return Severity.WARNING if worse else Severity.INFO


def _shown(figure: Figure) -> Callable[[float], str]:
    if figure.unit is Unit.NONE:
        return units.format_metric
    return lambda value: units.format_value(value, figure.unit)
