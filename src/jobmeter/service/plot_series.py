"""Series into lines: rates from counters, breaks where nothing was sampled, folding of long runs.

Folding must not hide a spike: where many samples become one point, the point is their mean and the
line carries the smallest and the largest beside it.
"""

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite

from jobmeter.model import panel
from jobmeter.model.view import RunView, Series

Points = tuple[list[float], list[float | None]]

SILENCE_RATIO = 10.0
"""A pause this many times the usual interval is a hole, not a slow sample."""
SILENCE_SECONDS = 5.0
GAP_RATIO = 5.0
GAP_SHARE = 0.01
"""A gap shorter than a hundredth of the plot cannot be seen in it, and is not worth breaking a line for."""
LARGEST = 1e300
"""What is larger cannot be added up or drawn; it is left out as what is not finite is."""
EDGE = 1e-6
"""Share of a bucket by which a time may miss its edge and still lie on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The time axis all lines of a plot share."""

    start: float
    seconds: float
    buckets: int
    gap: float = inf
    """A gauge not read for longer than this is not known in between: its line breaks."""
    silences: tuple[tuple[float, float], ...] = ()
    """Stretches in which nothing at all was read."""
    counts_steps: bool = False
    """Whether it counts steps of a training instead of seconds, because nothing says when they were."""


def axis_of(view: RunView, buckets: int, others: Sequence[float] = ()) -> Axis:
    """Lay the time axis of a run: from its start to its end, or to the last thing known of it."""
    firsts = [s.times[0] - (s.spans[0] if s.spans else 0.0) for s in view.series.values() if s.times]
    lasts = [s.times[-1] for s in view.series.values() if s.times] + [e.timestamp for e in view.events]
    firsts, lasts = [*firsts, *others], [*lasts, *others]
    start = view.run.started_at if view.run.started_at is not None else min(firsts, default=0.0)
    ends = [last - start for last in lasts]
    if view.run.wall_seconds is not None:
        ends.append(view.run.wall_seconds)
    seconds = max([*ends, 0.0])
    times = sorted(_moments(view))
    usual = _usual_gap(times)
    return Axis(
        start=start,
        seconds=seconds,
        buckets=buckets,
        gap=max(GAP_RATIO * usual, GAP_SHARE * seconds),
        silences=_silences(times, start, usual),
    )


def sample_count(view: RunView) -> int:
    """Count the moments at which anything of the whole job was read."""
    return len(_moments(view))


def _moments(view: RunView) -> set[float]:
    whole = [s.times for s in view.series.values() if s.instance == ""]
    return set().union(*(whole or [s.times for s in view.series.values()]))


def _usual_gap(times: list[float]) -> float:
    gaps = sorted(after - before for before, after in itertools.pairwise(times))
    return gaps[len(gaps) // 2] if gaps else 0.0


def _silences(times: list[float], start: float, usual: float) -> tuple[tuple[float, float], ...]:
    longest = max(SILENCE_RATIO * usual, SILENCE_SECONDS)
    return tuple(
        (before - start, after - start)
        for before, after in itertools.pairwise(times)
        if after - before > longest
    )


def gauge_points(series: Series, axis: Axis, scale: float = 1.0) -> Points:
    """Place a gauge's readings on the axis, with a break where it was not read for long."""
    start = axis.start
    times = [moment - start for moment in series.times]
    values = [value * scale if isfinite(value) else None for value in series.values]
    # processes are written only when they move: their silence is a value that holds
    if axis.gap < axis.seconds and series.instance == "":
        for after in range(len(times) - 1, 0, -1):
            if times[after] - times[after - 1] > axis.gap:
                times.insert(after, times[after])
                values.insert(after, None)
    return times, values


def rate_points(series: Series, axis: Axis, scale: float = 1.0) -> Points:
    """Turn a counter's deltas into rates; a stretch no delta covers stays empty."""
    times: list[float] = []
    values: list[float | None] = []
    last = -inf
    for begin, end, rate in spans(series, axis):
        if begin - last > 0.5 * (end - begin):
            times.append(begin)
            values.append(None)
        times.append(end)
        values.append(rate * scale)
        last = end
    return times, values


def spans(series: Series, axis: Axis) -> Iterable[tuple[float, float, float]]:
    """Yield begin, end and rate of every delta; imported counters have no spans, so the gap serves."""
    covers = series.spans or (0.0, *(after - before for before, after in itertools.pairwise(series.times)))
    start = axis.start
    for moment, value, covered in zip(series.times, series.values, covers, strict=True):
        if covered > 0 and isfinite(value):
            end = moment - start
            begin = end - covered
            yield begin if begin > 0.0 else 0.0, end, value / covered


def peak_of(times: Sequence[float], values: Sequence[float | None]) -> tuple[float, float] | None:
    """Find the largest value and its moment; None where nothing was measured."""
    best: tuple[float, float] | None = None
    for seconds, value in zip(times, values, strict=True):
        if value is not None and (best is None or value > best[0]):
            best = value, seconds
    return best


def make_line(
    points: Points, axis: Axis, *, step: bool, label: str, key: str, role: panel.Role
) -> panel.Line:
    """Build a line, folded to at most as many points as the axis has buckets."""
    times, values = points
    if len(times) <= 2 * axis.buckets:
        return panel.Line(
            label=label, key=key, role=role, step=step, times=tuple(times), values=tuple(values)
        )
    folded = _fold(times, values, axis.buckets, step=step)
    return panel.Line(
        label=label,
        key=key,
        role=role,
        step=step,
        times=tuple(point[0] for point in folded),
        values=tuple(point[1] for point in folded),
        low=tuple(point[2] for point in folded),
        high=tuple(point[3] for point in folded),
    )


Folded = tuple[float, float | None, float | None, float | None]


def _fold(times: list[float], values: list[float | None], buckets: int, *, step: bool) -> list[Folded]:
    first, width = times[0], (times[-1] - times[0]) / buckets
    folded: list[Folded] = []
    begin = 0
    while begin < len(times):
        # the bucket is found from the time itself, so a long pause leaves buckets out instead of inventing points
        place = (times[begin] - first) / width
        # a rate holds up to its time, so a point on an edge belongs to the bucket that ends there
        bucket = min(max(ceil(place - EDGE) - 1, 0) if step else int(place + EDGE), buckets - 1)
        edge = first + (bucket + 1) * width + (EDGE if step else -EDGE) * width
        last_bucket = bucket == buckets - 1
        end = len(times) if last_bucket else max(bisect_right(times, edge, begin), begin + 1)
        if values[begin] is None and (not folded or folded[-1][1] is not None):
            folded.append((times[begin], None, None, None))
        folded.append(_fold_one(times, values, begin, end, step=step))
        begin = end
    return folded


def _fold_one(times: list[float], values: list[float | None], begin: int, end: int, *, step: bool) -> Folded:
    moment = times[end - 1] if step else (times[begin] + times[end - 1]) / 2
    inside = [value for value in values[begin:end] if value is not None]
    if not inside:
        return moment, None, None, None
    mean = _weighted(times, values, begin, end) if step else sum(inside) / len(inside)
    return moment, inside[-1] if mean is None else mean, min(inside), max(inside)


def _weighted(times: list[float], values: list[float | None], begin: int, end: int) -> float | None:
    """Weigh every rate by how long it held; None where that was no time at all."""
    held = [times[index] - times[index - 1] if index else 1.0 for index in range(begin, end)]
    pairs = [
        (value, seconds) for value, seconds in zip(values[begin:end], held, strict=True) if value is not None
    ]
    total = sum([seconds for _, seconds in pairs])
    return sum([value * seconds for value, seconds in pairs]) / total if total > 0 else None
