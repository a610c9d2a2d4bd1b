"""How long a training waits for its data, and what more workers or a longer queue would change.

A step takes as long as the slowest of three: computing, loading a batch by so many workers, and the CPU time of both
on the cores there are. What can mislead: on a GPU a step "ends" when its work was queued, so the time of one step is
worth little and their mean is taken; workers that share a disk or a server load no faster when there are more of them.
"""

from dataclasses import dataclass

import numpy as np

from jobmeter.analysis import configs, progress, series
from jobmeter.analysis.series import Floats
from jobmeter.model import metrics
from jobmeter.model.run import Run
from jobmeter.model.steps import StepTable
from jobmeter.model.view import RunView

FEWEST_STEPS = 16
_STARTING = 3
"""The first steps wait for workers that have only just been started."""
_NO_GAIN = 1.05
_LONGEST = 1e6
_MOST_WORKERS = 4096
DEFAULT_PREFETCH = 2
"""What a PyTorch DataLoader does unasked."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Loading:
    """How a training's steps divide into computing and waiting for data, in seconds a step."""

    step_seconds: float
    wait_seconds: float
    workers: int
    waits: Floats
    """Of every step but the first."""
    cpu_seconds: float | None
    """What one step costs all processes together; None where that was not measured."""
    cores: float | None

    @property
    def compute_seconds(self) -> float:
        """Give what a step takes once its data is there."""
        return self.step_seconds - self.wait_seconds

    @property
    def wait_ratio(self) -> float:
        """Give the share of a step that is spent waiting."""
        return self.wait_seconds / self.step_seconds

    @property
    def load_seconds(self) -> float:
        """Give what one worker takes for one batch; the most it can be where nobody waits."""
        return self.wait_seconds if self.workers == 0 else self.step_seconds * self.workers

    def with_workers(self, workers: int) -> float:
        """Predict the time of a step."""
        busy = self.cpu_seconds / self.cores if self.cpu_seconds is not None and self.cores else 0.0
        return max(self.compute_seconds, self.load_seconds / workers, busy)

    def fewest_workers(self, most: int) -> int:
        """Give the least number of workers beyond which a step is not faster by a twentieth."""
        enough = _NO_GAIN * self.with_workers(most)
        return next(workers for workers in range(1, most + 1) if self.with_workers(workers) <= enough)

    def with_queue(self, batches: int, then: int) -> float:
        """Predict the time of a step where a queue of so many batches is another then: each covers one step of a wait.

        Workers must still load everything: a slow batch took as long as its wait and the steps the queue covered.
        """
        covered = (then - batches) * self.compute_seconds
        left = float(np.maximum(self.waits - covered, 0.0).mean())
        slow = self.waits[self.waits > self.compute_seconds] + batches * self.compute_seconds
        loading = float(slow.sum()) / len(self.waits) / max(self.workers, 1)
        return max(self.compute_seconds + left, loading)


def told(view: RunView) -> Loading | None:
    """Divide the steps; None where the training does not tell how long it waited, or how many workers it has."""
    workers = configs.value_of(view.run, "num_workers")
    if not isinstance(workers, int) or isinstance(workers, bool) or not 0 <= workers <= _MOST_WORKERS:
        return None
    for table in progress.by_rank(view.steps):
        steps, waits = (_column(table, name) for name in (metrics.STEP_SECONDS, metrics.DATA_SECONDS))
        if steps is not None and waits is not None and len(steps) == len(waits):
            return _divided(view, table, workers, (steps[_STARTING:], waits[_STARTING:]))
    return None


def mean_step(view: RunView) -> float | None:
    """Give the mean time of a step, the first ones left out; None where steps do not tell it."""
    for table in progress.by_rank(view.steps):
        steps = _column(table, metrics.STEP_SECONDS)
        if steps is not None:
            return float(steps[_STARTING:].mean())
    return None


def _divided(view: RunView, table: StepTable, workers: int, times: tuple[Floats, Floats]) -> Loading | None:
    steps, waits = times
    step, wait = float(steps.mean()), float(waits.mean())
    if not 0 <= wait < step:
        return None
    return Loading(
        step_seconds=step,
        wait_seconds=wait,
        workers=workers,
        waits=waits,
        cpu_seconds=_cpu_per_step(view, table, step),
        cores=_cores(view.run),
    )


def _column(table: StepTable, quantity: str) -> Floats | None:
    name = metrics.pick(sorted(table.columns), quantity)
    if name is None:
        return None
    values = np.asarray(table.columns[name].values, float) * metrics.in_base_units(name, 1.0)
    is_time = len(values) >= FEWEST_STEPS and bool(((values >= 0) & (values < _LONGEST)).all())
    return values if is_time else None


def _cores(run: Run) -> float | None:
    cpus = run.limits.cpus
    return cpus if cpus is not None and 0 < cpus < _LONGEST else None


def _cpu_per_step(view: RunView, table: StepTable, step_seconds: float) -> float | None:
    """Give the CPU time of one step: cores in use while the steps went on, times the length of a step."""
    cpu = series.cpu_counter(view)
    if cpu is None or cpu.spans is None or table.timestamps is None:
        return None
    moments = np.asarray(table.timestamps, float)
    moments = moments[np.isfinite(moments)]
    at, used, spans = (np.asarray(part, float) for part in (cpu.times, cpu.values, cpu.spans))
    first, last = moments.min(initial=np.inf), moments.max(initial=-np.inf)
    during = (at - spans >= first) & (at <= last) & (spans > 0) & (used >= 0) & (used < 1e9)
    lasted = float(spans[during].sum())
    return float(used[during].sum()) / lasted * step_seconds if lasted > 0 else None
