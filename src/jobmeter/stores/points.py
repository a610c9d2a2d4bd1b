"""The points of a run in SQLite: new windows wait in `tail` and are sealed into chunks, a block at a time.

Sealing is bound to numbers of windows, not to when somebody looked, so that an index built in one go and
one that grew with the run answer alike. What is left of an ended run and is too little for a chunk stays
in `tail`: a run of a minute is one small row instead of a hundred.
"""

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import apsw

from jobmeter.model.steps import packed
from jobmeter.model.view import Series, Window
from jobmeter.stores import PROCESS_WINDOWS, Statistics, arrays, codec, columns, rows, seen, tails

JOB = ""
INSTANCES = "*"
BLOCK_WINDOWS = {JOB: 600, INSTANCES: 300}
LEAST_CHUNK_WINDOWS = 64
_INT64 = 2**63
EVERYTHING = (-math.inf, math.inf)
"""All moments."""

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
    (series_id, t0, t1, n, measured, low, high, total, last, times_id, spans_id, blob)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_CHUNKS = """SELECT series.key, series.instance, chunk.n, chunk.times_id, chunk.spans_id, chunk.blob
    FROM series JOIN chunk ON chunk.series_id = series.series_id
    WHERE series.run_id = ?1 AND (?2 IS NULL OR series.key IN (SELECT value FROM json_each(?2)))
      AND chunk.t1 >= ?3 AND chunk.t0 <= ?4
    ORDER BY series.key, series.instance, chunk.chunk_id"""
_HEADERS = """SELECT series.key, series.instance,
        chunk.measured, chunk.low, chunk.high, chunk.total, chunk.last
    FROM series JOIN chunk ON chunk.series_id = series.series_id
    WHERE series.run_id = ? ORDER BY chunk.chunk_id"""


_Stored = int | float | None
"""A number as SQLite keeps it: NaN becomes null there."""
_ChunkRow = tuple[str, str, int, int, int | None, bytes]
_HeaderRow = tuple[str, str, int, _Stored, _Stored, _Stored, _Stored]


@dataclass(frozen=True, slots=True)
class _Axis:
    """Times that are stored, and what they span."""

    axis_id: int
    t0: float
    t1: float


class PointWriter:
    """Adds the windows of one run, inside the caller's transaction."""

    def __init__(self, connection: apsw.Connection, run_id: str) -> None:
        self._connection = connection
        self._run_id = run_id

    def add(self, job: list[Window], instances: list[Window], *, final: bool) -> None:
        """Take new windows in; the last call seals what is worth it."""
        self._extend(JOB, job, final=final)
        self._extend(INSTANCES, instances, final=final)
        if final:
            self._connection.execute(_TAIL_DROP_YOUNG, (self._run_id, PROCESS_WINDOWS))

    def _extend(self, stream: str, new: list[Window], *, final: bool) -> None:
        waiting, sequence = self._size(stream)
        total = waiting + len(new)
        least = LEAST_CHUNK_WINDOWS if final else BLOCK_WINDOWS[stream]
        if total < least:
            self._wait(stream, sequence + 1, new)
            return
        windows = [*self._waiting(stream), *new]
        self._connection.execute(_TAIL_DROP, (self._run_id, stream))
        while len(windows) >= least:
            self._seal(stream, windows[: BLOCK_WINDOWS[stream]])
            windows = windows[BLOCK_WINDOWS[stream] :]
        self._wait(stream, 1, windows)

    def _wait(self, stream: str, sequence: int, windows: list[Window]) -> None:
        if windows:
            row = (self._run_id, stream, sequence, len(windows), tails.encode(windows))
            self._connection.execute(_TAIL_ADD, row)

    def _size(self, stream: str) -> tuple[int, int]:
        found = rows.select(self._connection, _TAIL_SIZE, (self._run_id, stream), list[tuple[int, int]])
        return found[0]

    def _waiting(self, stream: str) -> list[Window]:
        found = rows.select(self._connection, _TAIL_READ, (self._run_id, stream), list[tuple[bytes]])
        return [window for (blob,) in found for window in tails.decode(blob)]

    def _names(self, sql: str, *more: int) -> set[str]:
        found = rows.select(self._connection, sql, (self._run_id, *more), list[tuple[str]])
        return {name for (name,) in found}

    def _seal(self, stream: str, block: list[Window]) -> None:
        if stream == JOB:
            self._store(block, columns.columns(block))
            return
        known = self._names(_OLD_ENOUGH, PROCESS_WINDOWS)
        waiting = self._names(_WAITING)
        ready: list[columns.Column] = []
        apart: set[str] = set()
        for column in columns.columns(block):
            instance = column.name[1]
            if seen.is_process(instance) and (instance not in known or instance in waiting):
                apart.add(instance)
            else:
                ready.append(column)
        self._store(block, ready)
        for instance in sorted(apart):
            self._seal_process(instance, block, known=instance in known)

    def _seal_process(self, instance: str, block: list[Window], *, known: bool) -> None:
        """Keep a young process waiting, or store it with what has waited of it."""
        own = [columns.only(window, lambda name: name[1] == instance) for window in block]
        own = [window for window in own if window.values]
        if known:
            windows = [*self._waiting(instance), *own]
            self._connection.execute(_TAIL_DROP, (self._run_id, instance))
            self._store(windows, columns.columns(windows))
            return
        _, sequence = self._size(instance)
        self._wait(instance, sequence + 1, own)

    def _store(self, block: Sequence[Window], found: Sequence[columns.Column]) -> None:
        times: dict[columns.Places, _Axis] = {}
        spans: dict[tuple[str, columns.Places], int | None] = {}
        chunks = []
        for column in found:
            source, places = columns.source_of(column.name[0]), column.places
            if places not in times:
                moments = columns.times(block, places)
                times[places] = _Axis(self._axis(moments), min(moments), max(moments))
            if (source, places) not in spans:
                covered = columns.spans(block, source, places)
                spans[source, places] = None if covered is None else self._axis(covered)
            chunks.append(self._chunk(column, times[places], spans[source, places]))
        self._connection.executemany(_CHUNK_ADD, chunks)

    def _chunk(self, column: columns.Column, times: _Axis, spans_id: int | None) -> tuple[rows.Bound, ...]:
        found = columns.statistics(column.values)
        return (
            self._series_id(column.name),
            times.t0,
            times.t1,
            len(column.values),
            found.n,
            *map(_storable, (found.low, found.high, found.total, found.last)),
            times.axis_id,
            spans_id,
            codec.encode(column.values),
        )

    def _axis(self, values: Sequence[float]) -> int:
        self._connection.execute(_AXIS_ADD, (self._run_id, codec.encode(values)))
        return self._connection.last_insert_rowid()

    def _series_id(self, name: columns.Name) -> int:
        known = rows.select(self._connection, _SERIES_ID, (self._run_id, *name), list[tuple[int]])
        if known:
            return known[0][0]
        self._connection.execute(_SERIES_ADD, (self._run_id, *name))
        return self._connection.last_insert_rowid()


def _storable(value: codec.Number) -> codec.Number:
    return value if isinstance(value, float) or -_INT64 <= value < _INT64 else float(value)


_Axes = tuple[int | columns.Places, ...]
"""Where the times of a series are: stored axes, then the places of windows that wait."""


@dataclass(slots=True)
class _Points:
    """One series while it is put together, stretch by stretch; `spans` is None once a stretch has none."""

    axes: list[int | columns.Places] = field(default_factory=list)
    times: list[Sequence[codec.Number]] = field(default_factory=list)
    values: list[Sequence[codec.Number]] = field(default_factory=list)
    spans: list[Sequence[codec.Number]] | None = field(default_factory=list)

    def add(
        self,
        axis: int | columns.Places,
        times: Sequence[codec.Number],
        values: Sequence[codec.Number],
        spans: Sequence[codec.Number] | None,
    ) -> None:
        if not len(times) == len(values) == len(times if spans is None else spans):
            raise codec.DamagedBlobError("a chunk and its axis differ in length")
        self.axes.append(axis)
        self.times.append(times)
        self.values.append(values)
        if spans is None or self.spans is None:
            self.spans = None
        else:
            self.spans.append(spans)

    def inside(self, between: tuple[float, float]) -> "_Points":
        """Leave out the points of other moments."""
        times, values = arrays.join(self.times), arrays.join(self.values)
        kept = [place for place, moment in enumerate(times) if between[0] <= moment <= between[1]]
        spans = None if self.spans is None else arrays.join(self.spans)
        return _Points(
            times=[packed([times[place] for place in kept])],
            values=[packed([values[place] for place in kept])],
            spans=None if spans is None else [packed([spans[place] for place in kept])],
        )


class PointReader:
    """Reads the points of one run, sealed or waiting."""

    def __init__(self, connection: apsw.Connection, run_id: str) -> None:
        self._connection = connection
        self._run_id = run_id
        self._stored: dict[int, Sequence[codec.Number]] = {}
        self._joined: dict[_Axes, Sequence[float]] = {}

    def series(
        self, keys: Collection[str] | None, counters: Collection[str], between: tuple[float, float]
    ) -> list[Series]:
        """Put series together from chunks and tail."""
        found: dict[columns.Name, _Points] = {}
        wanted = None if keys is None else json.dumps(sorted(keys))
        sealed = rows.select(self._connection, _CHUNKS, (self._run_id, wanted, *between), list[_ChunkRow])
        count = sum(row[2] for row in sealed)
        decode = arrays.decoder(count)
        columns_found = arrays.all_of([row[-1] for row in sealed], count)
        for (key, instance, _, times_id, spans_id, _), values in zip(sealed, columns_found, strict=True):
            spans = self._axis(spans_id, decode) if key in counters and spans_id is not None else None
            points = found.setdefault((key, instance), _Points())
            points.add(times_id, self._axis(times_id, decode), values, spans)
        windows, young = self._tail()
        for column in columns.columns(windows):
            if column.name[1] in young or (keys is not None and column.name[0] not in keys):
                continue
            times = columns.times(windows, column.places)
            covered = columns.spans(windows, columns.source_of(column.name[0]), column.places)
            points = found.setdefault(column.name, _Points())
            points.add(
                column.places,
                packed(times),
                packed(column.values),
                None if covered is None else packed(covered),
            )
        made = [self._series(name, found[name], counters, between) for name in sorted(found)]
        return [series for series in made if series.times]

    def _series(
        self, name: columns.Name, points: _Points, counters: Collection[str], between: tuple[float, float]
    ) -> Series:
        chosen = points if between == EVERYTHING else points.inside(between)
        spans = chosen.spans if name[0] in counters else None
        return Series(
            key=name[0],
            instance=name[1],
            times=self._times(chosen),
            values=arrays.join(chosen.values),
            spans=None if spans is None else arrays.join(spans),
        )

    def _times(self, points: _Points) -> Sequence[float]:
        """Join the times of a series; those that were sampled together share them."""
        axes = tuple(points.axes)
        if not axes:
            return columns.rising(arrays.join(points.times))
        if axes not in self._joined:
            self._joined[axes] = columns.rising(arrays.join(points.times))
        return self._joined[axes]

    def _axis(self, axis_id: int, decode: arrays.Decode) -> Sequence[codec.Number]:
        if axis_id not in self._stored:
            found = rows.select(self._connection, _AXIS_READ, (axis_id,), list[tuple[bytes]])
            if not found:
                raise codec.DamagedBlobError("an axis is missing")
            self._stored[axis_id] = decode(found[0][0])
        return self._stored[axis_id]

    def _tail(self) -> tuple[list[Window], set[str]]:
        """Read the windows that wait, oldest first for every series, and who is too young for one."""
        found = rows.select(self._connection, _TAIL_ALL, (self._run_id,), list[tuple[bytes]])
        windows = [window for (blob,) in found for window in tails.decode(blob)]
        young = rows.select(self._connection, _YOUNG, (self._run_id, PROCESS_WINDOWS), list[tuple[str]])
        return windows, {instance for (instance,) in young}

    def statistics(self) -> dict[columns.Name, Statistics]:
        """Summarise every series from chunk headers and the tail."""
        parts: dict[columns.Name, list[Statistics]] = {}
        for key, instance, n, *values in rows.select(
            self._connection, _HEADERS, (self._run_id,), list[_HeaderRow]
        ):
            low, high, total, last = (math.nan if value is None else value for value in values)
            parts.setdefault((key, instance), []).append(Statistics(n, low, high, total, last))
        windows, young = self._tail()
        for column in columns.columns(windows):
            if column.name[1] not in young:
                parts.setdefault(column.name, []).append(columns.statistics(column.values))
        return {name: columns.merge(parts[name]) for name in sorted(parts)}
