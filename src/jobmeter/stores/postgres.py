"""The index in a PostgreSQL database: many servers write at once, each its own home's runs, all read everything.

A batch is one transaction under an advisory lock of its run, so that rows and the offsets that brought them are
committed together or not at all, whoever else tries. What can mislead: `run_ids` and `unfinished` name the runs of
this home, because only those folders can be looked at from here; all else speaks of every home's.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from jobmeter.model.query import Facet, RunPage, RunQuery, Total
from jobmeter.model.run import Run, Status, Value
from jobmeter.model.steps import StepTable
from jobmeter.model.stretches import StepClock, StepStretches, Stretches
from jobmeter.model.view import Event, Process, Series
from jobmeter.stores import (
    MOST_FACETS,
    Batch,
    BusyError,
    Position,
    Ranks,
    Statistics,
    StepStatistics,
    StoredReport,
    documents,
    lines,
    lists,
    packing,
    points,
    postgres_link,
    postgres_listed,
    postgres_migrate,
    postgres_points,
    postgres_runs,
    postgres_steps,
    seen,
    stepchunks,
)
from jobmeter.stores.postgres_link import Connection, Session

_WRITERS = 0x6A6F626E
"""Advisory locks of this class are of homes whose runs are being indexed."""
_CLAIM = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
_RELEASE = "SELECT pg_advisory_unlock(%s, hashtext(%s))"
_RUN_NO = "SELECT run_no FROM run WHERE run_id = %s"
_RUN_IDS = """SELECT run_id FROM run WHERE origin = %(origin)s
    UNION ALL SELECT run_id FROM copy WHERE origin = %(origin)s"""
_RUN_UNFINISHED = "SELECT run_id, status FROM run WHERE NOT final AND origin = %s ORDER BY run_id"
_RUN_BRIEFS = "SELECT brief FROM run ORDER BY started_at DESC NULLS LAST, run_id DESC LIMIT %s"
_RUN_FIELDS = """SELECT run.run_id, run.fields, listed.cause FROM run JOIN listed USING (run_id)
    ORDER BY run.started_at DESC NULLS LAST, run.run_id DESC"""
_RUN_SUMMARIES = "SELECT run_id, brief FROM run"
_RUN_BRIEF = "SELECT brief FROM run WHERE run_id = %s"
_RUN_ONE = "SELECT brief, detail FROM run WHERE run_id = %s"
_RUN_PREFIX = """SELECT run_id FROM run WHERE starts_with(run_id, %s)
    ORDER BY started_at DESC NULLS LAST, run_id DESC LIMIT %s"""
_RUN_OF_JOB = "SELECT run_id FROM run WHERE job_id = %s ORDER BY started_at DESC NULLS LAST, run_id DESC"
_RUN_OF_KEY = """SELECT run_id FROM run WHERE job_key = %s AND job_key <> ''
    ORDER BY started_at DESC NULLS LAST, run_id DESC LIMIT %s::bigint"""
_EVENT_READ = "SELECT document FROM event WHERE run_no = %s ORDER BY sequence"
_PROCESS_READ = """SELECT instance, windows, first_seen, last_seen, command, cpu_seconds, peak_rss_bytes,
        read_bytes, write_bytes, rank, role, world_size
    FROM process WHERE run_no = %s"""
_PROCESS_RANKS = "SELECT DISTINCT rank, world_size FROM process WHERE run_no = %s AND rank IS NOT NULL"
_REPORT_READ = """SELECT report.rules, report.inputs, report.document, report.cause FROM report JOIN run USING (run_no)
    WHERE run.run_id = %s"""
_REPORT_PUT = """INSERT INTO report (run_no, rules, inputs, document, cause)
    SELECT run_no, %s, %s, %s, %s FROM run WHERE run_id = %s
    ON CONFLICT (run_no) DO UPDATE SET rules = excluded.rules, inputs = excluded.inputs,
        document = excluded.document, cause = excluded.cause"""


class PostgresStore:
    """An open index, for all threads; see `Store` for what each method promises."""

    def __init__(self, url: str, origin: str) -> None:
        self._link = postgres_link.Link(url)
        self._origin = origin
        self._packer = packing.Packer()
        with self._link.guard(), self._link.connect() as connection:
            self._version = postgres_migrate.upgrade(connection)
        self._link.open()

    @contextmanager
    def writing(self, wait_seconds: float) -> Iterator[None]:
        postgres_migrate.require_known(self._version, self._link.shown)
        with self._link.guard(), self._link.hold() as connection:
            self._claim(connection, wait_seconds)
            try:
                yield
            finally:
                if not connection.closed:
                    connection.execute(_RELEASE, (_WRITERS, self._origin))

    def _claim(self, connection: Connection, wait_seconds: float) -> None:
        deadline = time.monotonic() + wait_seconds
        while True:
            ((claimed,),) = connection.execute(_CLAIM, (_WRITERS, self._origin))
            if claimed:
                return
            if time.monotonic() >= deadline:
                raise BusyError(f"another process is updating {self._link.shown} from the same home")
            time.sleep(0.02)

    def append(self, batch: Batch) -> bool:
        with self._link.transaction() as session:
            return postgres_runs.add(session, batch, self._origin, self._packer)

    def forget(self, run_id: str) -> None:
        with self._link.transaction() as session:
            postgres_runs.forget(session, run_id, self._origin)

    def run_ids(self) -> set[str]:
        with self._link.reading() as connection:
            return {run_id for (run_id,) in connection.execute(_RUN_IDS, {"origin": self._origin})}

    def unfinished(self) -> dict[str, Status]:
        with self._link.reading() as connection:
            found = connection.execute(_RUN_UNFINISHED, (self._origin,))
            return {run_id: Status(status) for run_id, status in found}

    def positions(self, run_id: str) -> dict[str, Position]:
        with self._link.reading() as connection:
            return postgres_runs.positions(Session(connection), self._named(run_id))

    def set_position(self, name: str, file: str, position: Position) -> None:
        with self._link.transaction() as session:
            postgres_runs.put_position(session, self._named(name), file, position)

    def _named(self, name: str) -> str:
        """Tell the homes' own files apart; runs have one name everywhere."""
        return f"{name} {self._origin}" if name.startswith("@") and self._origin else name

    def briefs(self, *, limit: int | None = None) -> list[Run]:
        with self._link.reading() as connection:
            return [documents.decode_brief(brief) for (brief,) in connection.execute(_RUN_BRIEFS, (limit,))]

    def page(self, query: RunQuery) -> RunPage:
        with self._asking() as asked:
            return asked.page(query)

    def count(self, query: RunQuery) -> int:
        with self._asking() as asked:
            return asked.count(query)

    def facets(
        self, query: RunQuery, names: Collection[str], *, least: int = 1, most: int | None = MOST_FACETS
    ) -> dict[str, list[Facet]]:
        with self._asking() as asked:
            return asked.facets(query, names, least=least, most=most)

    def totals(self, query: RunQuery, names: Collection[str]) -> dict[str, Total]:
        with self._asking() as asked:
            return asked.totals(query, names)

    def values(self, query: RunQuery, names: Sequence[str]) -> list[tuple[object, ...]]:
        with self._asking() as asked:
            return asked.values(query, names)

    @contextmanager
    def _asking(self) -> Iterator[lists.Lists]:
        with self._link.snapshot() as session:
            yield lists.Lists(postgres_listed.PostgresAsker(session))

    def fields(self) -> Iterator[tuple[str, dict[str, object]]]:
        with self._link.reading() as connection:
            found = connection.execute(_RUN_FIELDS).fetchall()
        with self._link.guard():
            for run_id, fields, cause in found:
                known = documents.decode_mapping(fields)
                yield run_id, known if cause is None else known | {"cause": cause}

    def summaries(self) -> dict[str, dict[str, Value]]:
        with self._link.reading() as connection:
            found = connection.execute(_RUN_SUMMARIES)
            return {run_id: documents.decode_summary(brief) for run_id, brief in found}

    def brief(self, run_id: str) -> Run | None:
        with self._link.reading() as connection:
            found = connection.execute(_RUN_BRIEF, (run_id,)).fetchone()
            return None if found is None else documents.decode_brief(found[0])

    def run(self, run_id: str) -> Run | None:
        with self._link.reading() as connection:
            found = connection.execute(_RUN_ONE, (run_id,)).fetchone()
            if found is None:
                return None
            return documents.join(documents.decode_brief(found[0]), documents.decode_detail(found[1]))

    def with_prefix(self, prefix: str, limit: int) -> list[str]:
        return self._ids(_RUN_PREFIX, prefix, limit)

    def of_job(self, job_id: str) -> list[str]:
        return self._ids(_RUN_OF_JOB, job_id)

    def of_key(self, job_key: str, limit: int | None = None) -> list[str]:
        return self._ids(_RUN_OF_KEY, job_key, limit)

    def _ids(self, sql: str, *bindings: str | int | None) -> list[str]:
        with self._link.reading() as connection:
            return [run_id for (run_id,) in connection.execute(sql, bindings)]

    def series(
        self,
        run_id: str,
        keys: Collection[str] | None = None,
        *,
        counters: Collection[str] = (),
        between: tuple[float, float] | None = None,
    ) -> list[Series]:
        with self._points(run_id) as tables:
            return points.PointReader(tables).series(keys, counters, between or points.EVERYTHING)

    def stretches(
        self,
        run_id: str,
        keys: Collection[str] | None = None,
        *,
        points: int,
        counters: Collection[str] = (),
        between: tuple[float, float] | None = None,
    ) -> list[Stretches]:
        with self._points(run_id) as tables:
            return lines.Lines(tables, counters, between).read(keys, points)

    def statistics(self, run_id: str) -> dict[tuple[str, str], Statistics]:
        with self._points(run_id) as tables:
            return points.PointReader(tables).statistics()

    @contextmanager
    def _points(self, run_id: str) -> Iterator[postgres_points.PostgresPoints]:
        with self._of_run(run_id) as (session, run_no):
            yield postgres_points.PostgresPoints(session, run_no)

    @contextmanager
    def _steps(self, run_id: str) -> Iterator[postgres_steps.PostgresSteps]:
        with self._of_run(run_id) as (session, run_no):
            yield postgres_steps.PostgresSteps(session, run_no)

    @contextmanager
    def _of_run(self, run_id: str) -> Iterator[tuple[Session, int]]:
        """See one moment of one run: points move from tail to chunks while one reads. An unknown run has nothing."""
        with self._link.snapshot() as session:
            found = session.execute(_RUN_NO, (run_id,)).fetchone()
            yield session, 0 if found is None else found[0]

    def steps(
        self,
        run_id: str,
        *,
        sources: Collection[str] | None = None,
        ranks: Collection[int] | None = None,
        metrics: Collection[str] | None = None,
        between: tuple[int, int] | None = None,
    ) -> list[StepTable]:
        with self._steps(run_id) as tables:
            return stepchunks.StepReader(tables).tables(sources, ranks, metrics, between)

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
        with self._steps(run_id) as tables:
            return lines.StepLines(tables, points).read(metrics, sources, ranks, between)

    def step_clocks(self, run_id: str, *, points: int) -> list[StepClock]:
        with self._steps(run_id) as tables:
            return lines.StepLines(tables, points).clocks()

    def step_statistics(self, run_id: str) -> list[StepStatistics]:
        with self._steps(run_id) as tables:
            return stepchunks.StepReader(tables).statistics()

    def events(self, run_id: str) -> list[Event]:
        with self._of_run(run_id) as (session, run_no):
            found = session.execute(_EVENT_READ, (run_no,))
            return [documents.decode_event(document) for (document,) in found]

    def processes(self, run_id: str) -> list[Process]:
        with self._of_run(run_id) as (session, run_no):
            found = session.execute(_PROCESS_READ, (run_no,))
            return seen.rows({instance: seen.Seen(*row) for instance, *row in found})

    def ranks(self, run_id: str) -> Ranks:
        with self._of_run(run_id) as (session, run_no):
            return seen.ranks(session.execute(_PROCESS_RANKS, (run_no,)))

    def report(self, run_id: str) -> StoredReport | None:
        with self._link.reading() as connection:
            found = connection.execute(_REPORT_READ, (run_id,)).fetchone()
        if found is None:
            return None
        rules, inputs, document, cause = found
        return StoredReport(rules=rules, inputs=inputs, document=document, cause=cause)

    def put_report(self, run_id: str, report: StoredReport) -> None:
        with self._link.transaction() as session:
            row = (report.rules, report.inputs, report.document, report.cause, run_id)
            session.execute(_REPORT_PUT, row)
            postgres_listed.put_cause(session, run_id, report.cause)

    def close(self) -> None:
        self._link.close()


def open_store(where: Path | str, *, origin: str = "") -> PostgresStore:
    """Open the index in the database of a URL, its tables made or brought up to date where needed.

    `origin` names the home whose runs are indexed; several homes may share a database.
    """
    return PostgresStore(str(where), origin)
