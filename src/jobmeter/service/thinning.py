"""Fewer points for a chart, none of them invented, and no peak lost."""

from bisect import bisect_left
from math import isnan

from jobmeter.model.view import Series


def thin(series: Series, points: int) -> Series:
    """Keep at most `points` of a series: in every stretch of time its least and its largest.

    A counter is judged by its rate. Sums over the result are meaningless; use the run's summary.
    """
    if len(series.times) <= max(points, 4):
        return series
    kept = sorted(_kept(series, max(points, 4)))
    spans = series.spans
    return Series(
        key=series.key,
        instance=series.instance,
        times=tuple(series.times[place] for place in kept),
        values=tuple(series.values[place] for place in kept),
        spans=None if spans is None else tuple(spans[place] for place in kept),
    )


def _kept(series: Series, points: int) -> set[int]:
    heights = _heights(series)
    buckets = (points - 2) // 2
    first, last = series.times[0], series.times[-1]
    width = (last - first) / buckets
    kept = {0, len(heights) - 1}
    begin = 0
    for bucket in range(1, buckets + 1):
        end = len(heights) if bucket == buckets else bisect_left(series.times, first + bucket * width, begin)
        numbers = [place for place in range(begin, end) if not isnan(heights[place])]
        if numbers:
            kept.add(min(numbers, key=heights.__getitem__))
            kept.add(max(numbers, key=heights.__getitem__))
        begin = max(begin, end)
    return kept


def _heights(series: Series) -> list[float]:
    if series.spans is None:
        return list(series.values)
    pairs = zip(series.values, series.spans, strict=True)
    return [value / span if span > 0 else value for value, span in pairs]
