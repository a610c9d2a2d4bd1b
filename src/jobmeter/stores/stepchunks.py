"""The steps of a run in SQLite: new rows wait in `step_tail` and are sealed into blocks of columns.

Where a block ends depends on the rows alone, not on when somebody looked, so that an index built in one go
and one that grew with the run answer alike.
"""

import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import apsw

from jobmeter.model.steps import Column, Number, Step, StepTable, packed
from jobmeter.stores import (
    MetricStatistics,
    Pace,
    StepStatistics,
    arrays,
    codec,
    rows,
    stepcolumns,
    steptails,
)
from jobmeter.stores.stepcolumns import Stream

BLOCK_STEPS = 4096
BLOCK_CELLS = 1 << 18
"""A loop that logs thousands of metrics a step has shorter blocks."""
LEAST_BLOCK_STEPS = 64
"""What is left of an ended run and is less stays in the tail."""
_INT64 = 2**63

_STREAM_ID = """SELECT stream_id FROM step_stream
    WHERE run_id = ? AND writer = ? AND source = ? AND rank = ?"""
_STREAM_ADD = "INSERT INTO step_stream (run_id, writer, source, rank) VALUES (?, ?, ?, ?)"
_STREAMS = """SELECT stream_id, writer, source, rank FROM step_stream
    WHERE run_id = ? ORDER BY source, rank, writer"""
_TAIL_SIZE = """SELECT coalesce(sum(n), 0), coalesce(sum(cells), 0), coalesce(max(sequence), 0)
    FROM step_tail WHERE stream_id = ?"""
_TAIL_READ = "SELECT blob FROM step_tail WHERE stream_id = ? ORDER BY sequence"
_TAIL_ADD = "INSERT INTO step_tail (stream_id, sequence, n, cells, blob) VALUES (?, ?, ?, ?, ?)"
_TAIL_DROP = "DELETE FROM step_tail WHERE stream_id = ?"
_BLOCK_ADD = """INSERT INTO step_block (stream_id, n, first_step, last_step, low_step, high_step,
        t0, t0_step, t1, t1_step, advanced, advancing_seconds, steps, times)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_BLOCKS = """SELECT block_id, n, steps, times FROM step_block
    WHERE stream_id = ? AND high_step >= ? AND low_step <= ? ORDER BY block_id"""
_BLOCK_HEADERS = """SELECT n, last_step, t0, t0_step, t1, t1_step, advanced, advancing_seconds
    FROM step_block WHERE stream_id = ? ORDER BY block_id"""
_CHUNK_ADD = """INSERT INTO step_chunk
        (block_id, metric, n, finite, low, high, first, last, places, blob)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_CHUNKS = """SELECT metric, places, blob FROM step_chunk
    WHERE block_id = ?1 AND (?2 IS NULL OR metric IN (SELECT value FROM json_each(?2)))"""
_CHUNK_HEADERS = """SELECT step_chunk.metric, step_chunk.n, step_chunk.finite, step_chunk.low,
        step_chunk.high, step_chunk.first, step_chunk.last
    FROM step_block JOIN step_chunk ON step_chunk.block_id = step_block.block_id
    WHERE step_block.stream_id = ? ORDER BY step_chunk.block_id"""
_CELLS = """SELECT coalesce(sum(step_chunk.n), 0) FROM step_stream
    JOIN step_block ON step_block.stream_id = step_stream.stream_id
    JOIN step_chunk ON step_chunk.block_id = step_block.block_id
    WHERE step_stream.run_id = ?"""
FORGET = (
    """DELETE FROM step_chunk WHERE block_id IN (SELECT block_id FROM step_block WHERE stream_id IN
        (SELECT stream_id FROM step_stream WHERE run_id = ?))""",
    "DELETE FROM step_block WHERE stream_id IN (SELECT stream_id FROM step_stream WHERE run_id = ?)",
    "DELETE FROM step_tail WHERE stream_id IN (SELECT stream_id FROM step_stream WHERE run_id = ?)",
    "DELETE FROM step_stream WHERE run_id = ?",
)

_Stored = int | float | None
"""A number as SQLite keeps it: NaN becomes null there."""
_StreamRow = tuple[int, str, str, int]
_BlockRow = tuple[int, int, bytes, bytes | None]
_BlockHeader = tuple[int, int, float | None, int | None, float | None, int | None, int, float]
_ChunkRow = tuple[str, bytes | None, bytes]
_ChunkHeader = tuple[str, int, int, _Stored, _Stored, _Stored, _Stored]


class StepWriter:
    """Adds the steps of one run, inside the caller's transaction."""

    def __init__(self, connection: apsw.Connection, run_id: str) -> None:
        self._connection = connection
        self._run_id = run_id

    def add(self, new: dict[Stream, list[Step]], *, final: bool) -> None:
        """Take new steps in; the last call seals what is worth it."""
        for stream, steps in new.items():
            self._extend(self._stream_id(stream), steps)
        if final:
            for stream_id, *_ in rows.select(self._connection, _STREAMS, (self._run_id,), list[_StreamRow]):
                self._close(stream_id)

    def _stream_id(self, stream: Stream) -> int:
        known = rows.select(self._connection, _STREAM_ID, (self._run_id, *stream), list[tuple[int]])
        if known:
            return known[0][0]
        self._connection.execute(_STREAM_ADD, (self._run_id, *stream))
        return self._connection.last_insert_rowid()

    def _extend(self, stream_id: int, new: list[Step]) -> None:
        waiting, cells, sequence = self._size(stream_id)
        if waiting + len(new) < BLOCK_STEPS and cells + _cells(new) < BLOCK_CELLS:
            self._wait(stream_id, sequence + 1, new)
            return
        steps = [*self._waiting(stream_id), *new]
        self._connection.execute(_TAIL_DROP, (stream_id,))
        begin = 0
        for end in _ends(steps):
            self._seal(stream_id, steps[begin:end])
            begin = end
        self._wait(stream_id, 1, steps[begin:])

    def _close(self, stream_id: int) -> None:
        waiting, _, _ = self._size(stream_id)
        if waiting >= LEAST_BLOCK_STEPS:
            steps = self._waiting(stream_id)
            self._connection.execute(_TAIL_DROP, (stream_id,))
            self._seal(stream_id, steps)

    def _wait(self, stream_id: int, sequence: int, steps: list[Step]) -> None:
        if steps:
            row = (stream_id, sequence, len(steps), _cells(steps), steptails.encode(steps))
            self._connection.execute(_TAIL_ADD, row)

    def _size(self, stream_id: int) -> tuple[int, int, int]:
        return rows.select(self._connection, _TAIL_SIZE, (stream_id,), list[tuple[int, int, int]])[0]

    def _waiting(self, stream_id: int) -> list[Step]:
        found = rows.select(self._connection, _TAIL_READ, (stream_id,), list[tuple[bytes]])
        return [step for (blob,) in found for step in steptails.decode(blob)]

    def _seal(self, stream_id: int, block: list[Step]) -> None:
        steps, times = [row.step for row in block], stepcolumns.times(block)
        ends = (steps[0], steps[-1], min(steps), max(steps))
        pace = stepcolumns.pace(steps, times)
        blobs = (codec.encode(steps), None if times is None else codec.encode(times))
        self._connection.execute(_BLOCK_ADD, (stream_id, len(block), *ends, *pace, *blobs))
        block_id = self._connection.last_insert_rowid()
        chunks = [_chunk(block_id, name, column) for name, column in stepcolumns.columns(block).items()]
        self._connection.executemany(_CHUNK_ADD, chunks)


def _cells(steps: Sequence[Step]) -> int:
    return sum([len(step.metrics) for step in steps])


def _ends(steps: Sequence[Step]) -> Iterator[int]:
    """Say where full blocks end."""
    begin = cells = 0
    for place, step in enumerate(steps, 1):
        cells += len(step.metrics)
        if place - begin == BLOCK_STEPS or cells >= BLOCK_CELLS:
            yield place
            begin, cells = place, 0


def _chunk(block_id: int, metric: str, column: Column) -> tuple[rows.Bound, ...]:
    found = stepcolumns.statistics(column.values)
    return (
        block_id,
        metric,
        found.n,
        found.finite,
        *map(_storable, (found.low, found.high, found.first, found.last)),
        None if column.rows is None else codec.encode(column.rows),
        codec.encode(column.values),
    )


def _storable(value: Number) -> Number:
    return value if isinstance(value, float) or -_INT64 <= value < _INT64 else float(value)


@dataclass(slots=True)
class _Parts:
    """One table while it is put together: stretches of rows, and of each metric."""

    count: int = 0
    steps: list[Sequence[Number]] = field(default_factory=list)
    times: list[tuple[int, Sequence[Number] | None]] = field(default_factory=list)
    columns: dict[str, list[tuple[int, int, Sequence[Number] | None, Sequence[Number]]]] = field(
        default_factory=dict
    )

    def add(self, steps: Sequence[Number], times: Sequence[Number] | None) -> None:
        if times is not None and len(times) != len(steps):
            raise codec.DamagedBlobError("a block's steps and times differ in length")
        self.steps.append(steps)
        self.times.append((len(steps), times))

    def add_column(
        self, name: str, count: int, places: Sequence[Number] | None, values: Sequence[Number]
    ) -> None:
        if len(values) != (count if places is None else len(places)):
            raise codec.DamagedBlobError("a metric and its rows differ in length")
        self.columns.setdefault(name, []).append((self.count, count, places, values))

    def table(self, stream: Stream) -> StepTable:
        return StepTable(
            writer=stream.writer,
            source=stream.source,
            rank=stream.rank,
            steps=stepcolumns.whole(arrays.join(self.steps)),
            timestamps=self._timestamps(),
            columns={name: self._column(self.columns[name]) for name in sorted(self.columns)},
        )

    def _timestamps(self) -> Sequence[float] | None:
        if all(times is None for _, times in self.times):
            return None
        return arrays.join(
            packed([math.nan] * count) if times is None else times for count, times in self.times
        )

    def _column(self, parts: list[tuple[int, int, Sequence[Number] | None, Sequence[Number]]]) -> Column:
        values = arrays.join(values for _, _, _, values in parts)
        if len(values) == self.count:
            return Column(None, values)
        places = arrays.join(
            packed(range(begin, begin + count) if own is None else [begin + place for place in own])
            for begin, count, own, _ in parts
        )
        return Column(stepcolumns.whole(places), values)


class StepReader:
    """Reads the steps of one run, sealed or waiting."""

    def __init__(self, connection: apsw.Connection, run_id: str) -> None:
        self._connection = connection
        self._run_id = run_id

    def streams(self) -> list[tuple[int, Stream]]:
        """List whose steps there are, with their keys."""
        found = rows.select(self._connection, _STREAMS, (self._run_id,), list[_StreamRow])
        return [(stream_id, Stream(writer, source, rank)) for stream_id, writer, source, rank in found]

    def table(
        self,
        stream_id: int,
        stream: Stream,
        metrics: Collection[str] | None,
        between: tuple[int, int] | None,
    ) -> StepTable:
        """Put one table together from blocks and tail."""
        decode = arrays.decoder(
            rows.select(self._connection, _CELLS, (self._run_id,), list[tuple[int]])[0][0]
        )
        wanted = None if metrics is None else json.dumps(sorted(metrics))
        low, high = between or (-_INT64, _INT64 - 1)
        parts = _Parts()
        for block_id, count, steps, times in rows.select(
            self._connection, _BLOCKS, (stream_id, low, high), list[_BlockRow]
        ):
            parts.add(decode(steps), None if times is None else decode(times))
            chunks = rows.select(self._connection, _CHUNKS, (block_id, wanted), list[_ChunkRow])
            for metric, places, blob in chunks:
                own = None if places is None else decode(places)
                parts.add_column(metric, count, own, decode(blob))
            parts.count += count
        self._add_tail(parts, stream_id, stream, metrics)
        found = parts.table(stream)
        return found if between is None else stepcolumns.between_steps(found, low, high)

    def _add_tail(
        self, parts: _Parts, stream_id: int, stream: Stream, metrics: Collection[str] | None
    ) -> None:
        waiting = self._waiting(stream_id)
        if not waiting:
            return
        tail = stepcolumns.table(stream, waiting)
        parts.add(tail.steps, tail.timestamps)
        for name, column in tail.columns.items():
            if metrics is None or name in metrics:
                parts.add_column(name, len(tail), column.rows, column.values)
        parts.count += len(tail)

    def _waiting(self, stream_id: int) -> list[Step]:
        found = rows.select(self._connection, _TAIL_READ, (stream_id,), list[tuple[bytes]])
        return [step for (blob,) in found for step in steptails.decode(blob)]

    def statistics(self, stream_id: int, stream: Stream) -> StepStatistics:
        """Summarise one table from headers and tail."""
        metrics: dict[str, list[MetricStatistics]] = {}
        for metric, n, finite, *values in rows.select(
            self._connection, _CHUNK_HEADERS, (stream_id,), list[_ChunkHeader]
        ):
            low, high, first, last = (math.nan if value is None else value for value in values)
            metrics.setdefault(metric, []).append(MetricStatistics(n, finite, low, high, first, last))
        blocks = rows.select(self._connection, _BLOCK_HEADERS, (stream_id,), list[_BlockHeader])
        count, last_step = sum(block[0] for block in blocks), blocks[-1][1] if blocks else 0
        paces = [
            Pace(t0, s0, t1, s1, advanced, seconds) for _, _, t0, s0, t1, s1, advanced, seconds in blocks
        ]
        waiting = self._waiting(stream_id)
        if waiting:
            tail = stepcolumns.summary(stepcolumns.table(stream, waiting))
            count, last_step = count + tail.count, tail.last_step
            paces.append(tail.pace)
            for metric, found in tail.metrics.items():
                metrics.setdefault(metric, []).append(found)
        return StepStatistics(
            writer=stream.writer,
            source=stream.source,
            rank=stream.rank,
            count=count,
            last_step=last_step,
            pace=stepcolumns.join_paces(paces),
            metrics={name: stepcolumns.merge(metrics[name]) for name in sorted(metrics)},
        )
