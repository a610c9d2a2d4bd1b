"""A small law fitted to what a job did before, so that a change can be predicted: memory by batch size.

`a + b * batch`: what a training always needs, and what every sample of a batch adds. Two different batches are the
least; runs whose other settings differ (workers, checkpointing, resolution) are not mixed. What can mislead: memory
is bought in blocks, so a fit is never better than a percent or two, and the interval says at least 3 %.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np

from jobmeter.analysis import configs
from jobmeter.analysis.series import LADDER, Resource
from jobmeter.model import metrics
from jobmeter.model.run import Run, Status
from jobmeter.model.view import RunView, Series

LEAST_SHARE = 0.03
"""Of a predicted value: no interval is narrower to either side, and it widens beyond what was seen."""
_T90 = (0.0, 6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81)
"""Student's t that holds nine of ten, by degrees of freedom."""
_T90_MANY = 1.7
_SAME = ("num_workers", "gradient_checkpointing", "resolution", "sequence_length", "ema", "quantise", "qtype")
_RESOURCES = {"memory_peak_bytes": Resource.MEMORY, "gpu_memory_peak_bytes": Resource.GPU_MEMORY}
_FEWEST_SAMPLES = 3

Point = tuple[float, float]
"""A batch size and the bytes it took."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A predicted value and the interval it should fall into nine times of ten."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """`fixed + slope * x` with the scatter of what it was fitted to."""

    fixed: float
    slope: float
    scatter: float
    free: int
    """Points beyond those the line must go through."""
    points: tuple[Point, ...]

    def at(self, x: float) -> Estimate:
        """Predict the value at x; further from what was seen the interval is wider."""
        value = self.fixed + self.slope * x
        xs = [point[0] for point in self.points]
        middle = sum(xs) / len(xs)
        spread = sum((one - middle) ** 2 for one in xs)
        factor = _T90[self.free] if self.free < len(_T90) else _T90_MANY
        reach = sqrt(1 + 1 / len(xs) + (x - middle) ** 2 / spread)
        beyond = max(0.0, x - max(xs), min(xs) - x) / (max(xs) - min(xs))
        half = max(factor * self.scatter * reach, LEAST_SHARE * sqrt(1 + beyond) * abs(value))
        return Estimate(value, value - half, value + half)

    def largest(self, limit: float) -> int:
        """Give the largest whole x whose value is within a limit, by the upper end of the interval."""
        room = limit / (1 + LEAST_SHARE) - self.fixed
        x = int(max(0.0, min(room / self.slope, 1e9)))
        while x > 0 and self.at(x).high > limit:
            x -= max(1, x // 64)
        return x


def line(points: Sequence[Point]) -> Line | None:
    """Fit a rising line; None with fewer than two different places, or where more does not take more."""
    known = [point for point in points if all(isfinite(part) and 0 < part < 1e18 for part in point)]
    if len({x for x, _ in known}) < 2:
        return None
    xs, ys = np.array([x for x, _ in known]), np.array([y for _, y in known])
    slope = float(((xs - xs.mean()) * (ys - ys.mean())).sum() / ((xs - xs.mean()) ** 2).sum())
    fixed = float(ys.mean() - slope * xs.mean())
    if slope <= 0 or not isfinite(slope):
        return None
    free = len(known) - 2
    if fixed < 0:
        # less than nothing is never needed: the line goes through the origin instead
        fixed, slope, free = 0.0, float((xs * ys).sum() / (xs * xs).sum()), free + 1
    scatter = sqrt(float(((ys - fixed - slope * xs) ** 2).sum()) / free) if free else 0.0
    return Line(fixed, slope, scatter, free, tuple(sorted(known)))


def by_batch(view: RunView, quantity: str) -> Line | None:
    """Fit the peak of a memory to the batch size, over this run and earlier ones of the same settings."""
    own = list(_within(view, quantity))
    if len({batch for batch, _ in own}) < 2:
        own = list(_whole(view.run, quantity))
    earlier = [run for run in view.history if run.status is Status.COMPLETED and _alike(run, view.run)]
    return line([*own, *(point for run in earlier for point in _whole(run, quantity))])


def batch_of(run: Run) -> float | None:
    """Give the batch size a run had all along: what its config says, else what its steps do."""
    told = configs.value_of(run, "batch_size")
    if isinstance(told, int | float) and not isinstance(told, bool):
        return float(told) if 0 < told < 1e9 else None
    summary = None if run.steps is None else run.steps.metrics.get(metrics.BATCH_SIZE)
    if summary is None or summary.low is None or summary.low != summary.high or not 0 < summary.low < 1e9:
        return None
    return float(summary.low)


def _whole(run: Run, quantity: str) -> Iterator[Point]:
    """Give the peak of a run that had one batch size."""
    batch, peak = batch_of(run), run.headline.get(quantity)
    if batch is not None and peak is not None and run.status is Status.COMPLETED:
        yield batch, peak.value


def _alike(one: Run, other: Run) -> bool:
    """Tell whether two runs differ in their batch only, as far as is known."""
    return all(configs.value_of(one, name) == configs.value_of(other, name) for name in _SAME)


def _within(view: RunView, quantity: str) -> Iterator[Point]:
    """Give the peak of every stretch of a run between changes of its batch size."""
    changes = [
        (event.timestamp, float(size))
        for event in view.events
        if event.type == "batch_size_changed" and (size := _new_size(event.details)) is not None
    ]
    memory = _memory(view, quantity)
    if not changes or memory is None:
        return
    times, values = np.asarray(memory.times, float), np.asarray(memory.values, float)
    ends = [*(begin for begin, _ in changes[1:]), np.inf]
    for (begin, batch), end in zip(changes, ends, strict=True):
        held = values[(times > begin) & (times < end)]
        if len(held) >= _FEWEST_SAMPLES:
            yield batch, float(held.max())


def _new_size(details: dict[str, object]) -> int | None:
    size = details.get("batch_size", details.get("to"))
    return size if isinstance(size, int) and not isinstance(size, bool) and 0 < size < 1e9 else None


def _memory(view: RunView, quantity: str) -> Series | None:
    for key in LADDER[_RESOURCES[quantity]]:
        if (key, "") in view.series:
            return view.series[key, ""]
    return None
