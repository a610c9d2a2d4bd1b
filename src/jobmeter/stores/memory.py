"""The index as plain Python objects: what every other back end must agree with, and easy to read."""

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.model.query import Facet, RunPage, RunQuery, Total
from jobmeter.model.run import Run, Status, Value
from jobmeter.model.steps import Step, StepTable, packed
from jobmeter.model.stretches import StepClock, StepStretches, Stretches
from jobmeter.model.view import Event, Process, Series, Window
from jobmeter.stores import (
    MOST_FACETS,
    PROCESS_WINDOWS,
    Batch,
    Position,
    Ranks,
    Statistics,
    StepStatistics,
    StoredReport,
    coarse,
    columns,
    paging,
    seen,
    stepcolumns,
)


@dataclass(slots=True)
class _Entry:
    run: Run
    final: bool
    fields: dict[str, object]
    job_key: str = ""
    windows: list[Window] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    steps: dict[stepcolumns.Stream, list[Step]] = field(default_factory=dict)


class MemoryStore:
    """Everything in dictionaries; series are made anew for every question."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._positions: dict[str, dict[str, Position]] = {}
        self._reports: dict[str, StoredReport] = {}

    def writing(self, wait_seconds: float) -> AbstractContextManager[None]:
        del wait_seconds  # nobody else can see this store
        return nullcontext()

    def append(self, batch: Batch) -> bool:
        run_id = batch.run.run_id
        known = self._positions.get(run_id, {})
        if any(known.get(file, Position(0)) != since for file, since in batch.since.items()):
            return False
        entry = self._entries.setdefault(run_id, _Entry(batch.run, batch.final, {}))
        entry.run, entry.final, entry.fields = batch.run, batch.final, paging.tidied(batch.fields)
        entry.job_key = batch.job_key
        entry.windows += map(columns.cleaned, batch.windows)
        entry.events += batch.events
        for stream, steps in stepcolumns.streams(batch.steps).items():
            entry.steps.setdefault(stream, []).extend(steps)
        self._positions[run_id] = {**known, **batch.until}
        return True

    def forget(self, run_id: str) -> None:
        self._entries.pop(run_id, None)
        self._positions.pop(run_id, None)
        self._reports.pop(run_id, None)

    def run_ids(self) -> set[str]:
        return set(self._entries)

    def unfinished(self) -> dict[str, Status]:
        return {
            run_id: entry.run.status for run_id, entry in sorted(self._entries.items()) if not entry.final
        }

    def positions(self, run_id: str) -> dict[str, Position]:
        return dict(self._positions.get(run_id, {}))

    def set_position(self, name: str, file: str, position: Position) -> None:
        self._positions.setdefault(name, {})[file] = position

    def briefs(self, *, limit: int | None = None) -> list[Run]:
        return [_brief(entry.run) for entry in self._newest()[:limit]]

    def page(self, query: RunQuery) -> RunPage:
        found = paging.page(self._rows(), query)
        runs = [_brief(self._entries[run_id].run) for run_id in found.ids]
        return RunPage(runs=runs, next=found.next, total=found.total)

    def count(self, query: RunQuery) -> int:
        return len(list(paging.matching(self._rows(), query)))

    def facets(
        self, query: RunQuery, names: Collection[str], *, least: int = 1, most: int | None = MOST_FACETS
    ) -> dict[str, list[Facet]]:
        return paging.facets(paging.matching(self._rows(), query), names, least=least, most=most)

    def totals(self, query: RunQuery, names: Collection[str]) -> dict[str, Total]:
        return paging.totals(paging.matching(self._rows(), query), names)

    def values(self, query: RunQuery, names: Sequence[str]) -> list[tuple[object, ...]]:
        known = {row.run_id: row.known for row in self._rows()}
        return [
            tuple(known[run_id].get(name) for name in names)
            for run_id in paging.page(self._rows(), query).ids
        ]

    def _rows(self) -> list[paging.Row]:
        """Show every run as questions see it, newest first."""
        return [
            paging.row(
                entry.run.run_id,
                entry.run.started_at,
                paging.of_tools(entry.run.summary) | self._fields(entry.run.run_id),
            )
            for entry in self._newest()
        ]

    def _fields(self, run_id: str) -> dict[str, object]:
        report = self._reports.get(run_id)
        cause = {"cause": report.cause} if report is not None and report.cause else {}
        return {**self._entries[run_id].fields, **cause}

    def fields(self) -> Iterator[tuple[str, dict[str, object]]]:
        for row in self._rows():
            yield row.run_id, self._fields(row.run_id)

    def summaries(self) -> dict[str, dict[str, Value]]:
        return {run_id: dict(entry.run.summary) for run_id, entry in self._entries.items()}

    def brief(self, run_id: str) -> Run | None:
        entry = self._entries.get(run_id)
        return None if entry is None else _brief(entry.run)

    def run(self, run_id: str) -> Run | None:
        entry = self._entries.get(run_id)
        return None if entry is None else entry.run

    def with_prefix(self, prefix: str, limit: int) -> list[str]:
        found = [entry.run.run_id for entry in self._newest() if entry.run.run_id.startswith(prefix)]
        return found[:limit]

    def of_job(self, job_id: str) -> list[str]:
        return [entry.run.run_id for entry in self._newest() if entry.run.job_id == job_id]

    def of_key(self, job_key: str, limit: int | None = None) -> list[str]:
        found = [entry.run.run_id for entry in self._newest() if job_key and entry.job_key == job_key]
        return found[:limit]

    def _newest(self) -> list[_Entry]:
        def age(entry: _Entry) -> tuple[float, str]:
            started = entry.run.started_at
            return (float("-inf") if started is None else started, entry.run.run_id)

        return sorted(self._entries.values(), key=age, reverse=True)

    def series(
        self,
        run_id: str,
        keys: Collection[str] | None = None,
        *,
        counters: Collection[str] = (),
        between: tuple[float, float] | None = None,
    ) -> list[Series]:
        entry = self._entries.get(run_id)
        windows = [] if entry is None else [w for w in entry.windows if _inside(w.timestamp, between)]
        return [
            self._series(windows, column, spans=column.name[0] in counters)
            for column in self._columns(run_id, windows)
            if keys is None or column.name[0] in keys
        ]

    def stretches(
        self,
        run_id: str,
        keys: Collection[str] | None = None,
        *,
        points: int,
        counters: Collection[str] = (),
        between: tuple[float, float] | None = None,
    ) -> list[Stretches]:
        return [
            coarse.stretches((series.key, series.instance), coarse.pieces(series, points))
            for series in self.series(run_id, keys, counters=counters, between=between)
        ]

    def _series(self, windows: list[Window], column: columns.Column, *, spans: bool) -> Series:
        key, instance = column.name
        covered = columns.spans(windows, columns.source_of(key), column.places) if spans else None
        return Series(
            key=key,
            instance=instance,
            times=columns.rising(columns.times(windows, column.places)),
            values=packed(column.values),
            spans=None if covered is None else packed(covered),
        )

    def _columns(self, run_id: str, windows: list[Window]) -> list[columns.Column]:
        """Leave out processes that were hardly seen: those are rows."""
        hardly = {name for name, row in self._seen(run_id).items() if row.windows < PROCESS_WINDOWS}
        return [column for column in columns.columns(windows) if column.name[1] not in hardly]

    def statistics(self, run_id: str) -> dict[tuple[str, str], Statistics]:
        entry = self._entries.get(run_id)
        found = [] if entry is None else self._columns(run_id, entry.windows)
        return {column.name: columns.statistics(column.values) for column in found}

    def steps(
        self,
        run_id: str,
        *,
        sources: Collection[str] | None = None,
        ranks: Collection[int] | None = None,
        metrics: Collection[str] | None = None,
        between: tuple[int, int] | None = None,
    ) -> list[StepTable]:
        tables = [
            table
            for table in self._step_tables(run_id)
            if (sources is None or table.source in sources) and (ranks is None or table.rank in ranks)
        ]
        if metrics is not None:
            tables = [stepcolumns.only(table, metrics) for table in tables]
        if between is not None:
            tables = [stepcolumns.between_steps(table, *between) for table in tables]
        return [table for table in tables if len(table)]

    def step_stretches(
        self,
        run_id: str,
        metrics: Collection[str],
        *,
        points: int,
        sources: Collection[str] | None = None,
        ranks: Collection[int] | None = None,
        between: tuple[int, int] | None = None,
    ) -> list[StepStretches]:
        tables = self.steps(run_id, sources=sources, ranks=ranks, metrics=metrics, between=between)
        return [
            coarse.step_stretches(table, metric, points)
            for table in tables
            for metric in sorted(table.columns)
        ]

    def step_clocks(self, run_id: str, *, points: int) -> list[StepClock]:
        return coarse.clocks(self._step_tables(run_id), points)

    def step_statistics(self, run_id: str) -> list[StepStatistics]:
        return [stepcolumns.summary(table) for table in self._step_tables(run_id)]

    def _step_tables(self, run_id: str) -> list[StepTable]:
        entry = self._entries.get(run_id)
        known = {} if entry is None else entry.steps
        return [stepcolumns.table(stream, known[stream]) for stream in sorted(known, key=stepcolumns.placing)]

    def events(self, run_id: str) -> list[Event]:
        entry = self._entries.get(run_id)
        return [] if entry is None else list(entry.events)

    def processes(self, run_id: str) -> list[Process]:
        return seen.rows(self._seen(run_id))

    def ranks(self, run_id: str) -> Ranks:
        found = self._seen(run_id).values()
        return seen.ranks((one.rank, one.world_size) for one in found if one.rank is not None)

    def _seen(self, run_id: str) -> dict[str, seen.Seen]:
        entry = self._entries.get(run_id)
        if entry is None:
            return {}
        return seen.fold(entry.windows, seen.counted_tool(entry.run, entry.windows))

    def report(self, run_id: str) -> StoredReport | None:
        return self._reports.get(run_id)

    def put_report(self, run_id: str, report: StoredReport) -> None:
        self._reports[run_id] = report

    def close(self) -> None:
        self._entries.clear()
        self._positions.clear()
        self._reports.clear()


def open_store(where: Path | str) -> MemoryStore:
    """Make an empty index; it is gone when the process ends."""
    del where
    return MemoryStore()


def _brief(run: Run) -> Run:
    return dataclasses.replace(run, definitions={}, context={})


def _inside(timestamp: float, between: tuple[float, float] | None) -> bool:
    return between is None or between[0] <= timestamp <= between[1]
