"""Figures that a few wild values cannot move: spread by the median, slopes by the median of all slopes."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

AS_DEVIATION = 1.4826
"""The median distance from the median, times this, is the standard deviation of Gaussian noise."""
_SURE = 1.96
"""Standard deviations around the middle that hold 95 %."""
MOST_POINTS = 200
"""More are taken together before slopes: there are n^2 / 2 of them."""


@dataclass(frozen=True, slots=True)
class Slope:
    """A trend with the interval that holds it 95 times of 100, where the noise is independent."""

    value: float
    low: float
    high: float


def spread(values: Floats) -> float:
    """Give the standard deviation as the median distance from the median tells it."""
    return AS_DEVIATION * float(np.median(np.abs(values - np.median(values))))


def noise(values: Floats) -> float:
    """Give the standard deviation of what jumps from value to value, whatever the values follow slowly."""
    if len(values) < 3:
        return 0.0
    bends = values[2:] - 2 * values[1:-1] + values[:-2]
    return AS_DEVIATION * float(np.median(np.abs(bends))) / sqrt(6)


def thinned(values: Floats, most: int) -> Floats:
    """Take neighbours together by their median until there are at most this many."""
    width = -(-len(values) // most)
    if width <= 1:
        return values
    whole = len(values) // width * width
    parts = np.median(values[:whole].reshape(-1, width), axis=1)
    return parts if whole == len(values) else np.append(parts, np.median(values[whole:]))


def slope(times: Floats, values: Floats) -> Slope:
    """Give the Theil-Sen slope and its confidence interval by Sen."""
    times, values = thinned(times, MOST_POINTS), thinned(values, MOST_POINTS)
    first, second = np.triu_indices(len(times), 1)
    apart = times[second] > times[first]
    slopes = (values[second] - values[first])[apart] / (times[second] - times[first])[apart]
    if not len(slopes):
        return Slope(0.0, 0.0, 0.0)
    slopes.sort()
    n = len(times)
    width = _SURE * sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, int((len(slopes) - width) / 2))
    high = min(len(slopes) - 1, int((len(slopes) + width) / 2))
    return Slope(float(np.median(slopes)), float(slopes[low]), float(slopes[high]))
