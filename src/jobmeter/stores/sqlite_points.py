"""The points of a run in SQLite: see `points` for what each table is for."""

import json
from collections.abc import Collection, Sequence

import apsw

from jobmeter.stores import PROCESS_WINDOWS, columns, rows
from jobmeter.stores.pointtables import Chunk, ChunkRow, FigureRow, HeaderRow

_TAIL_SIZE = (
    "SELECT coalesce(sum(windows), 0), coalesce(max(sequence), 0) FROM tail WHERE run_id = ? AND stream = ?"
)
_TAIL_READ = "SELECT blob FROM tail WHERE run_id = ? AND stream = ? ORDER BY sequence"
_TAIL_ADD = "INSERT INTO tail (run_id, stream, sequence, windows, blob) VALUES (?, ?, ?, ?, ?)"
_TAIL_DROP = "DELETE FROM tail WHERE run_id = ? AND stream = ?"
_TAIL_DROP_YOUNG = """DELETE FROM tail WHERE run_id = ? AND stream IN
    (SELECT instance FROM process WHERE process.run_id = tail.run_id AND windows < ?)"""
_TAIL_ALL = "SELECT blob FROM tail WHERE run_id = ? ORDER BY stream = '*', stream, sequence"
_OLD_ENOUGH = "SELECT instance FROM process WHERE run_id = ? AND windows >= ?"
_YOUNG = "SELECT instance FROM process WHERE run_id = ? AND windows < ?"
_WAITING = "SELECT DISTINCT stream FROM tail WHERE run_id = ? AND stream NOT IN ('', '*')"
_SERIES_ID = "SELECT series_id FROM series WHERE run_id = ? AND key = ? AND instance = ?"
_SERIES_ADD = "INSERT INTO series (run_id, key, instance) VALUES (?, ?, ?)"
_AXIS_ADD = "INSERT INTO axis (run_id, blob) VALUES (?, ?)"
_AXIS_READ = "SELECT blob FROM axis WHERE axis_id = ?"
_CHUNK_ADD = """INSERT INTO chunk
    (series_id, t0, t1, n, measured, low, high, total, last, times_id, spans_id, blob, figures)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_CHUNKS = """SELECT series.key, series.instance, chunk.n, chunk.times_id, chunk.spans_id, chunk.blob
    FROM series JOIN chunk ON chunk.series_id = series.series_id
    WHERE series.run_id = ?1 AND (?2 IS NULL OR series.key IN (SELECT value FROM json_each(?2)))
      AND chunk.t1 >= ?3 AND chunk.t0 <= ?4
    ORDER BY series.key, series.instance, chunk.chunk_id"""
_FIGURES = """SELECT series.key, series.instance, chunk.n, chunk.t0, chunk.t1, chunk.measured, chunk.low, chunk.high,
        chunk.total, chunk.last, chunk.spans_id, chunk.figures
    FROM series JOIN chunk ON chunk.series_id = series.series_id
    WHERE series.run_id = ?1 AND (?2 IS NULL OR series.key IN (SELECT value FROM json_each(?2)))
      AND chunk.t1 >= ?3 AND chunk.t0 <= ?4
    ORDER BY series.key, series.instance, chunk.chunk_id"""
_HEADERS = """SELECT series.key, series.instance,
        chunk.measured, chunk.low, chunk.high, chunk.total, chunk.last
    FROM series JOIN chunk ON chunk.series_id = series.series_id
    WHERE series.run_id = ? ORDER BY chunk.chunk_id"""


class SqlitePoints:
    """The tables of one run's points; see `PointTables` for what each method promises."""

    def __init__(self, connection: apsw.Connection, run_id: str) -> None:
        self._connection = connection
        self._run_id = run_id

    def size(self, stream: str) -> tuple[int, int]:
        return rows.select(self._connection, _TAIL_SIZE, (self._run_id, stream), list[tuple[int, int]])[0]

    def waiting(self, stream: str) -> list[bytes]:
        found = rows.select(self._connection, _TAIL_READ, (self._run_id, stream), list[tuple[bytes]])
        return [blob for (blob,) in found]

    def wait(self, stream: str, sequence: int, windows: int, blob: bytes) -> None:
        self._connection.execute(_TAIL_ADD, (self._run_id, stream, sequence, windows, blob))

    def drop(self, stream: str) -> None:
        self._connection.execute(_TAIL_DROP, (self._run_id, stream))

    def drop_young(self) -> None:
        self._connection.execute(_TAIL_DROP_YOUNG, (self._run_id, PROCESS_WINDOWS))

    def old_enough(self) -> set[str]:
        return self._names(_OLD_ENOUGH, PROCESS_WINDOWS)

    def young(self) -> set[str]:
        return self._names(_YOUNG, PROCESS_WINDOWS)

    def waiting_processes(self) -> set[str]:
        return self._names(_WAITING)

    def _names(self, sql: str, *more: int) -> set[str]:
        found = rows.select(self._connection, sql, (self._run_id, *more), list[tuple[str]])
        return {name for (name,) in found}

    def store(self, axes: Sequence[bytes], chunks: Sequence[Chunk]) -> None:
        ids = [self._axis(blob) for blob in axes]
        self._connection.executemany(_CHUNK_ADD, [self._row(chunk, ids) for chunk in chunks])

    def _row(self, chunk: Chunk, ids: Sequence[int]) -> tuple[rows.Bound, ...]:
        name, *header, times, spans, blob, figures = chunk
        spans_id = None if spans is None else ids[spans]
        return (self._series_id(name), *header, ids[times], spans_id, blob, figures)

    def _axis(self, blob: bytes) -> int:
        self._connection.execute(_AXIS_ADD, (self._run_id, blob))
        return self._connection.last_insert_rowid()

    def _series_id(self, name: columns.Name) -> int:
        known = rows.select(self._connection, _SERIES_ID, (self._run_id, *name), list[tuple[int]])
        if known:
            return known[0][0]
        self._connection.execute(_SERIES_ADD, (self._run_id, *name))
        return self._connection.last_insert_rowid()

    def chunks(self, keys: Collection[str] | None, between: tuple[float, float]) -> list[ChunkRow]:
        wanted = None if keys is None else json.dumps(sorted(keys))
        return rows.select(self._connection, _CHUNKS, (self._run_id, wanted, *between), list[ChunkRow])

    def figures(self, keys: Collection[str] | None, between: tuple[float, float]) -> list[FigureRow]:
        wanted = None if keys is None else json.dumps(sorted(keys))
        return rows.select(self._connection, _FIGURES, (self._run_id, wanted, *between), list[FigureRow])

    def axes(self, wanted: Collection[int]) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for axis_id in wanted:
            for (blob,) in rows.select(self._connection, _AXIS_READ, (axis_id,), list[tuple[bytes]]):
                found[axis_id] = blob
        return found

    def tail(self) -> list[bytes]:
        found = rows.select(self._connection, _TAIL_ALL, (self._run_id,), list[tuple[bytes]])
        return [blob for (blob,) in found]

    def headers(self) -> list[HeaderRow]:
        return rows.select(self._connection, _HEADERS, (self._run_id,), list[HeaderRow])
