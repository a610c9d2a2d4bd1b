"""Throughput decay: a training that goes slower and slower.

Tokens per second are believed before samples, and both before steps: a step may take longer because it holds
more. Parts of the run are compared by their middle values, so that evaluations and checkpoints between steps do
not count; the start is left out.

What can mislead: a metric that its tool averages over the whole run falls long after the cause has gone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jobmeter.analysis import progress, robust
from jobmeter.analysis.series import Floats
from jobmeter.model import metrics, units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.view import RunView

PARTS = 20
FEWEST_VALUES = 24
LEAST_DECLINE = 0.15
"""Of the throughput at the start: less is weather."""
WARNED_DECLINE = 0.3
_STARTING_SHARE = 0.1
_CLEAR_DEVIATIONS = 3.0
_STEPS = "steps_per_second"
_BATCH_CHANGES = frozenset(("batch_size_changed", "resolution_changed"))


@dataclass(frozen=True, slots=True, eq=False)
class Pace:
    """How fast a training was, over its time."""

    quantity: str
    key: str
    times: Floats
    rates: Floats


@dataclass(frozen=True, slots=True)
class Decline:
    """What became of it."""

    begin: float
    end: float
    before: float
    after: float
    slope: robust.Slope

    @property
    def share(self) -> float:
        """Which part of the throughput was lost."""
        return 1 - self.after / self.before


def detect(view: RunView) -> Iterable[Finding]:
    """Tell whether the training slowed down."""
    told = progress.told(view.steps)
    pace = None if told is None else _pace(told)
    if told is None or pace is None:
        return
    if pace.quantity == _STEPS and any(event.type in _BATCH_CHANGES for event in view.events):
        return  # a larger batch makes fewer steps: that is no decay
    decline = declining(pace.times, pace.rates)
    if decline is not None:
        yield _finding(told, pace, decline)


def _pace(told: progress.Progress) -> Pace | None:
    for quantity in (metrics.TOKENS_PER_SECOND, metrics.SAMPLES_PER_SECOND):
        found = progress.column(told, quantity)
        if found is not None and len(found[1]) >= FEWEST_VALUES:
            return Pace(quantity, *found)
    if len(told.times) <= FEWEST_VALUES:
        return None
    return Pace(_STEPS, "step", told.times[1:], np.diff(told.steps) / np.diff(told.times))


def declining(times: Floats, rates: Floats) -> Decline | None:
    """Find a steady loss of speed."""
    started = times >= times[0] + _STARTING_SHARE * (times[-1] - times[0])
    times, rates = times[started], rates[started]
    parts = min(PARTS, len(rates) // 2)
    if parts < PARTS // 2:
        return None
    middle = np.array([np.median(part) for part in np.array_split(rates, parts)])
    at = np.array([part.mean() for part in np.array_split(times, parts)])
    quarter = max(2, parts // 4)
    before, after = float(np.median(middle[:quarter])), float(np.median(middle[-quarter:]))
    if before <= 0:
        return None
    slope = robust.slope(at, middle)
    restless = robust.spread(np.diff(middle)) / before
    decline = Decline(float(times[0]), float(times[-1]), before, after, slope)
    if slope.high >= 0 or decline.share < max(LEAST_DECLINE, _CLEAR_DEVIATIONS * restless):
        return None
    return decline


def _finding(told: progress.Progress, pace: Pace, decline: Decline) -> Finding:
    words = pace.quantity.replace("_", " ")
    before, after = units.format_metric(decline.before), units.format_metric(decline.after)
    return Finding(
        detector="throughput_decay",
        severity=Severity.WARNING if decline.share >= WARNED_DECLINE else Severity.INFO,
        sentence=f"{words} fell from {before} to {after} over the run, by {100 * decline.share:.0f} %",
        key=pace.key,
        begin=decline.begin,
        end=decline.end,
        rank=told.rank,
        evidence=(
            Evidence(
                sentence=f"the middle of the first quarter is {before}, of the last {after}",
                source=f"steps of {told.source}",
                value=decline.after,
            ),
        ),
        figures={
            f"before_{pace.quantity}": decline.before,
            f"after_{pace.quantity}": decline.after,
            "decline_ratio": round(decline.share, 4),
            "slope_per_second": decline.slope.value,
            "low_per_second": decline.slope.low,
            "high_per_second": decline.slope.high,
        },
    )
