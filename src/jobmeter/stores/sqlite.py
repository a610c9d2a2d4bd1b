"""The index in one SQLite file: write-ahead log, one writer at a time, readers never wait.

The file must lie on a local disk: WAL does not work on network file systems. Only the writer checkpoints,
because a reader that does so at the same time is how databases of older SQLite versions were corrupted.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path

import apsw
import msgspec

from jobmeter.errors import StoreError
from jobmeter.model.query import Facet, RunPage, RunQuery, Total
from jobmeter.model.run import Run, Status, Value
from jobmeter.model.steps import StepTable
from jobmeter.model.stretches import StepClock, StepStretches, Stretches
from jobmeter.model.view import Event, Process, Series, Window
from jobmeter.stores import (
    MOST_FACETS,
    Batch,
    BusyError,
    DamagedError,
    Position,
    Ranks,
    Statistics,
    StepStatistics,
    StoredReport,
    coarse,
    codec,
    columns,
    documents,
    files,
    lines,
    listed,
    lists,
    migrate,
    packing,
    paging,
    points,
    rows,
    seen,
    sqlite_points,
    sqlite_steps,
    statements,
    stepchunks,
    stepcolumns,
)

_CHECKPOINT_PAGES = 1000
_WRONG_TYPE = (msgspec.ValidationError, UnicodeDecodeError)
"""A flipped bit can make a number of a text, or end a text early."""
_OPERATION = (
    apsw.CantOpenError,
    apsw.FullError,
    apsw.IOError,
    apsw.NoMemError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
)
_DAMAGED_PAGE = (apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS)
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.MismatchError, apsw.FormatError)


_Size = int | None
_Text = str | None
_ProcessRow = tuple[
    str, int, float, float, _Text, float | None, _Size, _Size, _Size, int | None, _Text, int | None
]


class SqliteStore:
    """An open index; see `Store` for what each method promises."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._packer = packing.Packer()
        with self._guard():
            self._connection = files.connect(path)
        self._newer = migrate.is_newer(self._connection)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Say in the store's own words what SQLite, or a document in it, complains of."""
        try:
            yield
        except (apsw.BusyError, apsw.LockedError) as error:
            raise BusyError(f"the index {self._path} is locked by another process") from error
        except _DAMAGE as error:
            if getattr(self, "_newer", False):
                raise StoreError(f"the index {self._path} is of a newer jobmeter: {error}") from error
            raise DamagedError(f"the index {self._path} is damaged: {error}") from error
        except (codec.DamagedBlobError, documents.DamagedDocumentError, *_WRONG_TYPE) as error:
            raise DamagedError(f"the index {self._path} is damaged: {error}") from error
        except (*_OPERATION, OSError) as error:
            if getattr(error, "extendedresult", 0) in _DAMAGED_PAGE:
                raise DamagedError(f"the index {self._path} is damaged: {error}") from error
            raise StoreError(f"the index {self._path} cannot be used: {error}") from error

    @contextmanager
    def writing(self, wait_seconds: float) -> Iterator[None]:
        migrate.require_known(self._connection, str(self._path))
        lock = files.lock(self._path.with_suffix(".lock"), wait_seconds)
        try:
            # those who lock the file without asking for the writer's lock are waited for just as long
            self._connection.set_busy_timeout(round(wait_seconds * 1000))
            self._connection.wal_autocheckpoint(_CHECKPOINT_PAGES)
            yield
            self._checkpoint()
        finally:
            self._connection.wal_autocheckpoint(0)
            self._connection.set_busy_timeout(files.BUSY_MS)
            os.close(lock)

    def _checkpoint(self) -> None:
        """Move the log into the database and empty it, unless somebody is reading from it.

        A tool without page checksums that finds a log would move it itself, and leave pages behind that
        look damaged.
        """
        self._connection.set_busy_timeout(0)
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return  # the next writer will find the log again

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._guard():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _select(self, sql: str, bindings: Sequence[rows.Bound], kind: type[rows.Rows]) -> rows.Rows:
        return rows.select(self._connection, sql, bindings, kind)

    def _points(self, run_id: str) -> sqlite_points.SqlitePoints:
        return sqlite_points.SqlitePoints(self._connection, run_id)

    def _steps(self, run_id: str) -> sqlite_steps.SqliteSteps:
        return sqlite_steps.SqliteSteps(self._connection, run_id)

    def append(self, batch: Batch) -> bool:
        run_id = batch.run.run_id
        with self._transaction():
            known = self._positions(run_id)
            if any(known.get(file, Position(0)) != since for file, since in batch.since.items()):
                return False
            self._put_run(batch)
            self._add_events(run_id, batch.events)
            job, instances = columns.split(batch.windows)
            self._add_processes(batch.run, instances)
            points.PointWriter(self._points(run_id), coarse.counters(batch.run)).add(
                job, instances, final=batch.final
            )
            steps = stepcolumns.streams(batch.steps)
            stepchunks.StepWriter(self._steps(run_id), self._packer).add(steps, final=batch.final)
            self._connection.executemany(
                statements.SOURCE_PUT,
                [(run_id, file, at.offset, at.bad_lines, at.state) for file, at in batch.until.items()],
            )
        return True

    def _add_points(self, batch: Batch, job: list[Window], instances: list[Window]) -> None:
        counters = coarse.counters(batch.run)
        writer = points.PointWriter(self._points(batch.run.run_id), counters, self._packer)
        writer.add(job, instances, final=batch.final)

    def _put_run(self, batch: Batch) -> None:
        run, known = batch.run, paging.tidied(batch.fields)
        brief, fields = documents.encode_brief(run), documents.encode(known)
        texts = (documents.clean(run.run_id), documents.clean(run.job_id), run.status.value)
        detail, job_key = documents.encode_detail(run), documents.clean(batch.job_key)
        row = (*texts, run.started_at, batch.final, fields, brief, detail, job_key)
        self._connection.execute(statements.RUN_PUT, row)
        listed.put(self._connection, batch, known)

    def _add_events(self, run_id: str, events: Collection[Event]) -> None:
        if not events:
            return
        ((last,),) = self._select(statements.EVENT_LAST, (run_id,), list[tuple[int]])
        added = [
            (run_id, last + number, event.timestamp, documents.clean(event.type), documents.encode(event))
            for number, event in enumerate(events, 1)
        ]
        self._connection.executemany(statements.EVENT_ADD, added)

    def _add_processes(self, run: Run, windows: Sequence[Window]) -> None:
        found = seen.fold(windows, seen.counted_tool(run, windows))
        added = [(run.run_id, name, seen.pid_of(name), *astuple(row)) for name, row in found.items()]
        self._connection.executemany(statements.PROCESS_ADD, added)

    def forget(self, run_id: str) -> None:
        with self._transaction():
            for statement in statements.FORGET:
                self._connection.execute(statement, (run_id,))

    def run_ids(self) -> set[str]:
        with self._guard():
            return {run_id for (run_id,) in self._select(statements.RUN_IDS, (), list[tuple[str]])}

    def unfinished(self) -> dict[str, Status]:
        with self._guard():
            return dict(self._select(statements.RUN_UNFINISHED, (), list[tuple[str, Status]]))

    def positions(self, run_id: str) -> dict[str, Position]:
        with self._guard():
            return self._positions(run_id)

    def _positions(self, run_id: str) -> dict[str, Position]:
        found = self._select(statements.SOURCE_READ, (run_id,), list[tuple[str, int, int, str]])
        return {file: Position(offset, bad_lines, state) for file, offset, bad_lines, state in found}

    def set_position(self, name: str, file: str, position: Position) -> None:
        with self._transaction():
            self._connection.execute(statements.SOURCE_PUT, (name, file, *astuple(position)))

    def briefs(self, *, limit: int | None = None) -> list[Run]:
        with self._guard():
            found = self._select(statements.RUN_BRIEFS, (-1 if limit is None else limit,), list[tuple[bytes]])
            return [documents.decode_brief(brief) for (brief,) in found]

    def page(self, query: RunQuery) -> RunPage:
        with self._guard(), self._snapshot():
            return lists.Lists(listed.SqliteAsker(self._connection)).page(query)

    def count(self, query: RunQuery) -> int:
        with self._guard():
            return lists.Lists(listed.SqliteAsker(self._connection)).count(query)

    def facets(
        self, query: RunQuery, names: Collection[str], *, least: int = 1, most: int | None = MOST_FACETS
    ) -> dict[str, list[Facet]]:
        with self._guard(), self._snapshot():
            return lists.Lists(listed.SqliteAsker(self._connection)).facets(
                query, names, least=least, most=most
            )

    def totals(self, query: RunQuery, names: Collection[str]) -> dict[str, Total]:
        with self._guard():
            return lists.Lists(listed.SqliteAsker(self._connection)).totals(query, names)

    def values(self, query: RunQuery, names: Sequence[str]) -> list[tuple[object, ...]]:
        with self._guard(), self._snapshot():
            return lists.Lists(listed.SqliteAsker(self._connection)).values(query, names)

    def fields(self) -> Iterator[tuple[str, dict[str, object]]]:
        with self._guard():
            found = self._select(statements.RUN_FIELDS, (), list[tuple[str, bytes, str | None]])
            for run_id, fields, cause in found:
                known = documents.decode_mapping(fields)
                yield run_id, known if cause is None else known | {"cause": cause}

    def summaries(self) -> dict[str, dict[str, Value]]:
        with self._guard():
            found = self._select(statements.RUN_SUMMARIES, (), list[tuple[str, bytes]])
            return {run_id: documents.decode_summary(brief) for run_id, brief in found}

    def brief(self, run_id: str) -> Run | None:
        with self._guard():
            found = self._select(statements.RUN_ONE, (run_id,), list[tuple[bytes, bytes]])
            return documents.decode_brief(found[0][0]) if found else None

    def run(self, run_id: str) -> Run | None:
        with self._guard():
            found = self._select(statements.RUN_ONE, (run_id,), list[tuple[bytes, bytes]])
            if not found:
                return None
            brief, detail = found[0]
            return documents.join(documents.decode_brief(brief), documents.decode_detail(detail))

    def with_prefix(self, prefix: str, limit: int) -> list[str]:
        with self._guard():
            found = self._select(statements.RUN_PREFIX, (documents.clean(prefix), limit), list[tuple[str]])
            return [run_id for (run_id,) in found]

    def of_job(self, job_id: str) -> list[str]:
        with self._guard():
            found = self._select(statements.RUN_OF_JOB, (documents.clean(job_id),), list[tuple[str]])
            return [run_id for (run_id,) in found]

    def of_key(self, job_key: str, limit: int | None = None) -> list[str]:
        with self._guard():
            found = self._select(statements.RUN_OF_KEY, (documents.clean(job_key), limit), list[tuple[str]])
            return [run_id for (run_id,) in found]

    def series(
        self,
        run_id: str,
        keys: Collection[str] | None = None,
        *,
        counters: Collection[str] = (),
        between: tuple[float, float] | None = None,
    ) -> list[Series]:
        with self._guard(), self._snapshot():
            reader = points.PointReader(self._points(run_id))
            return reader.series(keys, counters, between or points.EVERYTHING)

    def stretches(
        self,
        run_id: str,
        keys: Collection[str] | None = None,
        *,
        points: int,
        counters: Collection[str] = (),
        between: tuple[float, float] | None = None,
    ) -> list[Stretches]:
        with self._guard(), self._snapshot():
            return lines.Lines(self._points(run_id), counters, between).read(keys, points)

    def statistics(self, run_id: str) -> dict[tuple[str, str], Statistics]:
        with self._guard(), self._snapshot():
            return points.PointReader(self._points(run_id)).statistics()

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Hold one moment over several statements: points move from tail to chunks while one reads."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")

    def steps(
        self,
        run_id: str,
        *,
        sources: Collection[str] | None = None,
        ranks: Collection[int] | None = None,
        metrics: Collection[str] | None = None,
        between: tuple[int, int] | None = None,
    ) -> list[StepTable]:
        with self._guard(), self._snapshot():
            reader = stepchunks.StepReader(self._steps(run_id))
            return reader.tables(sources, ranks, metrics, between)

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
        with self._guard(), self._snapshot():
            return lines.StepLines(self._steps(run_id), points).read(metrics, sources, ranks, between)

    def step_clocks(self, run_id: str, *, points: int) -> list[StepClock]:
        with self._guard(), self._snapshot():
            return lines.StepLines(self._steps(run_id), points).clocks()

    def step_statistics(self, run_id: str) -> list[StepStatistics]:
        with self._guard(), self._snapshot():
            return stepchunks.StepReader(self._steps(run_id)).statistics()

    def events(self, run_id: str) -> list[Event]:
        with self._guard():
            found = self._select(statements.EVENT_READ, (run_id,), list[tuple[bytes]])
            return [documents.decode_event(document) for (document,) in found]

    def processes(self, run_id: str) -> list[Process]:
        with self._guard():
            found = self._select(statements.PROCESS_READ, (run_id,), list[_ProcessRow])
            return seen.rows({row[0]: seen.Seen(*row[1:]) for row in found})

    def ranks(self, run_id: str) -> Ranks:
        with self._guard():
            return seen.ranks(self._select(statements.PROCESS_RANKS, (run_id,), list[tuple[int, int | None]]))

    def report(self, run_id: str) -> StoredReport | None:
        with self._guard():
            kind = list[tuple[str, str, bytes, str]]
            for rules, inputs, document, cause in self._select(statements.REPORT_READ, (run_id,), kind):
                return StoredReport(rules=rules, inputs=inputs, document=document, cause=cause)
            return None

    def put_report(self, run_id: str, report: StoredReport) -> None:
        with self._transaction():
            row = (run_id, report.rules, report.inputs, report.document, documents.clean(report.cause))
            self._connection.execute(statements.REPORT_PUT, row)
            listed.put_cause(self._connection, run_id, report.cause)

    def close(self) -> None:
        self._connection.close()


def open_store(where: Path | str) -> SqliteStore:
    """Open the index at a path, created or brought up to date when needed."""
    return SqliteStore(Path(where))
