"""The loss grew far above where it had begun and did not come back; asked only where nothing else failed."""

from math import isinf

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis.verdict import facts
from jobmeter.model import metrics
from jobmeter.model.report import Cause, Evidence, Verdict
from jobmeter.model.steps import Column, StepTable
from jobmeter.model.view import RunView

_FEWEST = 10
_SHARE = 10
_ABOVE_START = 2.0
_ABOVE_BEST = 5.0


def judge(view: RunView) -> Verdict | None:
    """Say that the loss diverged."""
    for table in view.steps.tables:
        for name in table.columns:
            if metrics.canonical(name) == metrics.LOSS and (found := _divergence(table, name)) is not None:
                start, best, last = found
                evidence = Evidence(
                    sentence=f"{name} ends at {last:.4g}", source=table.source, value=last, rank=table.rank
                )
                return facts.verdict(
                    Cause.DIVERGED,
                    f"{name} diverged: it began at {start:.4g}, was {best:.4g} at best and ended at {last:.4g}",
                    0.8,
                    evidence,
                    *facts.endings(view.run),
                )
    return None


def _divergence(table: StepTable, name: str) -> tuple[float, float, float] | None:
    values = _told(table, table.columns[name])
    if len(values) < _FEWEST:
        return None
    size = max(len(values) // _SHARE, 3)
    start, last = float(np.median(values[:size])), float(np.median(values[-size:]))
    best = min(float(np.median(values[at : at + size])) for at in range(0, len(values) - size + 1, size))
    is_far = last > _ABOVE_START * start and last > _ABOVE_BEST * best
    return (start, best, last) if start > 0 and best > 0 and (is_far or isinf(last)) else None


def _told(table: StepTable, column: Column) -> NDArray[np.float64]:
    """Give the numbers of a metric, without those that a resumed loop told again."""
    values = np.asarray(column.values, dtype=np.float64)
    steps = np.asarray(table.steps)
    # the least step that still follows: a row that is not below it was taken again
    following = np.minimum.accumulate(steps[::-1])[::-1]
    kept = np.append(steps[:-1] < following[1:], True)
    kept = kept if column.rows is None else kept[np.asarray(column.rows)]
    return values[kept & ~np.isnan(values)]
