"""Averages, extremes and trends of collected samples, per rank and over all. What was not measured is left out.

Numbers that are not finite are counted, never averaged. A trend is a straight line laid through the samples:
it is `rising` or `falling` only where its change is larger than the scatter around it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from jobmeter.fleet.metrics import QUANTITIES, TrainingMetrics, efficiency

Shape = dict[str, object]

_SHORT_NAMES = {"gpu_util": "gpu_util", "throughput_tokens_sec": "throughput", "training_loss": "loss"}
"""Averages that also stand at the top, under the names people know."""
_SHORTEST_TREND = 3
_STEADY_SHARE = 0.001
_LARGEST_OF_TREND = 1e150
"""The square of anything larger is no number any more."""


def of_job(samples: Mapping[int, Sequence[TrainingMetrics]]) -> Shape:
    """Describe a job: every field over all ranks, every rank by itself, and the newest time."""
    everything = sorted((one for rank in samples.values() for one in rank), key=lambda one: one.timestamp)
    best = best_throughput(everything)
    overall = of_samples(everything, best)
    shape: Shape = {"ranks": len(samples), "total_metrics": len(everything)}
    for name, short in _SHORT_NAMES.items():
        _put(shape, f"avg_{short}", _average(overall.get(name)))
    _put(shape, "avg_efficiency", _average(overall.get("efficiency")))
    if everything:
        shape["latest_timestamp"] = everything[-1].to_dict()["timestamp"]
    shape["overall"] = overall
    shape["per_rank"] = {rank: of_samples(told, best) for rank, told in sorted(samples.items())}
    return shape


def best_throughput(samples: Iterable[TrainingMetrics]) -> float | None:
    """Find the best finite tokens per second."""
    told = (sample.throughput_tokens_sec for sample in samples)
    return max((value for value in told if value is not None and math.isfinite(value)), default=None)


def of_samples(samples: Sequence[TrainingMetrics], best: float | None) -> Shape:
    """Describe one row of samples, oldest first."""
    shape: Shape = {"count": len(samples)}
    for name in QUANTITIES:
        told = [value for one in samples if (value := getattr(one, name)) is not None]
        if told:
            shape[name] = of_values(told)
    scores = [score for one in samples if (score := efficiency(one, best)) is not None]
    if scores:
        shape["efficiency"] = of_values(scores)
    return shape


def of_values(values: Sequence[float]) -> Shape:
    """Describe numbers in order: how many, average, extremes, the last, and where they go."""
    finite = [value for value in values if math.isfinite(value)]
    shape: Shape = {"count": len(values)}
    if len(finite) < len(values):
        shape["not_finite"] = len(values) - len(finite)
    if not finite:
        return shape
    shape |= {"average": average(finite), "min": min(finite), "max": max(finite), "last": finite[-1]}
    if len(finite) >= _SHORTEST_TREND and max(map(abs, finite)) < _LARGEST_OF_TREND:
        shape |= trend(finite)
    return shape


def average(values: Sequence[float]) -> float:
    """Average finite numbers, those included whose sum is none."""
    try:
        return fmean(values)
    except OverflowError:
        return sum(value / len(values) for value in values)


def trend(values: Sequence[float]) -> Shape:
    """Lay a line through the values: its change from the first to the last, and what that amounts to."""
    count = len(values)
    middle, mean = (count - 1) / 2, fmean(values)
    spread = sum((place - middle) ** 2 for place in range(count))
    slope = sum((place - middle) * (value - mean) for place, value in enumerate(values)) / spread
    scatter = math.sqrt(
        fmean((value - mean - slope * (place - middle)) ** 2 for place, value in enumerate(values))
    )
    change = slope * (count - 1)
    steady = abs(change) <= max(scatter, _STEADY_SHARE * abs(mean))
    return {"change": change, "trend": "steady" if steady else "rising" if change > 0 else "falling"}


def _average(shape: object) -> object:
    return shape.get("average") if isinstance(shape, dict) else None


def _put(shape: Shape, key: str, value: object) -> None:
    if value is not None:
        shape[key] = value
