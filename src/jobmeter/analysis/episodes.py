"""Short departures of a curve from its phase: up for spikes, down for troughs.

A departure begins where the curve is far from the line of its phase and ends where it is near again; between the
two it may waver. It has to come back: what stays is a new phase. How far is far depends on the unit (a floor),
on the height of the phase (a share) and on how restless the phase is (robust deviations).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis import robust, segments
from jobmeter.analysis.series import Curve, Floats

FAR_DEVIATIONS = 6.0
FAR_SHARE = 0.25
"""Of the phase's own level."""
_NEAR = 0.5
"""Of what is far: below, a departure has ended."""
_LONGEST_SHARE = 0.2
"""Of the run; what lasts longer is no episode."""
_BRIDGED_CELLS = 2
"""So short a return is no end."""
_BESIDE_CELLS = 3
_NOTHING_SHARE = 1e-3


class Direction(Enum):
    """Which way a curve departs."""

    UP = 1
    DOWN = -1


@dataclass(frozen=True, slots=True)
class Episode:
    """One departure."""

    begin: float
    end: float
    from_value: float
    to_value: float

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.end - self.begin

    @property
    def height(self) -> float:
        """How far it went."""
        return abs(self.to_value - self.from_value)

    @property
    def percent_change(self) -> float | None:
        """By how much of what was before; None where that was nothing beside what came."""
        if abs(self.from_value) <= _NOTHING_SHARE * abs(self.to_value):
            return None
        return 100 * (self.to_value - self.from_value) / self.from_value


def episodes(curve: Curve, direction: Direction) -> list[Episode]:
    """Find the departures of a curve, in order of time."""
    phases = segments.segments(curve)
    sign = direction.value
    outer = sign * (curve.highs if direction is Direction.UP else curve.lows)
    away = outer - sign * segments.fitted(phases)
    far = _far(curve, phases)
    found = []
    for first, last in _stretches(away > _NEAR * far, away > far):
        if first == 0 or last - first > _LONGEST_SHARE * len(curve):
            continue
        # a fall at the end is the job ending; a rise there may be what ended it
        at_end = last == len(curve)
        if at_end and direction is Direction.DOWN:
            continue
        top = first + int(np.argmax(outer[first:last]))
        before = outer[max(0, first - _BESIDE_CELLS) : first]
        after = before if at_end else outer[last : last + _BESIDE_CELLS]
        if outer[top] - max(np.median(before), np.median(after)) > far[top]:
            found.append(_episode(curve, first, last, sign * outer, top))
    return found


def _far(curve: Curve, phases: tuple[segments.Segment, ...]) -> Floats:
    """Say for every cell how far from its phase is far."""
    residuals = curve.values - segments.fitted(phases)
    return np.concatenate(
        [
            np.full(
                one.last - one.first,
                max(
                    curve.floor,
                    FAR_SHARE * abs(one.level),
                    FAR_DEVIATIONS * robust.spread(residuals[one.first : one.last]),
                ),
            )
            for one in phases
        ]
    )


def _stretches(near: NDArray[np.bool_], far: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Give where departures begin and end: stretches out of the near that reach the far, short returns bridged."""
    places = np.flatnonzero(near)
    if not len(places):
        return
    cuts = np.flatnonzero(np.diff(places) > _BRIDGED_CELLS + 1)
    firsts = places[np.append(0, cuts + 1)]
    lasts = places[np.append(cuts, len(places) - 1)] + 1
    reached = np.append(0, np.cumsum(far))
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        if reached[last] > reached[first]:
            yield first, last


def _episode(curve: Curve, first: int, last: int, outer: Floats, top: int) -> Episode:
    return Episode(
        begin=float(curve.times[first]) - curve.step_seconds,
        end=float(curve.times[last - 1]),
        from_value=float(outer[first - 1]),
        to_value=float(outer[top]),
    )
