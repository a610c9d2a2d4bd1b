"""Lines for charts out of what is stored of sealed stretches; values are unpacked only where a line is short.

A line with many sealed stretches is told by their figures, those at the ends of a span of time aside. Of one with few
there would be too few points: its values are read, which costs little because they are few too.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from jobmeter.model.steps import Number, StepTable
from jobmeter.model.stretches import StepClock, StepStretches, Stretches
from jobmeter.model.view import Series
from jobmeter.stores import coarse, columns, figures, stepchunks, stepcolumns
from jobmeter.stores.points import EVERYTHING, PointReader
from jobmeter.stores.pointtables import FigureRow, PointTables
from jobmeter.stores.stepchunks import MetricFigures, StepReader, StepTables
from jobmeter.stores.stepcolumns import Stream

Span = tuple[float, float]
CLOCK_STEPS = 1 << 15
"""Of a longer table the times of single steps are not unpacked."""


class Lines:
    """Reads the series of one run coarsely."""

    def __init__(self, tables: PointTables, counters: Collection[str], between: Span | None) -> None:
        self._tables = tables
        self._reader = PointReader(tables)
        self._counters = counters
        self._between = between or EVERYTHING

    def read(self, keys: Collection[str] | None, points: int) -> list[Stretches]:
        """Part every series into at most so many stretches."""
        headers = self._tables.figures(keys, self._between)
        long = {
            name: rows
            for name, rows in _by_name(headers)
            if 2 * len(rows) >= points and self._tells_all(rows)
        }
        if not long:
            return self._short(self._reader.series(keys, self._counters, self._between), points)
        tails = self._reader.tail(keys, self._counters, self._between)
        lines = [self._long(name, rows, tails.get(name), points) for name, rows in long.items()]
        told = {(line.key, line.instance): line for line in lines if line is not None}
        rest = ({(row.key, row.instance) for row in headers} | tails.keys()) - told.keys()
        series = self._reader.series({key for key, _ in rest}, self._counters, self._between) if rest else []
        short = self._short([one for one in series if (one.key, one.instance) not in told], points)
        return sorted([*told.values(), *short], key=lambda line: (line.key, line.instance))

    def _short(self, series: Sequence[Series], points: int) -> list[Stretches]:
        return [coarse.stretches((one.key, one.instance), coarse.pieces(one, points)) for one in series]

    def _tells_all(self, rows: Sequence[FigureRow]) -> bool:
        """Tell whether figures are enough: whole stretches of which, where a part is asked for, none overlap."""
        if self._between != EVERYTHING and any(two.t0 <= one.t1 for one, two in pairwise(rows)):
            return False
        if rows[0].key not in self._counters:
            return True
        has_spans = {row.spans_id is not None for row in rows}
        return has_spans == {False} or all(row.figures is not None for row in rows)

    def _long(
        self, name: columns.Name, rows: Sequence[FigureRow], tail: Series | None, points: int
    ) -> Stretches | None:
        is_rate = name[0] in self._counters and rows[0].spans_id is not None
        parts = [part for row in rows for part in self._parts(row, is_rate=is_rate)]
        if tail is not None:
            if name[0] in self._counters and (tail.spans is not None) != is_rate:
                return None  # a line of which a part has no rate is not a rate
            parts.append(coarse.piece(tail, 0, len(tail.times)))
        return coarse.stretches(name, coarse.grouped(parts, points))

    def _parts(self, row: FigureRow, *, is_rate: bool) -> list[coarse.Piece]:
        begin, end = self._between
        if begin <= row.t0 and row.t1 <= end:
            return [_piece(row, is_rate=is_rate)]
        inside = (max(begin, row.t0), min(end, row.t1))
        counters = self._counters if is_rate else ()
        return [
            coarse.piece(series, 0, len(series.times))
            for series in self._reader.sealed({row.key}, counters, inside)
            if series.instance == row.instance
        ]


def _by_name(rows: Sequence[FigureRow]) -> Iterator[tuple[columns.Name, list[FigureRow]]]:
    for name, found in groupby(rows, key=lambda row: (row.key, row.instance)):
        yield name, list(found)


def _piece(row: FigureRow, *, is_rate: bool) -> coarse.Piece:
    if is_rate and row.figures is not None:
        n, measured, low, high, total, last, seconds = figures.unpack_rate(row.figures)
        return coarse.Piece(row.t0, row.t1, n, measured, low, high, total, last, seconds)
    low, high, total, last = (math.nan if value is None else value for value in row[6:10])
    return coarse.Piece(row.t0, row.t1, row.n, row.measured, low, high, total, last)


class StepLines:
    """Reads the metrics of one run coarsely."""

    def __init__(self, tables: StepTables, points: int) -> None:
        self._tables = tables
        self._reader = StepReader(tables)
        self._points = points

    def read(
        self,
        metrics: Collection[str],
        sources: Collection[str] | None,
        ranks: Collection[int] | None,
        between: tuple[int, int] | None,
    ) -> list[StepStretches]:
        """Part every metric of every table into at most so many stretches; a part of the steps is read as it is."""
        if between is not None:
            return self._short(self._reader.tables(sources, ranks, metrics, between))
        found: list[StepStretches] = []
        for stream_id, stream in self._tables.streams():
            if (sources is None or stream.source in sources) and (ranks is None or stream.rank in ranks):
                found += self._of_stream(stream_id, stream, metrics)
        return found

    def clocks(self) -> list[StepClock]:
        """Say when steps were taken: by the ends of blocks where a table is long, by its rows where it is not."""
        found: list[StepClock] = []
        for stream_id, stream in self._tables.streams():
            headers = self._tables.block_headers(stream_id)
            if sum(block.n for block in headers) <= CLOCK_STEPS:
                tables = self._reader.tables([stream.source], [stream.rank], (), None)
                found += coarse.clocks([one for one in tables if one.writer == stream.writer], self._points)
                continue
            ends = [
                end for block in headers for end in ((block.t0_step, block.t0), (block.t1_step, block.t1))
            ]
            ends += [(row.step, row.timestamp) for row in stepchunks.waiting(self._tables, stream_id)]
            pairs = [(step, moment) for step, moment in ends if step is not None and moment is not None]
            if pairs:
                found.append(coarse.clock(stream, pairs, self._points))
        return found

    def _short(self, tables: Sequence[StepTable]) -> list[StepStretches]:
        return [
            coarse.step_stretches(table, metric, self._points)
            for table in tables
            for metric in sorted(table.columns)
        ]

    def _of_stream(self, stream_id: int, stream: Stream, metrics: Collection[str]) -> list[StepStretches]:
        tail = stepchunks.waiting(self._tables, stream_id)
        waiting = stepcolumns.table(stream, tail).columns if tail else {}
        told: dict[str, StepStretches] = {}
        rows = self._tables.metric_figures(stream_id, metrics)
        for metric, found in groupby(rows, key=lambda row: row.metric):
            own = waiting.get(metric)
            steps = [] if own is None else [tail[row].step for row in (own.rows or range(len(tail)))]
            last = _Tail(steps, () if own is None else own.values)
            line = _told(stream, metric, list(found), self._points, last)
            if line is not None:
                told[metric] = line
        rest = set(metrics) - told.keys()
        tables = self._reader.tables([stream.source], [stream.rank], rest, None) if rest else []
        short = self._short([table for table in tables if table.writer == stream.writer])
        return sorted([*told.values(), *short], key=lambda line: line.metric)


class _Tail(NamedTuple):
    """What is not sealed of a metric."""

    steps: Sequence[int]
    values: Sequence[Number]


def _told(
    stream: Stream,
    metric: str,
    rows: Sequence[MetricFigures],
    points: int,
    tail: _Tail,
) -> StepStretches | None:
    """Tell a line by figures; None where there are too few of them."""
    if 2 * sum(row.n for row in rows) < points * figures.PART_VALUES:
        return None
    parts: list[coarse.StepPiece] = []
    is_rising = stepcolumns.is_rising(tail.steps)
    for row in rows:
        if row.figures is None:
            return None
        rises, own = figures.unpack_parts(row.figures)
        is_rising = is_rising and rises
        parts += own
    parts += [coarse.step_piece(*tail)] if tail.steps else []
    is_rising = is_rising and all(one.last_step < two.first_step for one, two in pairwise(parts))
    return coarse.step_columns(stream, metric, coarse.step_grouped(parts, points), is_rising=is_rising)
