"""The points of a run in PostgreSQL: see `points` for what each table is for.

Sealed stretches go in by COPY. The caller holds the run's lock, so numbers of series and axes can be counted on here.
"""

from collections.abc import Collection, Sequence

from jobmeter.stores import PROCESS_WINDOWS, columns
from jobmeter.stores.pointtables import Chunk, ChunkRow, FigureRow, HeaderRow
from jobmeter.stores.postgres_link import Session
from jobmeter.stores.postgres_types import numeric

_TAIL_SIZE = """SELECT coalesce(sum(windows), 0)::integer, coalesce(max(sequence), 0)
    FROM tail WHERE run_no = %s AND stream = %s"""
_TAIL_READ = "SELECT blob FROM tail WHERE run_no = %s AND stream = %s ORDER BY sequence"
_TAIL_ADD = "INSERT INTO tail (run_no, stream, sequence, windows, blob) VALUES (%s, %s, %s, %s, %s)"
_TAIL_DROP = "DELETE FROM tail WHERE run_no = %s AND stream = %s"
_TAIL_DROP_YOUNG = """DELETE FROM tail WHERE run_no = %s AND stream IN
    (SELECT instance FROM process WHERE process.run_no = tail.run_no AND windows < %s)"""
_TAIL_ALL = "SELECT blob FROM tail WHERE run_no = %s ORDER BY stream = '*', stream, sequence"
_OLD_ENOUGH = "SELECT instance FROM process WHERE run_no = %s AND windows >= %s"
_YOUNG = "SELECT instance FROM process WHERE run_no = %s AND windows < %s"
_WAITING = "SELECT DISTINCT stream FROM tail WHERE run_no = %s AND stream NOT IN ('', '*')"
_SERIES = """SELECT series.key, series.instance, series.series_no
    FROM unnest(%s::text[], %s::text[]) AS wanted (key, instance)
    JOIN series ON series.run_no = %s AND series.key = wanted.key AND series.instance = wanted.instance"""
_SERIES_LAST = "SELECT coalesce(max(series_no), 0) FROM series WHERE run_no = %s"
_SERIES_COPY = "COPY series (run_no, series_no, key, instance) FROM STDIN"
_AXIS_LAST = "SELECT coalesce(max(axis_no), 0) FROM axis WHERE run_no = %s"
_AXIS_COPY = "COPY axis (run_no, axis_no, blob) FROM STDIN"
_AXES = "SELECT axis_no, blob FROM axis WHERE run_no = %s AND axis_no = ANY (%s)"
_CHUNK_COPY = """COPY chunk (run_no, series_no, t0, t1, n, measured, low, high, total, last, times_no, spans_no, blob,
        figures) FROM STDIN"""
_CHUNKS = """SELECT series.key, series.instance, chunk.n, chunk.times_no, chunk.spans_no, chunk.blob
    FROM series JOIN chunk ON chunk.run_no = series.run_no AND chunk.series_no = series.series_no
    WHERE series.run_no = %(run)s AND (%(keys)s::text[] IS NULL OR series.key = ANY (%(keys)s))
      AND chunk.t1 >= %(begin)s AND chunk.t0 <= %(end)s
    ORDER BY series.key, series.instance, chunk.times_no"""
_FIGURES = """SELECT series.key, series.instance, chunk.n, chunk.t0, chunk.t1, chunk.measured, chunk.low, chunk.high,
        chunk.total, chunk.last, chunk.spans_no, chunk.figures
    FROM series JOIN chunk ON chunk.run_no = series.run_no AND chunk.series_no = series.series_no
    WHERE series.run_no = %(run)s AND (%(keys)s::text[] IS NULL OR series.key = ANY (%(keys)s))
      AND chunk.t1 >= %(begin)s AND chunk.t0 <= %(end)s
    ORDER BY series.key, series.instance, chunk.times_no"""
_HEADERS = """SELECT series.key, series.instance, chunk.measured, chunk.low, chunk.high, chunk.total, chunk.last
    FROM series JOIN chunk ON chunk.run_no = series.run_no AND chunk.series_no = series.series_no
    WHERE series.run_no = %s ORDER BY chunk.times_no"""
FORGET = (
    "DELETE FROM chunk WHERE run_no = %s",
    "DELETE FROM series WHERE run_no = %s",
    "DELETE FROM axis WHERE run_no = %s",
    "DELETE FROM tail WHERE run_no = %s",
)


class PostgresPoints:
    """The tables of one run's points; see `PointTables` for what each method promises."""

    def __init__(self, session: Session, run_no: int) -> None:
        self._session = session
        self._run_no = run_no

    def size(self, stream: str) -> tuple[int, int]:
        ((windows, sequence),) = self._session.execute(_TAIL_SIZE, (self._run_no, stream))
        return windows, sequence

    def waiting(self, stream: str) -> list[bytes]:
        return [blob for (blob,) in self._session.execute(_TAIL_READ, (self._run_no, stream))]

    def wait(self, stream: str, sequence: int, windows: int, blob: bytes) -> None:
        self._session.execute(_TAIL_ADD, (self._run_no, stream, sequence, windows, blob))

    def drop(self, stream: str) -> None:
        self._session.execute(_TAIL_DROP, (self._run_no, stream))

    def drop_young(self) -> None:
        self._session.execute(_TAIL_DROP_YOUNG, (self._run_no, PROCESS_WINDOWS))

    def old_enough(self) -> set[str]:
        return self._names(_OLD_ENOUGH, PROCESS_WINDOWS)

    def young(self) -> set[str]:
        return self._names(_YOUNG, PROCESS_WINDOWS)

    def waiting_processes(self) -> set[str]:
        return self._names(_WAITING)

    def _names(self, sql: str, *more: int) -> set[str]:
        return {name for (name,) in self._session.execute(sql, (self._run_no, *more))}

    def store(self, axes: Sequence[bytes], chunks: Sequence[Chunk]) -> None:
        first = self._last(_AXIS_LAST) + 1
        placed = enumerate(axes, first)
        self._session.copy(_AXIS_COPY, [(self._run_no, number, blob) for number, blob in placed])
        numbers = self._series([chunk.name for chunk in chunks])
        self._session.copy(_CHUNK_COPY, [self._row(numbers[chunk.name], first, chunk) for chunk in chunks])

    def _row(self, series_no: int, first: int, chunk: Chunk) -> tuple[object, ...]:
        _, t0, t1, n, measured, low, high, total, last, times, spans, blob, figures = chunk
        header = (t0, t1, n, measured, numeric(low), numeric(high), numeric(total), numeric(last))
        axes = (first + times, None if spans is None else first + spans)
        return (self._run_no, series_no, *header, *axes, blob, figures)

    def _last(self, sql: str) -> int:
        ((last,),) = self._session.execute(sql, (self._run_no,))
        return int(last)

    def _series(self, names: Sequence[columns.Name]) -> dict[columns.Name, int]:
        """Find the numbers of series, made where they are new."""
        wanted = ([key for key, _ in names], [instance for _, instance in names], self._run_no)
        found = {(key, instance): number for key, instance, number in self._session.execute(_SERIES, wanted)}
        new = [name for name in names if name not in found]
        if not new:
            return found
        found |= {name: number for number, name in enumerate(new, self._last(_SERIES_LAST) + 1)}
        self._session.copy(_SERIES_COPY, [(self._run_no, found[name], *name) for name in new])
        return found

    def chunks(self, keys: Collection[str] | None, between: tuple[float, float]) -> list[ChunkRow]:
        return [ChunkRow(*row) for row in self._session.execute(_CHUNKS, self._wanted(keys, between))]

    def figures(self, keys: Collection[str] | None, between: tuple[float, float]) -> list[FigureRow]:
        return [FigureRow(*row) for row in self._session.execute(_FIGURES, self._wanted(keys, between))]

    def _wanted(self, keys: Collection[str] | None, between: tuple[float, float]) -> dict[str, object]:
        begin, end = between
        return {
            "run": self._run_no,
            "keys": None if keys is None else sorted(keys),
            "begin": begin,
            "end": end,
        }

    def axes(self, wanted: Collection[int]) -> dict[int, bytes]:
        return dict(self._session.execute(_AXES, (self._run_no, list(wanted)))) if wanted else {}

    def tail(self) -> list[bytes]:
        return [blob for (blob,) in self._session.execute(_TAIL_ALL, (self._run_no,))]

    def headers(self) -> list[HeaderRow]:
        return [HeaderRow(*row) for row in self._session.execute(_HEADERS, (self._run_no,))]
