"""The phases of a curve: stretches that one straight line describes, found by the least cost over all cuts.

A phase may rise or fall: a ramp is one phase, not many steps. A running median goes over the curve first,
so that a spike does not cut a phase in two. Deterministic, and exact on what remains: every way
to cut is weighed (optimal partitioning), none is tried at random.

What can mislead: a phase shorter than a twentieth of the run is not one; a load that wanders has no true phases,
and is then cut into at most `MOST_PHASES`.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import log

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis import robust
from jobmeter.analysis.series import Curve, Floats

MOST_PHASES = 10
MOST_POINTS = 240
_SHORTEST_SHARE = 1 / 20
_SHORTEST_POINTS = 3
_PENALTY = 4.0
"""What a cut must gain, times the logarithm of the number of points, in squared deviations."""
_SMALL_SHARE = 0.05
"""Of the height of a curve: smaller differences do not make a phase."""

_ALIKE_SHARE = 0.1
"""Of its level: neighbours that differ by less are one phase."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One phase: cells from `first` up to, not including, `last`."""

    first: int
    last: int
    begin: float
    end: float
    level: float
    """The middle value."""
    start_value: float
    end_value: float
    """Where the line through it begins and ends."""

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.end - self.begin

    @property
    def slope(self) -> float:
        """What it rises by in a second."""
        return (self.end_value - self.start_value) / self.seconds


def segments(curve: Curve) -> tuple[Segment, ...]:
    """Cut a curve into its phases, at least one."""
    points = robust.thinned(curve.values, MOST_POINTS)
    width = -(-len(curve) // MOST_POINTS)
    cuts = _cuts(points.tobytes(), curve.floor)
    edges = [min(cut * width, len(curve)) for cut in cuts]
    found: list[Segment] = []
    for first, last in pairwise(edges):
        one = _segment(curve, first, last)
        if found and _are_alike(curve, found[-1], one):
            found[-1] = _segment(curve, found[-1].first, last)
        else:
            found.append(one)
    return tuple(found)


def _are_alike(curve: Curve, one: Segment, other: Segment) -> bool:
    """Tell that nobody would call these two phases: all their ends lie together."""
    ends = (one.start_value, one.end_value, other.start_value, other.end_value)
    return max(ends) - min(ends) < max(curve.floor, _ALIKE_SHARE * abs(one.level))


def fitted(phases: tuple[Segment, ...]) -> Floats:
    """Give what the phases say of every cell."""
    return np.concatenate(
        [np.linspace(one.start_value, one.end_value, one.last - one.first) for one in phases]
    )


def _segment(curve: Curve, first: int, last: int) -> Segment:
    values, times = curve.values[first:last], curve.times[first:last]
    trend = robust.slope(times, values).value
    level = float(np.median(values))
    middle = float(np.median(times))
    return Segment(
        first=first,
        last=last,
        begin=max(curve.begin, float(times[0]) - curve.step_seconds),
        end=float(times[-1]),
        level=level,
        start_value=level + trend * (float(times[0]) - middle),
        end_value=level + trend * (float(times[-1]) - middle),
    )


@lru_cache(maxsize=64)  # several detectors ask for the phases of the same curve
def _cuts(packed: bytes, floor: float) -> tuple[int, ...]:
    count = len(packed) // 8
    shortest = max(_SHORTEST_POINTS, int(count * _SHORTEST_SHARE))
    points = _without_spikes(np.frombuffer(packed), 2 * shortest - 1)
    height = float(np.subtract(*np.percentile(points, (98, 2))))
    deviation = max(robust.noise(points), _SMALL_SHARE * height, floor / 4)
    costs = _costs((points - np.median(points)) / deviation)
    penalty = _PENALTY * log(count)
    cuts = _best_cuts(costs, shortest, penalty)
    while len(cuts) > MOST_PHASES + 1:
        penalty *= 2
        cuts = _best_cuts(costs, shortest, penalty)
    return cuts


def _without_spikes(points: Floats, width: int) -> Floats:
    """Replace every point by the median around it: what is shorter than half of that is gone, steps stay."""
    padded = np.pad(points, width // 2, mode="reflect")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, width), axis=1)


def _costs(points: Floats) -> Floats:
    """Give the squared error of the straight line through every stretch: row where it begins, column where it ends."""
    place = np.arange(len(points), dtype=float)
    sums = [
        np.append(0.0, np.cumsum(terms))
        for terms in (np.ones_like(place), place, place**2, points, place * points, points**2)
    ]
    n, x, xx, y, xy, yy = (total[None, :] - total[:, None] for total in sums)
    n = np.maximum(n, 1.0)
    wide = np.maximum(xx - x * x / n, 1e-9)
    error: Floats = yy - y * y / n - (xy - x * y / n) ** 2 / wide
    return np.maximum(error, 0.0)


def _best_cuts(costs: Floats, shortest: int, penalty: float) -> tuple[int, ...]:
    count = len(costs) - 1
    total = np.full(count + 1, np.inf)
    total[0] = 0.0
    came_from: NDArray[np.intp] = np.zeros(count + 1, np.intp)
    for end in range(shortest, count + 1):
        options = total[: end - shortest + 1] + costs[: end - shortest + 1, end] + penalty
        came_from[end] = int(np.argmin(options))
        total[end] = options[came_from[end]]
    cuts = [count]
    while cuts[-1] > 0:
        cuts.append(int(came_from[cuts[-1]]))
    return tuple(reversed(cuts))
