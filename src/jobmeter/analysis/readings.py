"""Single keys as detectors over resources want them: clean arrays of a series, numbers of the summary, thresholds.

`series.curves` chooses among keys that mean the same and lays them on a grid; here a detector names the key it
means. What makes no sense (NaN, a counter that went back, a span of nothing) is left out.
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from jobmeter.analysis.series import Curve, Floats
from jobmeter.model import units
from jobmeter.model.run import Run
from jobmeter.model.view import RunView, Series

WARNING_RATIO = 0.85
CRITICAL_RATIO = 0.95
"""Of a memory limit; what the job's own config says under `monitoring` wins."""
_ABSURD = 1e30


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """One key of one instance, every value finite and not negative."""

    key: str
    instance: str
    times: Floats
    values: Floats
    spans: Floats
    """Seconds each value of a counter covers; 0 for gauges."""

    @property
    def rates(self) -> Floats:
        """Values of a counter by second; 0 where nobody said which time they cover."""
        return np.divide(self.values, self.spans, out=np.zeros(len(self.values)), where=self.spans > 0)


def first(view: RunView, *keys: str) -> Readings | None:
    """Give the first of some keys that was recorded for the whole job or machine."""
    return next((found for key in keys if (found := of(view, key)) is not None), None)


def of(view: RunView, key: str, instance: str = "") -> Readings | None:
    """Give one key of one instance; None where nothing of it makes sense."""
    series = view.series.get((key, instance))
    return None if series is None else _clean(series)


def _clean(series: Series) -> Readings | None:
    times, values = np.asarray(series.times, float), np.asarray(series.values, float)
    spans = np.zeros(len(times)) if series.spans is None else np.asarray(series.spans, float)
    known = np.isfinite(times) & (values >= 0) & (values < _ABSURD)
    if series.spans is not None:
        known &= (spans > 0) & (spans < _ABSURD)
    if not known.any():
        return None
    if not known.all():
        times, values, spans = times[known], values[known], spans[known]
    return Readings(series.key, series.instance, times, values, spans)


def beside(readings: Readings, curve: Curve) -> Floats:
    """Say what a curve showed at the moments of some readings."""
    return np.interp(readings.times, curve.times, curve.values)


def number(run: Run, *keys: str) -> float | None:
    """Give the first number of some in the summary; None where none was measured."""
    for key in keys:
        value = run.summary.get(key)
        if isinstance(value, int | float) and isfinite(value):
            return float(value)
    return None


def used_cores(run: Run) -> float | None:
    """Say how many cores the job used in the mean; None where nobody counted, or it took no time."""
    cpu = run.headline.get("cpu_seconds")
    return None if cpu is None else units.mean_cores(cpu.value, run.wall_seconds)


def limit_source(run: Run, limit: str) -> str | None:
    """Say who sets a limit (`memory` or `cpus`): `cgroup`, `slurm`, `affinity`, `host`; None where nobody said."""
    limits = run.context.get("limits")
    source = limits.get(f"{limit}_source") if isinstance(limits, dict) else None
    return source if isinstance(source, str) else None


def thresholds(run: Run) -> tuple[float, float]:
    """Give which parts of a memory limit are worth a warning and critical."""
    wishes = run.context.get("monitoring")
    given = wishes if isinstance(wishes, dict) else {}
    warning = _ratio(given.get("memory_warning_threshold"), WARNING_RATIO)
    return warning, max(warning, _ratio(given.get("memory_critical_threshold"), CRITICAL_RATIO))


def _ratio(value: object, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) and 0 < value <= 1 else otherwise
