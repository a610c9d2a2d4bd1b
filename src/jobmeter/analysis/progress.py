"""How a training went forward: the steps of its best source with their times, as arrays.

What a resumed loop replaced is left out, and so are steps without a clock. What can mislead: of a job of many
ranks the lowest is looked at.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis.series import Floats
from jobmeter.model import metrics
from jobmeter.model.steps import Steps, StepTable, trust

FEWEST_STEPS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """Steps with the moments they were told at, both rising."""

    rank: int
    source: str
    steps: NDArray[np.int64]
    times: Floats
    rows: NDArray[np.intp]
    """Where in the table each stands."""
    table: StepTable


def told(steps: Steps) -> Progress | None:
    """Take the best source of steps; None where none has clocks and enough of them."""
    for table in sorted(steps.tables, key=lambda one: (trust(one.source), one.rank, -len(one), one.writer)):
        found = _progress(table)
        if found is not None:
            return found
    return None


def by_rank(steps: Steps) -> list[StepTable]:
    """Give the tables of all ranks, the lowest first, of each its best source."""
    return sorted(steps.tables, key=lambda one: (one.rank, trust(one.source), -len(one), one.writer))


def latest(steps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which rows stay: those that no later one goes back to, or behind."""
    least_after = np.minimum.accumulate(steps[::-1])[::-1]
    return np.append(steps[:-1] < least_after[1:], True)


def _progress(table: StepTable) -> Progress | None:
    if table.timestamps is None or len(table) < FEWEST_STEPS:
        return None
    steps, times = np.asarray(table.steps, np.int64), np.asarray(table.timestamps, float)
    rows = np.flatnonzero(np.isfinite(times))
    if len(rows) < FEWEST_STEPS:
        return None
    if (np.diff(steps[rows]) <= 0).any():
        rows = rows[latest(steps[rows])]
    # logs that were written at once have one time for many steps
    if (np.diff(times[rows]) <= 0).any():
        rows = rows[np.append(True, np.diff(np.maximum.accumulate(times[rows])) > 0)]
    if len(rows) < FEWEST_STEPS:
        return None
    return Progress(table.rank, table.source, steps[rows], times[rows], rows, table)


def column(found: Progress, quantity: str) -> tuple[str, Floats, Floats] | None:
    """Give name, times and values, in base units, of the metric that is a quantity."""
    name = metrics.pick(sorted(found.table.columns), quantity)
    if name is None:
        return None
    column_of = found.table.columns[name]
    rows = np.arange(len(found.table)) if column_of.rows is None else np.asarray(column_of.rows, np.intp)
    values = np.asarray(column_of.values, float) * metrics.in_base_units(name, 1.0)
    is_kept = np.zeros(len(found.table), np.bool_)
    is_kept[found.rows] = True
    kept = is_kept[rows] & np.isfinite(values)
    return name, np.asarray(found.table.timestamps, float)[rows[kept]], values[kept]
