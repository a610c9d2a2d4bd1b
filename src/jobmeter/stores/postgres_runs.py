"""The rows of one run in PostgreSQL, written and dropped inside the caller's transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple
from typing import Any, NamedTuple

from jobmeter.model.run import Run
from jobmeter.model.view import Event, Window
from jobmeter.stores import (
    Batch,
    Position,
    coarse,
    columns,
    documents,
    lists,
    packing,
    paging,
    points,
    postgres_link,
    postgres_listed,
    postgres_points,
    postgres_steps,
    seen,
    stepchunks,
    stepcolumns,
)
from jobmeter.stores.postgres_link import Session

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 5))"
_OWNER = "SELECT run_no, origin FROM run WHERE run_id = %s"
_HELD = "INSERT INTO copy (origin, run_id) VALUES (%s, %s) ON CONFLICT DO NOTHING"
_HELD_DROP = "DELETE FROM copy WHERE origin = %s AND run_id = %s"
_HELD_BY_ANY_DROP = "DELETE FROM copy WHERE run_id = %s"
_PUT = postgres_link.numbered(f"""WITH sources AS (
    INSERT INTO source (run_id, file, byte_offset, bad_lines, state)
    SELECT %s, * FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::text[])
    ON CONFLICT (run_id, hashtextextended(file, 0)) DO UPDATE SET
        byte_offset = excluded.byte_offset, bad_lines = excluded.bad_lines, state = excluded.state
), narrow AS ({postgres_listed.PUT})
    INSERT INTO run (run_id, origin, job_id, job_key, status, started_at, final, fields, brief, detail)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (run_id) DO UPDATE SET job_id = excluded.job_id, job_key = excluded.job_key,
        status = excluded.status, started_at = excluded.started_at, final = excluded.final,
        fields = excluded.fields, brief = excluded.brief,
        -- what is the same is not written again: the details of a run rarely change
        detail = CASE run.detail WHEN excluded.detail THEN run.detail ELSE excluded.detail END
    RETURNING run_no""")  # noqa: S608  # names of our own
"""All that a batch says of its run, and how far its files are indexed now, on one way to the server and back."""
_SOURCE_READ = "SELECT file, byte_offset, bad_lines, state FROM source WHERE run_id = %s"
_SOURCE_PUT = """INSERT INTO source (run_id, file, byte_offset, bad_lines, state) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (run_id, hashtextextended(file, 0)) DO UPDATE SET
        byte_offset = excluded.byte_offset, bad_lines = excluded.bad_lines, state = excluded.state"""
_EVENT_LAST = "SELECT coalesce(max(sequence), 0) FROM event WHERE run_no = %s"
_EVENT_COPY = "COPY event (run_no, sequence, timestamp, type, document) FROM STDIN"
_PROCESS_ADD = """INSERT INTO process (run_no, instance, pid, windows, first_seen, last_seen, command,
        cpu_seconds, peak_rss_bytes, read_bytes, write_bytes, rank, role, world_size)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (run_no, hashtextextended(instance, 0)) DO UPDATE SET
        windows = process.windows + excluded.windows,
        first_seen = least(process.first_seen, excluded.first_seen),
        last_seen = greatest(process.last_seen, excluded.last_seen),
        command = coalesce(excluded.command, process.command),
        cpu_seconds = coalesce(process.cpu_seconds + excluded.cpu_seconds, process.cpu_seconds, excluded.cpu_seconds),
        peak_rss_bytes = greatest(process.peak_rss_bytes, excluded.peak_rss_bytes),
        read_bytes = coalesce(process.read_bytes + excluded.read_bytes, process.read_bytes, excluded.read_bytes),
        write_bytes = coalesce(process.write_bytes + excluded.write_bytes, process.write_bytes, excluded.write_bytes),
        rank = coalesce(excluded.rank, process.rank),
        role = coalesce(excluded.role, process.role),
        world_size = coalesce(excluded.world_size, process.world_size)"""
_FORGET = (
    *postgres_steps.FORGET,
    *postgres_points.FORGET,
    "DELETE FROM process WHERE run_no = %s",
    "DELETE FROM event WHERE run_no = %s",
    "DELETE FROM report WHERE run_no = %s",
    "DELETE FROM run WHERE run_no = %s",
)
_SOURCE_DROP = "DELETE FROM source WHERE run_id = %s"
_LARGEST = 2**63 - 1


class _Known(NamedTuple):
    """What the index says of a run before a batch is added."""

    origin: str | None
    positions: dict[str, Position]
    tags: list[tuple[str, str]]


def add(session: Session, batch: Batch, origin: str, packer: packing.Packer) -> bool:
    """Add a batch; False when the index has already moved past its beginning."""
    run_id = batch.run.run_id
    known = _claim(session, run_id)
    if known.origin not in (None, origin):
        # left to the home that came first
        session.execute(_HELD, (origin, run_id))
        return False
    begun = {documents.clean(file): since for file, since in batch.since.items()}
    if any(known.positions.get(file, Position(0)) != since for file, since in begun.items()):
        return False
    if batch.final:
        # an ended run is never looked at again: what is said of it must be on disk
        session.execute("SET LOCAL synchronous_commit = on")
    fields = paging.tidied(batch.fields)
    run_no = _put(session, batch, origin, fields)
    tags = lists.tags(fields)
    if tags != known.tags:
        postgres_listed.put_tags(session, run_id, tags)
    _add_events(session, run_no, batch.events)
    job, instances = columns.split(batch.windows)
    _add_processes(session, run_no, batch.run, instances)
    tables = postgres_points.PostgresPoints(session, run_no)
    points.PointWriter(tables, coarse.counters(batch.run), packer).add(job, instances, final=batch.final)
    steps = stepcolumns.streams(batch.steps)
    stepchunks.StepWriter(postgres_steps.PostgresSteps(session, run_no), packer).add(steps, final=batch.final)
    return True


def _claim(session: Session, run_id: str) -> _Known:
    """Become the only one who changes a run, until the transaction ends; then read what is known of it."""
    # a statement of its own: what a statement sees is settled before it waits for a lock
    session.execute(_LOCK, (run_id,))
    owner = session.execute(_OWNER, (run_id,))
    sources = session.execute(_SOURCE_READ, (run_id,))
    tags = session.execute(postgres_listed.TAGS_READ, (run_id,))
    found = owner.fetchone()
    return _Known(
        None if found is None else found[1], _positions(sources), [(key, value) for key, value in tags]
    )


def forget(session: Session, run_id: str, origin: str) -> None:
    """Drop all that is known of a run; of one that another home indexes, that this home holds it."""
    session.execute(_LOCK, (run_id,))
    found = session.execute(_OWNER, (run_id,)).fetchone()
    if found is not None and found[1] != origin:
        session.execute(_HELD_DROP, (origin, run_id))
        return
    # other homes that hold it find it new, and index it
    for statement in (_SOURCE_DROP, _HELD_BY_ANY_DROP, *postgres_listed.FORGET):
        session.execute(statement, (run_id,))
    if found is not None:
        for statement in _FORGET:
            session.execute(statement, (found[0],))


def positions(session: Session, name: str) -> dict[str, Position]:
    """Read how far each file of a run is indexed."""
    return _positions(session.execute(_SOURCE_READ, (name,)))


def _positions(found: Iterable[tuple[Any, ...]]) -> dict[str, Position]:
    return {file: Position(offset, bad_lines, state) for file, offset, bad_lines, state in found}


def put_position(session: Session, name: str, file: str, position: Position) -> None:
    """Note how far a file is indexed."""
    session.execute(_SOURCE_PUT, (name, file, *astuple(position)))


def _put(session: Session, batch: Batch, origin: str, fields: dict[str, object]) -> int:
    run, until = batch.run, batch.until
    # the database sees what `documents.clean` makes of names; so must the rows that are compared in Python
    run_id = documents.clean(run.run_id)
    places = zip(*map(astuple, until.values()), strict=True) if until else ((), (), ())
    sources = (run_id, list(until), *map(list, places))
    texts = (run_id, origin, run.job_id, batch.job_key, run.status.value)
    blobs = (documents.encode(fields), documents.encode_brief(run), documents.encode_detail(run))
    narrow = postgres_listed.row(run_id, run.started_at, fields)
    row = (*sources, *narrow, *texts, run.started_at, batch.final, *blobs)
    ((run_no,),) = session.execute_numbered(_PUT, row)
    return int(run_no)


def _add_events(session: Session, run_no: int, events: Sequence[Event]) -> None:
    if not events:
        return
    ((last,),) = session.execute(_EVENT_LAST, (run_no,))
    added = [
        (run_no, number, event.timestamp, event.type, documents.encode(event))
        for number, event in enumerate(events, last + 1)
    ]
    session.copy(_EVENT_COPY, added)


def _add_processes(session: Session, run_no: int, run: Run, windows: Sequence[Window]) -> None:
    found = seen.fold(windows, seen.counted_tool(run, windows))
    if found:
        added = [(run_no, name, seen.pid_of(name), *_bounded(row)) for name, row in found.items()]
        session.execute_many(_PROCESS_ADD, added)


def _bounded(row: seen.Seen) -> list[object]:
    """Keep counts within what a column holds; no kernel counts further."""
    return [min(value, _LARGEST) if isinstance(value, int) else value for value in astuple(row)]
