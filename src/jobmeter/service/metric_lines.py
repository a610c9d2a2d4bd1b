"""One metric over the steps of a run, as a chart or a comparison wants it.

Writers of one rank that followed one another are one line: a loop that resumed replaces what it repeats. Two
that wrote at the same time (a fork) are not each other's continuation: the one that told more is taken.
"""

from array import array
from collections.abc import Sequence
from itertools import pairwise
from math import isnan, nan

from jobmeter.errors import UsageError
from jobmeter.model import metrics
from jobmeter.model.run import Run
from jobmeter.model.steps import Column, Number, StepSeries, StepTable, latest, packed
from jobmeter.service import step_summary, step_thinning
from jobmeter.stores import StepStatistics, Store, arrays, stepcolumns

_CANDIDATES = 8


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
            return _line(followed(found, one.parts), spelled, points)
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


def _line(tables: Sequence[StepTable], metric: str, points: int) -> StepSeries:
    """Join what followed one another, and keep at most so many points of what no later row replaced."""
    columns = [(table, table.columns[metric]) for table in tables if metric in table.columns]
    steps = stepcolumns.whole(arrays.join(_taken(table.steps, column.rows) for table, column in columns))
    values = arrays.join(column.values for _, column in columns)
    moments = _moments(columns)
    lasting = latest(steps)
    if len(lasting) < len(steps):
        steps, values = stepcolumns.whole(_taken(steps, lasting)), _taken(values, lasting)
        moments = None if moments is None else _taken(moments, lasting)
    kept = step_thinning.places(values, points)
    return StepSeries(
        metric=metric,
        source=tables[0].source,
        rank=tables[0].rank,
        steps=tuple(steps[place] for place in kept),
        values=tuple(values[place] for place in kept),
        timestamps=None
        if moments is None
        else tuple(None if isnan(moments[place]) else moments[place] for place in kept),
    )


def _moments(columns: Sequence[tuple[StepTable, Column]]) -> Sequence[float] | None:
    """Gather when steps were logged, NaN where nobody says; None where nobody ever does."""
    if all(table.timestamps is None for table, _ in columns):
        return None
    return arrays.join(
        packed([nan] * len(column.values))
        if table.timestamps is None
        else _taken(table.timestamps, column.rows)
        for table, column in columns
    )


def _taken(values: Sequence[Number], places: Sequence[int] | None) -> Sequence[Number]:
    """Take some of a column, as machine words where it is held so; None is every place."""
    if places is None:
        return values
    taken = map(values.__getitem__, places)
    return array(values.typecode, taken) if isinstance(values, array) else list(taken)
