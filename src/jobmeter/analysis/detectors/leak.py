"""Leak: memory that grows steadily to the end of the run and never comes back.

The slope is Theil-Sen's over the last stretch of growth, by the lowest value of each part of it, so that a
collector's sawtooth counts at its feet. Not a leak: growth that slows down (a cache that fills, a warm-up), growth
in few steps with flat stretches between (a working set that follows the work), growth that was given back before (a
compiler that works on file after file), page cache (it is not in the measure), growth too small to matter.

What can mislead: a job that loads one large data set for all of its life has the same shape; a run that is short
shows only its start.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from jobmeter.analysis import robust, segments
from jobmeter.analysis.series import Curve, Floats, Resource, curves
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import LIVE, Value
from jobmeter.model.view import RunView

PARTS = 24
"""The stretch of growth is looked at in so many parts."""
LEAST_SECONDS = 20.0
LEAST_SHARE = 0.3
"""Of the run: growth over less of it is a phase."""
LEAST_BYTES = 16 << 20
LEAST_GROWTH = 0.1
"""Of the memory where the growth began, or of the limit where that is less."""
_STARTING_SHARE = 0.05
"""Of the run: what it does first is starting up."""
_STILL_GROWING = 0.2
"""Of the last phase's slope: an earlier phase that grew less is not part of the same growth."""
_SLOWED = 0.6
"""The second half of a leak grows at least this much as fast as the first."""
_FLAT = 0.25
"""Of the mean growth of a part: a part that grows less is flat."""
_MOST_FLAT = 0.5
_SAME_PACE = 1.5
"""Growth that was given back is the same as the last one up to so many times its slope."""
_MOST_OF_IT = 0.5
_NEAR_LIMIT = 0.9
_FAR_SECONDS = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class Growth:
    """The last stretch over which a curve grew."""

    begin: float
    end: float
    slope: robust.Slope
    start_bytes: float
    last_bytes: float

    @property
    def grown_bytes(self) -> float:
        """What the slope makes of the whole stretch."""
        return self.slope.value * (self.end - self.begin)


def detect(view: RunView) -> Iterable[Finding]:
    """Tell which memory leaks."""
    for curve in curves(view, Resource.MEMORY, Resource.GPU_MEMORY):
        limit_bytes = view.run.limits.memory_bytes if curve.resource is Resource.MEMORY else None
        growth = leaking(curve, limit_bytes)
        if growth is not None:
            yield _finding(curve, growth, limit_bytes, live=view.run.status in LIVE)


def leaking(curve: Curve, limit_bytes: int | None = None) -> Growth | None:
    """Find the growth of a curve that looks like a leak."""
    first = _start_of_growth(curve)
    times, lows = curve.times[first:], curve.lows[first:]
    duration = curve.end - curve.begin
    if len(times) < PARTS or times[-1] - times[0] < max(LEAST_SECONDS, LEAST_SHARE * duration):
        return None
    feet = np.array([part.min() for part in np.array_split(lows, PARTS)])
    at = np.array([part.mean() for part in np.array_split(times, PARTS)])
    slope = robust.slope(at, feet)
    growth = Growth(float(times[0]), curve.end, slope, float(feet[0]), float(curve.values[-1]))
    least = max(LEAST_BYTES, LEAST_GROWTH * min(growth.start_bytes, limit_bytes or growth.start_bytes))
    if slope.low <= 0 or growth.grown_bytes < least:
        return None
    if _slows_down(at, feet) or _is_staircase(feet, growth) or _came_back_before(curve, growth):
        return None
    return growth


def _start_of_growth(curve: Curve) -> int:
    """Go back from the end over phases that grow too, each from about where the one before it ended."""
    phases = segments.segments(curve)
    first = phases[-1].first
    for earlier, later in zip(phases[-2::-1], phases[:0:-1], strict=True):
        drop = earlier.end_value - later.start_value
        too_slow = earlier.slope <= _STILL_GROWING * max(0.0, phases[-1].slope)
        if too_slow or drop > max(curve.floor, 0.5 * (earlier.end_value - earlier.start_value)):
            break
        first = earlier.first
    starting = int(np.searchsorted(curve.times, curve.begin + _STARTING_SHARE * (curve.end - curve.begin)))
    return max(first, starting)


def _came_back_before(curve: Curve, growth: Growth) -> bool:
    """Tell a rhythm: memory grew like this before, as fast and as far, and most of it was given back then."""
    pace = growth.slope.value
    for earlier, later in pairwise(segments.segments(curve)):
        rise = earlier.end_value - earlier.start_value
        alike = pace / _SAME_PACE <= earlier.slope <= pace * _SAME_PACE
        given_back = earlier.end_value - later.start_value
        if alike and rise >= _MOST_OF_IT * growth.grown_bytes and given_back >= _MOST_OF_IT * rise:
            return True
    return False


def _slows_down(times: Floats, feet: Floats) -> bool:
    half = len(times) // 2
    before, after = robust.slope(times[:half], feet[:half]), robust.slope(times[half:], feet[half:])
    return after.value < _SLOWED * before.value or after.value <= 0


def _is_staircase(feet: Floats, growth: Growth) -> bool:
    mean_growth = growth.grown_bytes / PARTS
    flat = np.abs(np.diff(feet)) < _FLAT * mean_growth
    return bool(flat.mean() >= _MOST_FLAT)


def _finding(curve: Curve, growth: Growth, limit_bytes: int | None, *, live: bool) -> Finding:
    slope = growth.slope
    left = None if limit_bytes is None else max(0.0, limit_bytes - growth.last_bytes) / slope.value
    lasted = units.format_seconds(growth.end - growth.begin)
    sentence = (
        f"{curve.subject} grew steadily by {units.format_bytes(60 * slope.value)} a minute over the last {lasted} and "
        f"never came back: a leak, unless it was still loading data"
    )
    if left is not None and limit_bytes is not None:
        when = "will be" if live else "would have been"
        reached = (
            f"the limit of {units.format_bytes(limit_bytes)} {when} reached in {units.format_seconds(left)}"
        )
        sentence = f"{sentence}; {reached}"
    figures: dict[str, Value] = {
        "slope_bytes_per_second": slope.value,
        "low_bytes_per_second": slope.low,
        "high_bytes_per_second": slope.high,
        "grown_bytes": growth.grown_bytes,
    }
    if left is not None:
        figures["seconds_to_limit"] = round(left, 1)
    return Finding(
        detector="leak",
        severity=_severity(growth, limit_bytes, left),
        sentence=sentence,
        key=curve.key,
        instance=curve.instance,
        begin=growth.begin,
        end=growth.end,
        evidence=(_evidence(curve, growth),),
        figures=figures,
    )


def _evidence(curve: Curve, growth: Growth) -> Evidence:
    low, high = (units.format_bytes(60 * bound) for bound in (growth.slope.low, growth.slope.high))
    return Evidence(
        sentence=f"from {curve.show(growth.start_bytes)} to {curve.show(growth.last_bytes)}, "
        f"between {low} and {high} a minute in 95 of 100 cases",
        source=curve.key,
        value=growth.last_bytes,
        timestamp=growth.end,
    )


def _severity(growth: Growth, limit_bytes: int | None, left: float | None) -> Severity:
    if limit_bytes is not None and growth.last_bytes >= _NEAR_LIMIT * limit_bytes:
        return Severity.CRITICAL
    return Severity.INFO if left is not None and left > _FAR_SECONDS else Severity.WARNING
