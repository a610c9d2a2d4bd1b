"""Lines for charts: the figures of stretches of points, from the points or from the figures of smaller stretches."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import truediv
from typing import NamedTuple

from jobmeter.model.measurement import Kind
from jobmeter.model.run import Run
from jobmeter.model.steps import Number, StepTable
from jobmeter.model.stretches import StepClock, StepStretches, Stretches
from jobmeter.model.view import Series
from jobmeter.stores import columns, stepcolumns


def counters(run: Run) -> frozenset[str]:
    """Name the keys of a run whose rates charts show."""
    return frozenset(key for key, definition in run.definitions.items() if definition.kind is Kind.COUNTER)


class Piece(NamedTuple):
    """The figures of consecutive points of a series; `seconds` is what a rate's points cover, None of other values."""

    begin: float
    end: float
    n: int
    measured: int
    low: float
    high: float
    total: float
    last: float
    seconds: float | None = None

    @property
    def mean(self) -> float:
        """The mean of what was measured; NaN where nothing was."""
        if self.seconds is not None:
            return self.total / self.seconds if self.seconds > 0 else math.nan
        return self.total / self.measured if self.measured else math.nan


def edges(count: int, most: int) -> list[int]:
    """Part so many points into at most so many stretches of almost the same number."""
    stretches = max(1, min(count, most))
    return [count * number // stretches for number in range(stretches + 1)]


def pieces(series: Series, most: int) -> list[Piece]:
    """Part a series into at most so many stretches; one with spans is a counter, and becomes a rate."""
    return [
        piece(series, begin, end) for begin, end in pairwise(edges(len(series.times), most)) if begin < end
    ]


def piece(series: Series, begin: int, end: int) -> Piece:
    """Sum some points of a series up."""
    ends = series.times[begin], series.times[end - 1]
    values = series.values[begin:end]
    if series.spans is None:
        found = columns.statistics(values)
        return Piece(*ends, len(values), found.n, found.low, found.high, found.total, found.last)
    n, measured, low, high, total, last, seconds = rate(values, series.spans[begin:end])
    return Piece(*ends, n, measured, low, high, total, last, seconds)


class Rate(NamedTuple):
    """The figures of a counter's rate."""

    n: int
    measured: int
    low: float
    high: float
    total: float
    last: float
    seconds: float


def rate(values: Sequence[float], spans: Sequence[float]) -> Rate:
    """Sum a counter's rate up; a point that covers no time has none."""
    if min(spans) > 0 and not math.isnan(sum(values)):
        rates = list(map(truediv, values, spans))
        kept, covered, known = values, spans, rates
    else:
        rates = [value / span if span > 0 else math.nan for value, span in zip(values, spans, strict=True)]
        places = [place for place, one in enumerate(rates) if not math.isnan(one)]
        known = [rates[place] for place in places]
        kept, covered = [values[place] for place in places], [spans[place] for place in places]
    low, high = (min(known), max(known)) if known else (math.nan, math.nan)
    return Rate(len(values), len(known), low, high, sum(kept), rates[-1], sum(covered))


def joined(parts: Sequence[Piece]) -> Piece:
    """Sum consecutive stretches up as one."""
    if len(parts) == 1:
        return parts[0]
    some = [part for part in parts if part.measured]
    lows, highs = [part.low for part in some], [part.high for part in some]
    seconds = [part.seconds for part in some if part.seconds is not None]
    is_rate = parts[0].seconds is not None
    return Piece(
        begin=parts[0].begin,
        end=max(part.end for part in parts),
        n=sum(part.n for part in parts),
        measured=sum(part.measured for part in some),
        low=min(lows, default=math.nan),
        high=max(highs, default=math.nan),
        total=sum(part.total for part in some),
        last=parts[-1].last,
        seconds=sum(seconds) if is_rate else None,
    )


def grouped(parts: Sequence[Piece], most: int) -> list[Piece]:
    """Join neighbours until there are at most so many stretches."""
    if len(parts) <= most:
        return list(parts)
    return [joined(parts[begin:end]) for begin, end in pairwise(edges(len(parts), most))]


def stretches(name: columns.Name, parts: Iterable[Piece]) -> Stretches:
    """Lay stretches out in columns; times never go backwards."""
    known = list(parts)
    begins = columns.rising(part.begin for part in known)
    return Stretches(
        key=name[0],
        instance=name[1],
        begins=begins,
        ends=columns.rising(map(max, begins, (part.end for part in known))),
        counts=[part.n for part in known],
        lows=[part.low for part in known],
        highs=[part.high for part in known],
        means=[part.mean for part in known],
        lasts=[part.last for part in known],
        is_rate=bool(known) and known[0].seconds is not None,
    )


class StepPiece(NamedTuple):
    """The figures of consecutive values of a metric."""

    first_step: int
    last_step: int
    n: int
    finite: int
    low: Number
    high: Number
    last: Number


def step_stretches(table: StepTable, metric: str, most: int) -> StepStretches:
    """Part one metric of a table into stretches."""
    column = table.columns[metric]
    steps = (
        table.steps if column.rows is None else stepcolumns.whole([table.steps[row] for row in column.rows])
    )
    parts = [
        step_piece(steps[begin:end], column.values[begin:end])
        for begin, end in pairwise(edges(len(steps), most))
    ]
    stream = stepcolumns.Stream(table.writer, table.source, table.rank)
    return step_columns(stream, metric, parts, is_rising=stepcolumns.is_rising(steps))


def step_piece(steps: Sequence[int], values: Sequence[Number]) -> StepPiece:
    """Sum some values of a metric up."""
    found = stepcolumns.statistics(values)
    return StepPiece(steps[0], steps[-1], found.n, found.finite, found.low, found.high, found.last)


def step_grouped(parts: Sequence[StepPiece], most: int) -> Sequence[StepPiece]:
    """Join neighbours until there are at most so many stretches."""
    if len(parts) <= most:
        return parts
    return [_step_joined(parts[begin:end]) for begin, end in pairwise(edges(len(parts), most))]


def _step_joined(parts: Sequence[StepPiece]) -> StepPiece:
    some = [part for part in parts if part.finite]
    return StepPiece(
        first_step=parts[0].first_step,
        last_step=parts[-1].last_step,
        n=sum(part.n for part in parts),
        finite=sum(part.finite for part in some),
        low=min((part.low for part in some), default=math.nan),
        high=max((part.high for part in some), default=math.nan),
        last=parts[-1].last,
    )


def step_columns(
    stream: stepcolumns.Stream, metric: str, parts: Sequence[StepPiece], *, is_rising: bool
) -> StepStretches:
    """Lay stretches of a metric out in columns."""
    return StepStretches(
        writer=stream.writer,
        source=stream.source,
        rank=stream.rank,
        metric=metric,
        is_rising=is_rising,
        first_steps=[part.first_step for part in parts],
        last_steps=[part.last_step for part in parts],
        counts=[part.n for part in parts],
        finites=[part.finite for part in parts],
        lows=[part.low for part in parts],
        highs=[part.high for part in parts],
        lasts=[part.last for part in parts],
    )


def clocks(tables: Iterable[StepTable], most: int) -> list[StepClock]:
    """Say when the steps of tables were taken; one without times is left out."""
    found = []
    for table in tables:
        pairs = [
            (step, moment)
            for step, moment in zip(table.steps, table.timestamps or (), strict=table.timestamps is not None)
            if moment == moment
        ]
        if pairs:
            found.append(clock(stepcolumns.Stream(table.writer, table.source, table.rank), pairs, most))
    return found


def clock(stream: stepcolumns.Stream, pairs: Sequence[tuple[int, float]], most: int) -> StepClock:
    """Keep at most so many of some steps with their times, the first and the last among them."""
    gaps = max(1, min(len(pairs), most) - 1)
    kept = [pairs[(len(pairs) - 1) * place // gaps] for place in range(min(len(pairs), gaps + 1))]
    return StepClock(
        writer=stream.writer,
        source=stream.source,
        rank=stream.rank,
        steps=[step for step, _ in kept],
        times=[moment for _, moment in kept],
    )
