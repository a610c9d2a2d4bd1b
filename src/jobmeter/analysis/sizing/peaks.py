"""Predictors that look at what earlier runs used, and at nothing else."""

import numpy as np

from jobmeter.analysis.sizing.past import Past

_SHORT, _LONG = 5, 20
_HALF_LIFE_RUNS = 50
_DECAYED_SHARE = 0.9


def largest(past: Past) -> float:
    """Take the most that was ever used."""
    return float(past.amounts.max())


def largest_lately(past: Past) -> float:
    """Take the most of the last 5 runs: for jobs that changed."""
    return float(past.amounts[-_SHORT:].max())


def largest_of_late(past: Past) -> float:
    """Take the most of the last 20 runs."""
    return float(past.amounts[-_LONG:].max())


def nearly_all(past: Past) -> float:
    """Take what was enough for 95 of 100 runs."""
    return float(np.quantile(past.amounts, 0.95))


def most(past: Past) -> float:
    """Take what was enough for 80 of 100 runs."""
    return float(np.quantile(past.amounts, 0.8))


def two_deviations(past: Past) -> float:
    """Take the mean and two standard deviations."""
    return float(past.amounts.mean() + 2 * past.amounts.std())


def decaying(past: Past) -> float:
    """Take the 90th percentile with older runs counting less, as the Vertical Pod Autoscaler does."""
    amounts = past.amounts
    ages = np.arange(len(amounts) - 1, -1, -1)
    order = np.argsort(amounts, kind="stable")
    weights = np.cumsum(0.5 ** (ages[order] / _HALF_LIFE_RUNS))
    place = int(np.searchsorted(weights, _DECAYED_SHARE * weights[-1]))
    return float(amounts[order][place])
