"""The steps of a run row by row, as `jobmeter steps` prints them: of the best source, or of the one asked for."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jobmeter.errors import UsageError
from jobmeter.model.run import Run
from jobmeter.model.steps import Column, Number, Step, StepTable
from jobmeter.service import metric_lines, runs, step_summary
from jobmeter.stores import Store


@dataclass(frozen=True, slots=True)
class Listing:
    """The steps that were asked for."""

    run: Run
    metrics: tuple[str, ...]
    """By the names their source gave."""
    tables: tuple[StepTable, ...]

    def rows(self) -> Iterator[Step]:
        """Walk all tables in order; a step that has none of the metrics is passed over."""
        for table in self.tables:
            yield from (row for row in table.rows() if row.metrics)

    def last(self, limit: int) -> list[Step]:
        """Give the last of these rows without walking all."""
        found: list[Step] = []
        for table in reversed(self.tables):
            wanted = _places(table)[-(limit - len(found)) :]
            if wanted:
                cut = _from(table, wanted[0])
                found = [row for row in cut.rows() if row.metrics] + found
            if len(found) == limit:
                break
        return found

    def __len__(self) -> int:
        return sum(len(_places(table)) for table in self.tables)


def _places(table: StepTable) -> Sequence[int]:
    """Name the rows that have any metric."""
    if any(column.rows is None for column in table.columns.values()):
        return range(len(table))
    return sorted({row for column in table.columns.values() for row in column.rows or ()})


def _from(table: StepTable, begin: int) -> StepTable:
    """Leave the rows before one out."""
    columns = {}
    for name, column in table.columns.items():
        if column.rows is None:
            columns[name] = Column(None, column.values[begin:])
            continue
        first = bisect_left(column.rows, begin)
        columns[name] = Column([row - begin for row in column.rows[first:]], column.values[first:])
    moments = table.timestamps
    return replace(
        table,
        steps=table.steps[begin:],
        timestamps=None if moments is None else moments[begin:],
        columns=columns,
    )


def of_run(
    home: str, ref: str, *, metrics: Sequence[str] = (), rank: int | None = None, source: str | None = None
) -> Listing:
    """Read the steps of a run: every rank, and of each the best source unless one is named."""

    def read(store: Store, run: Run) -> Listing:
        told = step_summary.best_first(store.step_statistics(run.run_id))
        chosen = _chosen(run, told, rank=rank, source=source)
        known = {name for one in chosen for part in one.parts for name in part.metrics}
        wanted = tuple(_spelled(run, metric, known) for metric in metrics) or tuple(sorted(known))
        tables = [
            table
            for one in chosen
            for table in store.steps(
                run.run_id, sources=[one.source], ranks=[one.rank], metrics=wanted if metrics else None
            )
        ]
        return Listing(run, wanted, tuple(tables))

    return runs.ask(home, ref, read)


def last_values(home: str, ref: str) -> dict[str, Number]:
    """Read the last value of every metric by the name its source gave it; none for a run without steps."""

    def read(store: Store, run: Run) -> dict[str, Number]:
        told = step_summary.best_first(store.step_statistics(run.run_id))
        return {name: one.last for name, one in told[0].metrics().items()} if told else {}

    return runs.ask(home, ref, read)


def _chosen(
    run: Run, told: Sequence[step_summary.Told], *, rank: int | None, source: str | None
) -> list[step_summary.Told]:
    if not told:
        raise UsageError(
            f"run {run.run_id} has no steps",
            hint="log them with the SDK, or print them: jobmeter reads the output it captured",
        )
    sources = sorted({one.source for one in told})
    if source is not None and source not in sources:
        raise UsageError(
            f"run {run.run_id} has no steps from {source}", hint=f"use one of {', '.join(sources)}"
        )
    best: dict[int, step_summary.Told] = {}
    for one in told:
        if source in (None, one.source):
            best.setdefault(one.rank, one)
    if rank is not None and rank not in best:
        seen = ", ".join(map(str, sorted(best)))
        raise UsageError(f"run {run.run_id} has no steps of rank {rank}", hint=f"it has rank {seen}")
    return [best[one] for one in sorted(best) if rank in (None, one)]


def _spelled(run: Run, metric: str, known: set[str]) -> str:
    found = metric_lines.spelling(metric, known)
    if found is None:
        shown = ", ".join(sorted(known)[:12])
        raise UsageError(f"run {run.run_id} has no metric {metric}", hint=f"it has {shown}")
    return found
