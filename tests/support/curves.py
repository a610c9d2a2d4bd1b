"""Series with shapes that a person would recognise, as runs that detectors look at."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis import series
from jobmeter.analysis.series import Curve, Resource
from jobmeter.model.measurement import Kind, Measurement, Scope, Unit
from jobmeter.model.run import Status
from jobmeter.model.steps import Step, Steps
from jobmeter.model.view import RunView, Series
from support import views

GIB, MIB = views.GIB, views.MIB
STARTED = views.STARTED

DEFINITIONS: tuple[Measurement, ...] = (
    views.define("cgroup_mem_unreclaimable", Kind.GAUGE, Unit.BYTES),
    views.define("cgroup_mem_current", Kind.GAUGE, Unit.BYTES),
    views.define("cgroup_cputime", Kind.COUNTER, Unit.SECONDS),
    views.define("wait_read_bytes", Kind.COUNTER, Unit.BYTES),
    views.define("wait_write_bytes", Kind.COUNTER, Unit.BYTES),
    views.define("wait_rchar", Kind.COUNTER, Unit.BYTES),
    views.define("ps_pcpu_total", Kind.GAUGE, Unit.PERCENT),
    views.define("buildstats_cpu", Kind.GAUGE, Unit.PERCENT, Scope.HOST),
    views.define("buildstats_mem_used", Kind.GAUGE, Unit.BYTES, Scope.HOST),
    views.define("nvml_util", Kind.GAUGE, Unit.PERCENT, Scope.DEVICE),
    views.define("nvml_proc_mem_total", Kind.GAUGE, Unit.BYTES),
    views.define("nvml_mem_used", Kind.GAUGE, Unit.BYTES, Scope.DEVICE),
)

Values = Sequence[float] | NDArray[np.float64]


def noise(count: int, deviation: float, seed: int = 1) -> NDArray[np.float64]:
    """Draw Gaussian noise, the same every time."""
    return np.random.default_rng(seed).normal(0.0, deviation, count)


def gauge(key: str, values: Values, *, every: float = 1.0, instance: str = "") -> Series:
    """Lay values out one after another."""
    return views.gauge(key, [(every * (place + 1), value) for place, value in enumerate(values)], instance)


def rate(key: str, values: Values, *, every: float = 1.0) -> Series:
    """Lay out the deltas of a counter whose rate has these values."""
    points = [(every * (place + 1), every * value) for place, value in enumerate(values)]
    return views.counter(key, points, span=every)


def memory(values: Values, *, every: float = 1.0) -> Series:
    """Lay out the memory of a job."""
    return gauge("cgroup_mem_unreclaimable", values, every=every)


def cpu(cores: Values, *, every: float = 1.0) -> Series:
    """Lay out the cores a job used."""
    return rate("cgroup_cputime", cores, every=every)


def run(*found: Series, **facts: Any) -> RunView:
    """Build a completed run out of series; keywords replace its facts, and the view's events and steps."""
    more = {name: facts.pop(name) for name in ("steps", "history") if name in facts}
    status = facts.pop("status", Status.COMPLETED)
    made = views.view(found, DEFINITIONS, status=status, **facts)
    return replace(made, **more)


def curve(one: Series) -> Curve:
    """Give the curve of a series."""
    resource = next(resource for resource, ladder in series.LADDER.items() if one.key in ladder)
    return next(series.curves(run(one), resource))


def training(times: Values, *, source: str = "sdk", rank: int = 0, **metrics: Values) -> Steps:
    """Build steps 1, 2, 3 ... that ended at these seconds after the start."""
    rows = [
        Step(
            timestamp=STARTED + float(seconds),
            step=place + 1,
            rank=rank,
            source=source,
            metrics={name.replace("__", "/"): float(values[place]) for name, values in metrics.items()},
        )
        for place, seconds in enumerate(times)
    ]
    return views.steps(*rows)


__all__ = [
    "GIB",
    "MIB",
    "STARTED",
    "Resource",
    "cpu",
    "curve",
    "gauge",
    "memory",
    "noise",
    "rate",
    "run",
    "training",
]
