"""What jobmeter's watch is held against: detectors a reader knows, each scoring a whole series row by row."""

import math
import random

import numpy as np

from nab_score import Floats

_WINDOW_ROWS = 6400
_STEP_ROWS = 100


def null(values: Floats) -> Floats:
    """Never speak."""
    return np.zeros(len(values))


def chance(values: Floats, seed: int) -> Floats:
    """Speak at random."""
    draw = random.Random(seed)  # noqa: S311  # nobody is to be fooled by it
    return np.array([draw.random() for _ in values])


def percent_rule(values: Floats) -> Floats:
    """Score by the change from the row before, in percent of it, as build statistics once did."""
    before = values[:-1]
    change = np.divide(np.diff(values), before, out=np.zeros(len(before)), where=before > 0)
    return np.append(0.0, np.abs(100 * change))


def windowed_gaussian(values: Floats) -> Floats:
    """Score by the tail of the Gaussian through the last 6,400 rows, moved on by 100: NAB's own baseline."""
    scores = np.zeros(len(values))
    first, last = 0, 1
    mean, deviation = float(values[0]), 1e-6
    for row in range(1, len(values)):
        tail = 0.5 * math.erfc(abs(values[row] - mean) / deviation / math.sqrt(2))
        # NAB keeps twelve digits in its files, and so makes equal what is nearly certain
        scores[row] = round(1 - tail, 12)
        if last - first < _WINDOW_ROWS:
            last += 1
        elif row + 1 - last == _STEP_ROWS:
            first, last = first + _STEP_ROWS, last + _STEP_ROWS
        else:
            continue
        window = values[first:last]
        mean, deviation = float(window.mean()), float(window.std()) or 1e-6
    return scores
