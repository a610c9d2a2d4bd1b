"""Steps, which come row by row, turned into columns with headers that answer summaries.

What can mislead: low and high are of finite values only, first and last are whatever was logged.
"""

import dataclasses
import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, islice, pairwise
from operator import le, lt
from typing import NamedTuple

from jobmeter.model.steps import Column, Number, Step, StepTable, packed
from jobmeter.stores import MetricStatistics, Pace, StepStatistics, documents


class Stream(NamedTuple):
    """Whose steps these are."""

    writer: str
    source: str
    rank: int


def streams(steps: Mapping[str, Iterable[Step]]) -> dict[Stream, list[Step]]:
    """Part steps by writer, source and rank, their order kept."""
    found: dict[Stream, list[Step]] = {}
    for writer, told in steps.items():
        by_source: dict[tuple[str, int], list[Step]] = {}
        for step in told:
            by_source.setdefault((step.source, step.rank), []).append(step)
        for (source, rank), rows in by_source.items():
            name = Stream(documents.clean(writer), documents.clean(source), rank)
            found.setdefault(name, []).extend(rows)
    return found


def placing(stream: Stream) -> tuple[str, int, str]:
    """Order streams by source, rank and writer."""
    return stream.source, stream.rank, stream.writer


def columns(rows: Sequence[Step]) -> dict[str, Column]:
    """Turn rows into columns, ordered by name; values stay as they are."""
    # rows with the same metrics are turned all at once; a loop has few shapes
    shapes: dict[tuple[str, ...], list[int]] = {}
    for place, row in enumerate(rows):
        shapes.setdefault(tuple(row.metrics), []).append(place)
    parts: dict[str, list[tuple[list[int], tuple[Number, ...]]]] = {}
    for names, places in shapes.items():
        cells = zip(*[rows[place].metrics.values() for place in places], strict=True)
        for name, values in zip(names, cells, strict=True):
            parts.setdefault(documents.clean(name), []).append((places, values))
    return {name: _join(parts[name], len(rows)) for name in sorted(parts)}


def _join(parts: list[tuple[list[int], tuple[Number, ...]]], count: int) -> Column:
    if len(parts) == 1:
        places, values = parts[0]
        return Column(None if len(places) == count else places, values)
    # two names that are cleaned to one share their places: the later one counts
    known = dict(chain.from_iterable(zip(places, values, strict=True) for places, values in parts))
    ordered = sorted(known)
    return Column(None if len(ordered) == count else ordered, [known[place] for place in ordered])


def table(stream: Stream, rows: Sequence[Step]) -> StepTable:
    """Lay rows out as a table."""
    found = {
        name: Column(_packed_places(column.rows), packed(column.values))
        for name, column in columns(rows).items()
    }
    moments = times(rows)
    return StepTable(
        writer=stream.writer,
        source=stream.source,
        rank=stream.rank,
        steps=whole(packed([row.step for row in rows])),
        timestamps=None if moments is None else packed(moments),
        columns=found,
    )


def _packed_places(places: Sequence[int] | None) -> Sequence[int] | None:
    return None if places is None else whole(packed(places))


def whole(values: Sequence[Number]) -> Sequence[int]:
    """Take numbers as what they are known to be: whole."""
    return values  # type: ignore[return-value]  # made of whole numbers


def times(rows: Sequence[Step]) -> list[float] | None:
    """Give the times of rows, NaN for one that has none; None where no row has any."""
    known = [math.nan if row.timestamp is None else row.timestamp for row in rows]
    return None if all(map(math.isnan, known)) else known


def statistics(values: Sequence[Number]) -> MetricStatistics:
    """Summarise one metric."""
    # a finite sum has finite parts; whole numbers too large for a float are told apart below
    try:
        all_finite = math.isfinite(sum(values))
    except OverflowError:
        all_finite = False
    finite = values if all_finite else [value for value in values if _is_finite(value)]
    low, high = (min(finite), max(finite)) if finite else (math.nan, math.nan)
    return MetricStatistics(len(values), len(finite), low, high, values[0], values[-1])


def _is_finite(value: Number) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def merge(parts: Sequence[MetricStatistics]) -> MetricStatistics:
    """Join the statistics of consecutive stretches of one metric."""
    some = [part for part in parts if part.finite]
    return MetricStatistics(
        sum(part.n for part in parts),
        sum(part.finite for part in parts),
        min((part.low for part in some), default=math.nan),
        max((part.high for part in some), default=math.nan),
        parts[0].first,
        parts[-1].last,
    )


def pace(steps: Sequence[int], moments: Sequence[float] | None) -> Pace:
    """Measure how long steps went forward; rows without a time are passed over."""
    if moments is None:
        return Pace()
    pairs = [(step, moment) for step, moment in zip(steps, moments, strict=True) if moment == moment]
    if not pairs:
        return Pace()
    known_steps, known_times = [step for step, _ in pairs], [moment for _, moment in pairs]
    if all(map(lt, known_steps, known_steps[1:])) and all(map(le, known_times, known_times[1:])):
        advanced, seconds = known_steps[-1] - known_steps[0], known_times[-1] - known_times[0]
    else:
        advanced, seconds = _forward(pairs)
    return Pace(known_times[0], known_steps[0], known_times[-1], known_steps[-1], advanced, round(seconds, 6))


def _forward(pairs: Sequence[tuple[int, float]]) -> tuple[int, float]:
    advanced, seconds = 0, 0.0
    for (step, moment), (next_step, next_moment) in pairwise(pairs):
        if next_step > step and next_moment >= moment:
            advanced += next_step - step
            seconds += next_moment - moment
    return advanced, seconds


def join_paces(parts: Iterable[Pace]) -> Pace:
    """Join consecutive stretches, and what lies between them."""
    whole = Pace()
    for part in parts:
        if part.t0 is None or part.t0_step is None:
            continue
        if whole.t1 is None or whole.t1_step is None:
            whole = part
            continue
        between = _forward([(whole.t1_step, whole.t1), (part.t0_step, part.t0)])
        whole = Pace(
            whole.t0,
            whole.t0_step,
            part.t1,
            part.t1_step,
            whole.advanced + between[0] + part.advanced,
            round(whole.advancing_seconds + between[1] + part.advancing_seconds, 6),
        )
    return whole


def summary(found: StepTable) -> StepStatistics:
    """Summarise a table."""
    return StepStatistics(
        writer=found.writer,
        source=found.source,
        rank=found.rank,
        count=len(found),
        last_step=found.steps[-1],
        pace=pace(found.steps, found.timestamps),
        metrics={name: statistics(column.values) for name, column in found.columns.items()},
    )


def only(found: StepTable, metrics: Collection[str]) -> StepTable:
    """Keep some metrics of a table; its rows stay."""
    kept = {name: column for name, column in found.columns.items() if name in metrics}
    return dataclasses.replace(found, columns=kept)


def is_rising(steps: Sequence[int]) -> bool:
    """Tell whether no step goes back or repeats one."""
    return all(map(lt, steps, islice(steps, 1, None)))


def _cut(found: StepTable, begin: int, end: int) -> StepTable:
    """Keep the rows from one place to another."""
    if begin == 0 and end == len(found):
        return found
    columns = {name: _cut_column(column, begin, end) for name, column in found.columns.items()}
    moments = found.timestamps
    return dataclasses.replace(
        found,
        steps=found.steps[begin:end],
        timestamps=None if moments is None else moments[begin:end],
        columns={name: column for name, column in columns.items() if column.values},
    )


def _cut_column(column: Column, begin: int, end: int) -> Column:
    if column.rows is None:
        return Column(None, column.values[begin:end])
    first, last = bisect_left(column.rows, begin), bisect_left(column.rows, end)
    rows = (
        None
        if last - first == end - begin
        else whole(packed([row - begin for row in column.rows[first:last]]))
    )
    return Column(rows, column.values[first:last])


def between_steps(found: StepTable, first: int, last: int) -> StepTable:
    """Keep the rows whose step lies between two, both included."""
    if is_rising(found.steps):
        return _cut(found, bisect_left(found.steps, first), bisect_right(found.steps, last))
    kept = [place for place, step in enumerate(found.steps) if first <= step <= last]
    if len(kept) == len(found):
        return found
    new_places = {place: new for new, place in enumerate(kept)}
    cut: dict[str, Column] = {}
    for name, column in found.columns.items():
        places = range(len(found)) if column.rows is None else column.rows
        pairs = [(new_places[p], v) for p, v in zip(places, column.values, strict=True) if p in new_places]
        if pairs:
            rows = None if len(pairs) == len(kept) else packed([place for place, _ in pairs])
            cut[name] = Column(None if rows is None else whole(rows), packed([value for _, value in pairs]))
    moments = found.timestamps
    return dataclasses.replace(
        found,
        steps=whole(packed([found.steps[place] for place in kept])),
        timestamps=None if moments is None else packed([moments[place] for place in kept]),
        columns=cut,
    )
