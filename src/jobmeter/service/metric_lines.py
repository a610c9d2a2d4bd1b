"""One metric over the steps of a run, as a chart or a comparison wants it.

Writers of one rank that followed one another are one line: a loop that resumed replaces what it repeats. Two
that wrote at the same time (a fork) are not each other's continuation: the one that told more is taken.
"""

from collections.abc import Sequence
from itertools import chain, pairwise
from math import isfinite, isnan
from typing import TypeVar

from jobmeter.errors import UsageError
from jobmeter.model import metrics
from jobmeter.model.run import Run
from jobmeter.model.steps import Number, StepSeries, StepTable, latest
from jobmeter.service import step_summary
from jobmeter.stores import StepStatistics, Store

Item = TypeVar("Item")

_CANDIDATES = 8
_KEPT_PER_STRETCH = 3


def read(
    store: Store, run: Run, metric: str, *, rank: int | None, source: str | None, points: int
) -> StepSeries:
    """Read a metric by its own name or by the quantity it is; of several sources the best."""
    told = [
        one
        for one in step_summary.best_first(store.step_statistics(run.run_id))
        if rank in (None, one.rank) and source in (None, one.source)
    ]
    for one in told:
        spelled = spelling(metric, {name for part in one.parts for name in part.metrics})
        if spelled is not None:
            found = store.steps(run.run_id, sources=[one.source], ranks=[one.rank], metrics=[spelled])
            line = _line(followed(found, one.parts), spelled)
            return thin(line, points)
    known = sorted({name for one in told for part in one.parts for name in part.metrics})
    shown = ", ".join(known[:_CANDIDATES]) + (", ..." if len(known) > _CANDIDATES else "")
    whose = "" if rank is None else f" of rank {rank}"
    hint = f"it has {shown}" if known else f"see `jobmeter show {run.run_id}`"
    raise UsageError(f"run {run.run_id} has no metric {metric}{whose}", hint=hint)


def spelling(metric: str, names: set[str]) -> str | None:
    """Find how a source spells a metric: as asked, or as another name of the same quantity."""
    if metric in names:
        return metric
    return next((name for name in sorted(names) if metrics.canonical(name) == metric), None)


def followed(found: Sequence[StepTable], parts: Sequence[StepStatistics]) -> list[StepTable]:
    """Order writers by when they began; one that began before another ended stands alone."""
    tables = {table.writer: table for table in found}
    ordered = [part for part in parts if part.writer in tables]
    follow = all(
        before.pace.t1 is not None and after.pace.t0 is not None and before.pace.t1 <= after.pace.t0
        for before, after in pairwise(ordered)
    )
    if follow:
        return [tables[part.writer] for part in ordered]
    return [tables[max(ordered, key=lambda part: part.count).writer]]


def _line(tables: Sequence[StepTable], metric: str) -> StepSeries:
    steps: list[int] = []
    values: list[Number] = []
    moments: list[float | None] = []
    for table in tables:
        column = table.columns.get(metric)
        if column is None:
            continue
        places = range(len(table)) if column.rows is None else column.rows
        steps += map(table.steps.__getitem__, places)
        values += column.values
        timestamps = table.timestamps
        moments += map(timestamps.__getitem__, places) if timestamps else (None for _ in places)
    kept = latest(steps)
    if len(kept) < len(steps):
        steps, values, moments = _only(kept, steps), _only(kept, values), _only(kept, moments)
    return StepSeries(
        metric=metric,
        source=tables[0].source,
        rank=tables[0].rank,
        steps=tuple(steps),
        values=tuple(values),
        timestamps=tuple(None if moment is None or isnan(moment) else moment for moment in moments)
        if any(moment is not None for moment in moments)
        else None,
    )


def _only(places: Sequence[int], items: Sequence[Item]) -> list[Item]:
    return [items[place] for place in places]


def thin(line: StepSeries, points: int) -> StepSeries:
    """Keep at most `points`: in every stretch of steps its least, its largest and the first that is neither."""
    most = max(points, 2 + _KEPT_PER_STRETCH)
    if len(line.steps) <= most:
        return line
    stretches = (most - 2) // _KEPT_PER_STRETCH
    count = len(line.steps)
    edges = [count * number // stretches for number in range(stretches + 1)]
    inside = (_extremes(line.values, begin, end) for begin, end in pairwise(edges))
    kept = sorted({0, count - 1, *chain.from_iterable(inside)})
    moments = line.timestamps
    return StepSeries(
        metric=line.metric,
        source=line.source,
        rank=line.rank,
        steps=tuple(line.steps[place] for place in kept),
        values=tuple(line.values[place] for place in kept),
        timestamps=None if moments is None else tuple(moments[place] for place in kept),
    )


def _extremes(values: Sequence[Number], begin: int, end: int) -> list[int]:
    stretch = values[begin:end]
    odd = next((place for place, value in enumerate(stretch, begin) if not _is_finite(value)), None)
    if odd is None:
        return [begin + stretch.index(min(stretch)), begin + stretch.index(max(stretch))]
    finite = [place for place, value in enumerate(stretch, begin) if _is_finite(value)]
    extremes = [min(finite, key=values.__getitem__), max(finite, key=values.__getitem__)] if finite else []
    return [odd, *extremes]


def _is_finite(value: Number) -> bool:
    return isinstance(value, int) or isfinite(value)
