"""Predictors that know how large the input of the next run is.

Where the inputs of earlier runs are not known, or too few are, they say nothing: NaN.
"""

import math
from dataclasses import dataclass

import numpy as np

from jobmeter.analysis.sizing.past import Amounts, Past

_FEW, _SEVERAL = 3, 8
_ALIKE = 0.2
"""How far apart the logarithms of two sizes may be for both to be of a kind: a fifth."""
_LEAST_TO_FIT = 3
_LEAST_SHARE = 0.5
"""A line never promises less than this share of the least that was ever used."""
_LARGEST_GROWTH = 3.0
"""Nor, on logarithmic scales, more than 20 times the most."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A straight line through earlier runs, and how far they lie from it."""

    value: float
    deviation: float
    largest_excess: float


def doubt(past: Past) -> float:
    """Say how likely the size of the input tells nothing of what a run uses: 1 until there is a sign that it does.

    It is how often ranks that have nothing to do with one another go together so well (Spearman's test).
    """
    known = ~np.isnan(past.inputs)
    runs = int(known.sum())
    if runs < _LEAST_TO_FIT:
        return 1.0
    sizes, amounts = _ranks(past.inputs[known]), _ranks(past.amounts[known])
    spread = float(sizes.std() * amounts.std())
    if spread <= 0:
        return 1.0
    together = float(((sizes - sizes.mean()) * (amounts - amounts.mean())).mean()) / spread
    return math.erfc(abs(together) * math.sqrt((runs - 1) / 2))


def nearest_few(past: Past, input_bytes: float) -> float:
    """Take the most of the 3 runs with the most similar input."""
    return _nearest(past, input_bytes, _FEW)


def nearest_several(past: Past, input_bytes: float) -> float:
    """Take the most of the 8 runs with the most similar input."""
    return _nearest(past, input_bytes, _SEVERAL)


def alike(past: Past, input_bytes: float) -> float:
    """Take the most of all runs with an input larger or smaller by a fifth."""
    close = past.amounts[_distance(past, input_bytes) <= _ALIKE]
    return float(close.max()) if len(close) > 1 else math.nan


def line(past: Past, input_bytes: float) -> float:
    """Follow a straight line through the earlier runs."""
    return _on_line(past, input_bytes, 0.0, 0.0)


def line_two_deviations(past: Past, input_bytes: float) -> float:
    """Follow the line two standard deviations above it."""
    return _on_line(past, input_bytes, 2.0, 0.0)


def line_above_all(past: Past, input_bytes: float) -> float:
    """Follow the line above every earlier run."""
    return _on_line(past, input_bytes, 0.0, 1.0)


def power(past: Past, input_bytes: float) -> float:
    """Follow a power of the input's size."""
    return _on_power(past, input_bytes, above_all=False)


def power_above_all(past: Past, input_bytes: float) -> float:
    """Follow a power of the input's size above every earlier run."""
    return _on_power(past, input_bytes, above_all=True)


def _ranks(values: Amounts) -> Amounts:
    """Give each value its place; those that are the same share the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])


def _nearest(past: Past, input_bytes: float, count: int) -> float:
    distance = _distance(past, input_bytes)
    if np.isinf(distance).all():
        return math.nan
    order = np.argsort(distance, kind="stable")[:count]
    return float(past.amounts[order].max())


def _distance(past: Past, input_bytes: float) -> Amounts:
    """Say how far the logarithms of sizes are apart; infinitely far where one is not known."""
    apart = np.abs(np.log1p(past.inputs) - math.log1p(input_bytes))
    return np.where(np.isnan(apart), np.inf, apart)


def _on_line(past: Past, input_bytes: float, deviations: float, excesses: float) -> float:
    known = ~np.isnan(past.inputs)
    fit = _fit(past.inputs[known], past.amounts[known], input_bytes)
    if fit is None:
        return math.nan
    value = fit.value + deviations * fit.deviation + excesses * fit.largest_excess
    return max(value, _LEAST_SHARE * float(past.amounts.min()))


def _on_power(past: Past, input_bytes: float, *, above_all: bool) -> float:
    known = ~np.isnan(past.inputs) & (past.amounts > 0)
    logarithms = np.log(past.amounts[known])
    fit = _fit(np.log1p(past.inputs[known]), logarithms, math.log1p(input_bytes))
    if fit is None:
        return math.nan
    value = fit.value + (fit.largest_excess if above_all else 0.0)
    return math.exp(min(value, float(logarithms.max()) + _LARGEST_GROWTH))


def _fit(sizes: Amounts, amounts: Amounts, size: float) -> Fit | None:
    if len(sizes) < _LEAST_TO_FIT:
        return None
    spread = float(sizes.var())
    if spread <= 1e-12 * float((sizes * sizes).mean()):
        return None  # all inputs are as large: there is no slope
    slope = float(((sizes - sizes.mean()) * (amounts - amounts.mean())).mean()) / spread
    base = float(amounts.mean()) - slope * float(sizes.mean())
    excess = amounts - (base + slope * sizes)
    return Fit(base + slope * size, float(excess.std()), max(float(excess.max()), 0.0))
