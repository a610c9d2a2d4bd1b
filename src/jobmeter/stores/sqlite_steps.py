"""The steps of a run in SQLite: see `stepchunks` for what each table is for."""

import json
from collections.abc import Collection, Sequence

import apsw

from jobmeter.stores import rows
from jobmeter.stores.stepchunks import (
    Block,
    BlockHeader,
    BlockRow,
    MetricChunk,
    MetricFigures,
    MetricHeader,
    MetricRow,
)
from jobmeter.stores.stepcolumns import Stream

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
        (block_id, metric, n, finite, low, high, first, last, places, blob, figures)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_CHUNKS = """SELECT metric, places, blob FROM step_chunk
    WHERE block_id = ?1 AND (?2 IS NULL OR metric IN (SELECT value FROM json_each(?2)))"""
_CHUNK_HEADERS = """SELECT step_chunk.metric, step_chunk.n, step_chunk.finite, step_chunk.low,
        step_chunk.high, step_chunk.first, step_chunk.last
    FROM step_block JOIN step_chunk ON step_chunk.block_id = step_block.block_id
    WHERE step_block.stream_id = ? ORDER BY step_chunk.block_id"""
_FIGURES = """SELECT step_chunk.metric, step_chunk.n, step_chunk.figures
    FROM step_block JOIN step_chunk ON step_chunk.block_id = step_block.block_id
    WHERE step_block.stream_id = ? AND step_chunk.metric IN (SELECT value FROM json_each(?))
    ORDER BY step_chunk.metric, step_chunk.block_id"""
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


class SqliteSteps:
    """The tables of one run's steps; see `StepTables` for what each method promises."""

    def __init__(self, connection: apsw.Connection, run_id: str) -> None:
        self._connection = connection
        self._run_id = run_id

    def _select(self, sql: str, bindings: Sequence[rows.Bound], kind: type[rows.Rows]) -> rows.Rows:
        return rows.select(self._connection, sql, bindings, kind)

    def streams(self) -> list[tuple[int, Stream]]:
        found = self._select(_STREAMS, (self._run_id,), list[tuple[int, str, str, int]])
        return [(stream_id, Stream(writer, source, rank)) for stream_id, writer, source, rank in found]

    def stream_id(self, stream: Stream) -> int:
        known = self._select(_STREAM_ID, (self._run_id, *stream), list[tuple[int]])
        if known:
            return known[0][0]
        self._connection.execute(_STREAM_ADD, (self._run_id, *stream))
        return self._connection.last_insert_rowid()

    def size(self, stream_id: int) -> tuple[int, int, int]:
        return self._select(_TAIL_SIZE, (stream_id,), list[tuple[int, int, int]])[0]

    def waiting(self, stream_id: int) -> list[bytes]:
        return [blob for (blob,) in self._select(_TAIL_READ, (stream_id,), list[tuple[bytes]])]

    def wait(self, stream_id: int, sequence: int, size: tuple[int, int], blob: bytes) -> None:
        self._connection.execute(_TAIL_ADD, (stream_id, sequence, *size, blob))

    def drop(self, stream_id: int) -> None:
        self._connection.execute(_TAIL_DROP, (stream_id,))

    def store(self, stream_id: int, block: Block, chunks: Sequence[MetricChunk]) -> None:
        row = (stream_id, *block[:5], *block.pace, block.steps, block.times)
        self._connection.execute(_BLOCK_ADD, row)
        block_id = self._connection.last_insert_rowid()
        self._connection.executemany(_CHUNK_ADD, [(block_id, *chunk) for chunk in chunks])

    def cells(self) -> int:
        return self._select(_CELLS, (self._run_id,), list[tuple[int]])[0][0]

    def blocks(self, stream_id: int, low: int, high: int) -> list[BlockRow]:
        return self._select(_BLOCKS, (stream_id, low, high), list[BlockRow])

    def metrics(self, blocks: Collection[int], metrics: Collection[str] | None) -> dict[int, list[MetricRow]]:
        wanted = None if metrics is None else json.dumps(sorted(metrics))
        return {block_id: self._select(_CHUNKS, (block_id, wanted), list[MetricRow]) for block_id in blocks}

    def block_headers(self, stream_id: int) -> list[BlockHeader]:
        return self._select(_BLOCK_HEADERS, (stream_id,), list[BlockHeader])

    def metric_headers(self, stream_id: int) -> list[MetricHeader]:
        return self._select(_CHUNK_HEADERS, (stream_id,), list[MetricHeader])

    def metric_figures(self, stream_id: int, metrics: Collection[str]) -> list[MetricFigures]:
        return self._select(_FIGURES, (stream_id, json.dumps(sorted(metrics))), list[MetricFigures])
