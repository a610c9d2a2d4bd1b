"""The steps of a run: new rows wait in a tail and are sealed into blocks of columns.

Where a block ends depends on the rows alone, not on when somebody looked, so that an index built in one go
and one that grew with the run answer alike. Where rows lie is the back end's.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from jobmeter.model.steps import Column, Number, Step, StepTable, packed
from jobmeter.stores import (
    MetricStatistics,
    Pace,
    StepStatistics,
    arrays,
    codec,
    figures,
    packing,
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

Stored = int | float | None
"""A number as a database keeps it: NaN may be null there."""


class Block(NamedTuple):
    """Consecutive rows of one stream to be stored."""

    n: int
    first_step: int
    last_step: int
    low_step: int
    high_step: int
    pace: Pace
    steps: bytes
    times: bytes | None


class MetricChunk(NamedTuple):
    """One metric in a block, to be stored; `places` is None where every row has it."""

    metric: str
    n: int
    finite: int
    low: Number
    high: Number
    first: Number
    last: Number
    places: bytes | None
    blob: bytes
    figures: bytes | None
    """Of parts of the values, as `figures` packs them."""


class BlockRow(NamedTuple):
    """Rows of one stream as they are read."""

    block_id: int
    n: int
    steps: bytes
    times: bytes | None


class MetricRow(NamedTuple):
    """One metric in a block as it is read."""

    metric: str
    places: bytes | None
    blob: bytes


class BlockHeader(NamedTuple):
    """What is known of a block without unpacking it."""

    n: int
    last_step: int
    t0: float | None
    t0_step: int | None
    t1: float | None
    t1_step: int | None
    advanced: int
    advancing_seconds: float


class MetricHeader(NamedTuple):
    """What is known of one metric in a block without unpacking it."""

    metric: str
    n: int
    finite: int
    low: Stored
    high: Stored
    first: Stored
    last: Stored


class MetricFigures(NamedTuple):
    """One metric in a block as charts read it."""

    metric: str
    n: int
    figures: bytes | None


class StepTables(Protocol):
    """Where a back end keeps the steps of one run; all writing is inside the caller's transaction."""

    def streams(self) -> list[tuple[int, Stream]]:
        """List whose steps there are, with their keys, by source, rank and writer."""

    def stream_id(self, stream: Stream) -> int:
        """Find the key of a stream, made where it is new."""

    def size(self, stream_id: int) -> tuple[int, int, int]:
        """Count the rows and cells of a stream that wait, and give the last number of a row of them."""

    def waiting(self, stream_id: int) -> list[bytes]:
        """Read the steps of a stream that wait, in order."""

    def wait(self, stream_id: int, sequence: int, size: tuple[int, int], blob: bytes) -> None:
        """Add steps that wait, so many rows and cells."""

    def drop(self, stream_id: int) -> None:
        """Drop the steps of a stream that wait."""

    def store(self, stream_id: int, block: Block, chunks: Sequence[MetricChunk]) -> None:
        """Add a sealed block and its metrics."""

    def cells(self) -> int:
        """Count the sealed values of the run."""

    def blocks(self, stream_id: int, low: int, high: int) -> list[BlockRow]:
        """Read the blocks that touch a stretch of steps, in order."""

    def metrics(
        self, blocks: Collection[int], metrics: Collection[str] | None
    ) -> Mapping[int, Sequence[MetricRow]]:
        """Read metrics by block."""

    def block_headers(self, stream_id: int) -> list[BlockHeader]:
        """Read the headers of a stream's blocks, in order."""

    def metric_headers(self, stream_id: int) -> list[MetricHeader]:
        """Read the headers of a stream's metrics, for each in order."""

    def metric_figures(self, stream_id: int, metrics: Collection[str]) -> list[MetricFigures]:
        """Read the figures of some of a stream's metrics, for each in order."""


def waiting(tables: StepTables, stream_id: int) -> list[Step]:
    """Read the steps of a stream that are not sealed."""
    return [step for blob in tables.waiting(stream_id) for step in steptails.decode(blob)]


class StepWriter:
    """Adds the steps of one run, inside the caller's transaction."""

    def __init__(self, tables: StepTables, packer: packing.Packer | None = None) -> None:
        self._tables = tables
        self._packer = packing.Packer() if packer is None else packer

    def add(self, new: dict[Stream, list[Step]], *, final: bool) -> None:
        """Take new steps in; the last call seals what is worth it."""
        for stream, steps in new.items():
            self._extend(self._tables.stream_id(stream), steps)
        if final:
            for stream_id, _ in self._tables.streams():
                self._close(stream_id)

    def _extend(self, stream_id: int, new: list[Step]) -> None:
        waiting, cells, sequence = self._tables.size(stream_id)
        if waiting + len(new) < BLOCK_STEPS and cells + _cells(new) < BLOCK_CELLS:
            self._wait(stream_id, sequence + 1, new)
            return
        steps = [*self._waiting(stream_id), *new]
        self._tables.drop(stream_id)
        begin = 0
        for end in _ends(steps):
            self._seal(stream_id, steps[begin:end])
            begin = end
        self._wait(stream_id, 1, steps[begin:])

    def _close(self, stream_id: int) -> None:
        waiting, _, _ = self._tables.size(stream_id)
        if waiting >= LEAST_BLOCK_STEPS:
            steps = self._waiting(stream_id)
            self._tables.drop(stream_id)
            self._seal(stream_id, steps)

    def _wait(self, stream_id: int, sequence: int, steps: list[Step]) -> None:
        if steps:
            self._tables.wait(stream_id, sequence, (len(steps), _cells(steps)), steptails.encode(steps))

    def _waiting(self, stream_id: int) -> list[Step]:
        return waiting(self._tables, stream_id)

    def _seal(self, stream_id: int, block: list[Step]) -> None:
        steps, times = [row.step for row in block], stepcolumns.times(block)
        ends = (steps[0], steps[-1], min(steps), max(steps))
        pace = stepcolumns.pace(steps, times)
        encode = self._packer.encode
        blobs = (encode(steps), None if times is None else encode(times))
        chunks = [_chunk(name, column, steps, encode) for name, column in stepcolumns.columns(block).items()]
        self._tables.store(stream_id, Block(len(block), *ends, pace, *blobs), chunks)


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


def _chunk(
    metric: str, column: Column, steps: Sequence[int], encode: Callable[[Sequence[Number]], bytes]
) -> MetricChunk:
    found = stepcolumns.statistics(column.values)
    return MetricChunk(
        metric=metric,
        n=found.n,
        finite=found.finite,
        low=codec.storable(found.low),
        high=codec.storable(found.high),
        first=codec.storable(found.first),
        last=codec.storable(found.last),
        places=None if column.rows is None else encode(column.rows),
        blob=encode(column.values),
        figures=figures.pack_parts(steps, column),
    )


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

    def __init__(self, tables: StepTables) -> None:
        self._tables = tables

    def tables(
        self,
        sources: Collection[str] | None,
        ranks: Collection[int] | None,
        metrics: Collection[str] | None,
        between: tuple[int, int] | None,
    ) -> list[StepTable]:
        """Put the tables together that are asked for; one without a row is left out."""
        chosen = [
            (stream_id, stream)
            for stream_id, stream in self._tables.streams()
            if (sources is None or stream.source in sources) and (ranks is None or stream.rank in ranks)
        ]
        decode = arrays.decoder(self._tables.cells() if chosen else 0)
        made = [self._table(stream_id, stream, metrics, between, decode) for stream_id, stream in chosen]
        return [table for table in made if len(table)]

    def _table(
        self,
        stream_id: int,
        stream: Stream,
        metrics: Collection[str] | None,
        between: tuple[int, int] | None,
        decode: arrays.Decode,
    ) -> StepTable:
        low, high = between or (-_INT64, _INT64 - 1)
        parts = _Parts()
        blocks = self._tables.blocks(stream_id, low, high)
        chunks = self._tables.metrics([block.block_id for block in blocks], metrics)
        for block_id, count, steps, times in blocks:
            parts.add(decode(steps), None if times is None else decode(times))
            for metric, places, blob in chunks.get(block_id, ()):
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
        return waiting(self._tables, stream_id)

    def statistics(self) -> list[StepStatistics]:
        """Summarise every table from headers and tail."""
        return [self._statistics(stream_id, stream) for stream_id, stream in self._tables.streams()]

    def _statistics(self, stream_id: int, stream: Stream) -> StepStatistics:
        metrics: dict[str, list[MetricStatistics]] = {}
        for metric, n, finite, *values in self._tables.metric_headers(stream_id):
            low, high, first, last = (math.nan if value is None else value for value in values)
            metrics.setdefault(metric, []).append(MetricStatistics(n, finite, low, high, first, last))
        blocks = self._tables.block_headers(stream_id)
        count, last_step = sum(block.n for block in blocks), blocks[-1].last_step if blocks else 0
        paces = [Pace(*block[2:]) for block in blocks]
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
