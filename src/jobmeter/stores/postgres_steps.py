"""The steps of a run in PostgreSQL: see `stepchunks` for what each table is for."""

from collections.abc import Collection, Sequence

from jobmeter.stores.postgres_link import Session
from jobmeter.stores.postgres_types import numeric
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

_STREAM_NO = """SELECT stream_no FROM step_stream
    WHERE run_no = %s AND writer = %s AND source = %s AND rank = %s"""
_STREAM_ADD = """INSERT INTO step_stream (run_no, stream_no, writer, source, rank)
    SELECT %(run)s, coalesce(max(stream_no), 0) + 1, %(writer)s, %(source)s, %(rank)s
    FROM step_stream WHERE run_no = %(run)s RETURNING stream_no"""
_STREAMS = """SELECT stream_no, writer, source, rank FROM step_stream
    WHERE run_no = %s ORDER BY source, rank, writer"""
_TAIL_SIZE = """SELECT coalesce(sum(n), 0)::integer, coalesce(sum(cells), 0)::bigint, coalesce(max(sequence), 0)
    FROM step_tail WHERE run_no = %s AND stream_no = %s"""
_TAIL_READ = "SELECT blob FROM step_tail WHERE run_no = %s AND stream_no = %s ORDER BY sequence"
_TAIL_ADD = """INSERT INTO step_tail (run_no, stream_no, sequence, n, cells, blob)
    VALUES (%s, %s, %s, %s, %s, %s)"""
_TAIL_DROP = "DELETE FROM step_tail WHERE run_no = %s AND stream_no = %s"
_BLOCK_LAST = "SELECT coalesce(max(block_no), 0) FROM step_block WHERE run_no = %s"
_BLOCK_ADD = """INSERT INTO step_block (run_no, stream_no, block_no, n, first_step, last_step, low_step, high_step,
        t0, t0_step, t1, t1_step, advanced, advancing_seconds, steps, times)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"""
_BLOCKS = """SELECT block_no, n, steps, times FROM step_block
    WHERE run_no = %s AND stream_no = %s AND high_step >= %s AND low_step <= %s ORDER BY block_no"""
_BLOCK_HEADERS = """SELECT n, last_step, t0, t0_step, t1, t1_step, advanced, advancing_seconds
    FROM step_block WHERE run_no = %s AND stream_no = %s ORDER BY block_no"""
_CHUNK_COPY = """COPY step_chunk (run_no, block_no, metric, n, finite, low, high, first, last, places, blob,
        figures) FROM STDIN"""
_CHUNKS = """SELECT block_no, metric, places, blob FROM step_chunk
    WHERE run_no = %(run)s AND block_no = ANY (%(blocks)s)
      AND (%(metrics)s::text[] IS NULL OR metric = ANY (%(metrics)s))"""
_CHUNK_HEADERS = """SELECT step_chunk.metric, step_chunk.n, step_chunk.finite, step_chunk.low,
        step_chunk.high, step_chunk.first, step_chunk.last
    FROM step_block JOIN step_chunk
      ON step_chunk.run_no = step_block.run_no AND step_chunk.block_no = step_block.block_no
    WHERE step_block.run_no = %s AND step_block.stream_no = %s ORDER BY step_chunk.block_no"""
_FIGURES = """SELECT step_chunk.metric, step_chunk.n, step_chunk.figures
    FROM step_block JOIN step_chunk
      ON step_chunk.run_no = step_block.run_no AND step_chunk.block_no = step_block.block_no
    WHERE step_block.run_no = %s AND step_block.stream_no = %s AND step_chunk.metric = ANY (%s)
    ORDER BY step_chunk.metric, step_chunk.block_no"""
_CELLS = "SELECT coalesce(sum(n), 0)::bigint FROM step_chunk WHERE run_no = %s"
FORGET = (
    "DELETE FROM step_chunk WHERE run_no = %s",
    "DELETE FROM step_block WHERE run_no = %s",
    "DELETE FROM step_tail WHERE run_no = %s",
    "DELETE FROM step_stream WHERE run_no = %s",
)


class PostgresSteps:
    """The tables of one run's steps; see `StepTables` for what each method promises."""

    def __init__(self, session: Session, run_no: int) -> None:
        self._session = session
        self._run_no = run_no

    def streams(self) -> list[tuple[int, Stream]]:
        found = self._session.execute(_STREAMS, (self._run_no,))
        return [(stream_no, Stream(writer, source, rank)) for stream_no, writer, source, rank in found]

    def stream_id(self, stream: Stream) -> int:
        for (stream_no,) in self._session.execute(_STREAM_NO, (self._run_no, *stream)):
            return int(stream_no)
        added = {"run": self._run_no, **stream._asdict()}
        ((stream_no,),) = self._session.execute(_STREAM_ADD, added)
        return int(stream_no)

    def size(self, stream_id: int) -> tuple[int, int, int]:
        ((rows, cells, sequence),) = self._session.execute(_TAIL_SIZE, (self._run_no, stream_id))
        return rows, cells, sequence

    def waiting(self, stream_id: int) -> list[bytes]:
        return [blob for (blob,) in self._session.execute(_TAIL_READ, (self._run_no, stream_id))]

    def wait(self, stream_id: int, sequence: int, size: tuple[int, int], blob: bytes) -> None:
        self._session.execute(_TAIL_ADD, (self._run_no, stream_id, sequence, *size, blob))

    def drop(self, stream_id: int) -> None:
        self._session.execute(_TAIL_DROP, (self._run_no, stream_id))

    def store(self, stream_id: int, block: Block, chunks: Sequence[MetricChunk]) -> None:
        ((last,),) = self._session.execute(_BLOCK_LAST, (self._run_no,))
        block_no = last + 1
        row = (self._run_no, stream_id, block_no, *block[:5], *block.pace, block.steps, block.times)
        self._session.execute(_BLOCK_ADD, row)
        self._session.copy(_CHUNK_COPY, [self._chunk(block_no, chunk) for chunk in chunks])

    def _chunk(self, block_no: int, chunk: MetricChunk) -> tuple[object, ...]:
        metric, n, finite, *numbers, places, blob, figures = chunk
        return (self._run_no, block_no, metric, n, finite, *map(numeric, numbers), places, blob, figures)

    def cells(self) -> int:
        ((cells,),) = self._session.execute(_CELLS, (self._run_no,))
        return int(cells)

    def blocks(self, stream_id: int, low: int, high: int) -> list[BlockRow]:
        found = self._session.execute(_BLOCKS, (self._run_no, stream_id, low, high))
        return [BlockRow(*row) for row in found]

    def metrics(self, blocks: Collection[int], metrics: Collection[str] | None) -> dict[int, list[MetricRow]]:
        wanted = {
            "run": self._run_no,
            "blocks": list(blocks),
            "metrics": None if metrics is None else sorted(metrics),
        }
        found: dict[int, list[MetricRow]] = {}
        for block_no, *row in self._session.execute(_CHUNKS, wanted) if blocks else ():
            found.setdefault(block_no, []).append(MetricRow(*row))
        return found

    def block_headers(self, stream_id: int) -> list[BlockHeader]:
        found = self._session.execute(_BLOCK_HEADERS, (self._run_no, stream_id))
        return [BlockHeader(*row) for row in found]

    def metric_headers(self, stream_id: int) -> list[MetricHeader]:
        found = self._session.execute(_CHUNK_HEADERS, (self._run_no, stream_id))
        return [MetricHeader(*row) for row in found]

    def metric_figures(self, stream_id: int, metrics: Collection[str]) -> list[MetricFigures]:
        found = self._session.execute(_FIGURES, (self._run_no, stream_id, sorted(metrics)))
        return [MetricFigures(*row) for row in found]
