"""What jobmeter's watch is held against: detectors a reader knows, each scoring a whole series row by row."""

import math

import numpy as np

from nab_score import Floats

_WINDOW_ROWS = 6400
_STEP_ROWS = 100
_FLAT = 1e-6
"""What NAB takes for the deviation of a flat line."""


def null(values: Floats) -> Floats:
    """Never speak."""
    return np.zeros(len(values))


def chance(values: Floats, draw: np.random.Generator) -> Floats:
    """Speak at random."""
    return draw.random(len(values))


def percent_rule(values: Floats) -> Floats:
    """Score by the change from the row before, in percent of it, as build statistics once did."""
    before = values[:-1]
    change = np.divide(np.diff(values), before, out=np.zeros(len(before)), where=before > 0)
    return np.append(0.0, np.abs(100 * change))


def windowed_gaussian(values: Floats) -> Floats:
    """Score by the tail of the Gaussian through the last 6,400 rows, moved on by 100: NAB's own baseline."""
    row = np.arange(1, len(values))
    first = np.maximum(0, (row - _WINDOW_ROWS) // _STEP_ROWS) * _STEP_ROWS
    last = np.minimum(row, first + _WINDOW_ROWS)
    # long doubles, and sums of what is left of the mean: the tails are looked at in their twelfth digit
    centred = (values - values.mean()).astype(np.longdouble)
    sums, squares = (np.append(0, np.cumsum(terms)) for terms in (centred, centred**2))
    mean = (sums[last] - sums[first]) / (last - first)
    variance = (squares[last] - squares[first]) / (last - first) - mean**2
    deviation = np.sqrt(np.maximum(variance, 0))
    deviation = np.where(deviation < _FLAT, _FLAT, deviation)
    distance = (np.abs(centred[1:] - mean) / deviation / np.sqrt(2)).astype(float)
    # NAB keeps twelve digits in its files, and so makes equal what is nearly certain
    scores = [round(1 - 0.5 * math.erfc(one), 12) for one in distance.tolist()]
    return np.array([0.0, *scores])
