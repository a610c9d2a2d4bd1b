"""Series as detectors want them: one curve per resource of the job, on an even grid, in one unit.

A job's memory may have been measured in five ways; the best that was recorded is taken, the same for every
detector, and its key is named in what they find. Cells without a sample are left out: a gap is not zero.

What can mislead: a cell is as wide as the usual distance of two samples, in a long run wider (`MOST_CELLS`);
its value is the mean over the cell, and what happened inside it shows in `lows` and `highs` of gauges only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from jobmeter.model import units
from jobmeter.model.measurement import GPU_TOOLS, PROCESS_TOOLS, Kind, Unit
from jobmeter.model.run import Run
from jobmeter.model.view import RunView, Series

Floats = NDArray[np.float64]

MOST_CELLS = 4096
FEWEST_CELLS = 5
"""With fewer there is no shape to speak of."""
MEBI = 1 << 20
_UUID, _SHORT_UUID = "GPU-", 12
_ABSURD = 1e30
"""No job uses so much of anything; squares of it are still numbers."""


class Resource(Enum):
    """What a job uses; the value is how a person would call it."""

    CPU = "CPU"
    MEMORY = "memory"
    READ = "reading"
    WRITE = "writing"
    GPU = "GPU"
    GPU_MEMORY = "GPU memory"


LADDER: dict[Resource, tuple[str, ...]] = {
    Resource.CPU: (
        *("cgroup_cputime", "wait_cputime"),
        *(f"{tool}_cputime_total" for tool in PROCESS_TOOLS),
        *(f"{tool}_pdcpu_total" for tool in PROCESS_TOOLS),
        *("ps_pcpu_total", "ps_pcpu", "docker_cputime", "docker_pcpu", "buildstats_cpu"),
        "cgroup_outer_cputime",
    ),
    # never `cgroup_mem_current` or `docker_mem_usage`: page cache fills them, which looks like a leak and is none
    Resource.MEMORY: (
        "cgroup_mem_unreclaimable",
        *(f"{tool}_rss_total" for tool in PROCESS_TOOLS),
        *("docker_mem_used", "buildstats_mem_used", "cgroup_outer_mem_unreclaimable"),
    ),
    Resource.READ: ("wait_read_bytes", "cgroup_io_read", "docker_blk_read", "buildstats_io_read"),
    Resource.WRITE: ("wait_write_bytes", "cgroup_io_write", "docker_blk_write", "buildstats_io_write"),
    Resource.GPU: tuple(f"{tool}_util" for tool in GPU_TOOLS),
    Resource.GPU_MEMORY: (
        *(f"{tool}_proc_mem_total" for tool in GPU_TOOLS),
        *(f"{tool}_mem_used" for tool in GPU_TOOLS),
    ),
}
"""The keys that show a resource over time, the best first."""

_BUSY_CHARS = ("wait_rchar", "wait_wchar", "netns_rx", "netns_tx")
"""Reading from a pipe or a socket is work too; only who asks whether a job did anything at all needs these."""


def keys_of(run: Run) -> frozenset[str]:
    """Name the keys the detectors over series look at, so that no other need be read."""
    wanted = {key for ladder in LADDER.values() for key in ladder} | set(_BUSY_CHARS)
    return frozenset(wanted & set(run.definitions))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """One resource over the run."""

    resource: Resource
    key: str
    instance: str
    unit: str
    """`bytes`, `bytes_per_second`, `cores` or `percent`; figures are named by it."""
    floor: float
    """What is too little to speak of, in that unit."""
    times: Floats
    """When each cell ended: wall clock seconds since the epoch."""
    values: Floats
    lows: Floats
    highs: Floats
    step_seconds: float
    begin: float
    """The moment the first cell began, not before the run did."""

    def __len__(self) -> int:
        return len(self.times)

    @property
    def end(self) -> float:
        """The moment the last cell ended."""
        return float(self.times[-1])

    @property
    def subject(self) -> str:
        """Say whose it is: `memory`, `memory of GPU 0`, `use of GPU-3fa9c1d2`."""
        if not self.instance:
            return self.resource.value
        match self.resource:
            case Resource.GPU:
                return f"use of {gpu_label(self.instance)}"
            case Resource.GPU_MEMORY:
                return f"memory of {gpu_label(self.instance)}"
            case _:
                return f"{self.resource.value} of {self.instance}"

    def show(self, value: float) -> str:
        """Render a value of this curve for people."""
        match self.unit:
            case "bytes":
                return units.format_bytes(value)
            case "bytes_per_second":
                return f"{units.format_bytes(value)}/s"
            case "percent":
                return units.format_percent(value)
            case _:
                return f"{value:.2f} cores" if value < 9.995 else f"{value:.1f} cores"


def gpu_label(instance: str) -> str:
    """Name a GPU: `GPU 0`, `GPU-3fa9c1d2`."""
    return instance[:_SHORT_UUID] if instance.startswith(_UUID) else f"GPU {instance}"


_FLOORS = {"bytes": 32.0 * MEBI, "bytes_per_second": 4.0 * MEBI, "cores": 0.25, "percent": 10.0}


def curves(view: RunView, *resources: Resource) -> Iterator[Curve]:
    """Give the curves of some resources that were recorded well enough to have a shape."""
    for resource in resources:
        key = next((key for key in LADDER[resource] if _instances(view, key)), None)
        for series in [] if key is None else _instances(view, key):
            made = _curve(view.run, resource, series)
            if made is not None:
                yield made


def activity(view: RunView) -> list[Curve]:
    """Give everything that shows whether a job does anything."""
    found = list(curves(view, Resource.CPU, Resource.READ, Resource.WRITE, Resource.GPU))
    for key in _BUSY_CHARS:
        made = (_curve(view.run, Resource.READ, series) for series in _instances(view, key))
        found += [curve for curve in made if curve is not None]
    return found


def cpu_counter(view: RunView) -> Series | None:
    """Give the best count of the job's CPU time; None where only percentages were recorded."""
    keys = (key for key in LADDER[Resource.CPU] if key.endswith(("cputime", "cputime_total")))
    return next((view.series[key, ""] for key in keys if (key, "") in view.series), None)


def _instances(view: RunView, key: str) -> list[Series]:
    whole = view.series.get((key, ""))
    if whole is not None:
        return [whole] if len(whole.times) >= FEWEST_CELLS else []
    found = [series for (name, _), series in sorted(view.series.items()) if name == key]
    return [series for series in found if len(series.times) >= FEWEST_CELLS]


def _curve(run: Run, resource: Resource, series: Series) -> Curve | None:
    times, values = np.asarray(series.times, float), np.asarray(series.values, float)
    spans = None if series.spans is None else np.asarray(series.spans, float)
    known = (np.abs(values) < _ABSURD) & np.isfinite(times)
    if spans is not None:
        known &= spans > 0
    if known.sum() < FEWEST_CELLS:
        return None
    unit, scale = _unit(run, series)
    spans = None if spans is None else spans[known]
    step_seconds, starts = _cells(times[known])
    if len(starts) < FEWEST_CELLS:
        return None
    means, lows, highs = _folded(values[known] * scale, spans, starts)
    return Curve(
        resource=resource,
        key=series.key,
        instance=series.instance,
        unit=unit,
        floor=_FLOORS[unit],
        times=times[known][np.append(starts[1:], known.sum()) - 1],
        values=means,
        lows=lows,
        highs=highs,
        step_seconds=step_seconds,
        begin=_begin(run, float(times[known][0]), step_seconds),
    )


def _begin(run: Run, first: float, step_seconds: float) -> float:
    # clocks may have been set since: a start after the first sample is not believed
    started_at = first - step_seconds if run.started_at is None else min(run.started_at, first)
    return max(first - step_seconds, started_at)


def _unit(run: Run, series: Series) -> tuple[str, float]:
    """Say what a curve of this series counts in, and what one of the series' own units is in that."""
    definition = run.definitions.get(series.key)
    rate = series.spans is not None
    if definition is None or definition.unit is Unit.BYTES:
        return ("bytes_per_second" if rate else "bytes"), 1.0
    if definition.unit is Unit.SECONDS and definition.kind is Kind.COUNTER:
        return "cores", 1.0
    per_core = series.key.endswith(("pdcpu_total", "pcpu_total", "_pcpu"))
    return ("cores", 0.01) if per_core else ("percent", 1.0)


def _cells(times: Floats) -> tuple[float, NDArray[np.intp]]:
    """Lay an even grid over the samples: how wide its cells are, and which sample each begins with."""
    duration = float(times[-1] - times[0])
    usual = float(np.median(np.diff(times)))
    step_seconds = max(usual, duration / MOST_CELLS)
    if step_seconds <= 0:
        return 0.0, np.zeros(1, np.intp)
    # half a step back, so that samples taken a little early or late stay in cells of their own
    cell = np.floor((times - times[0]) / step_seconds + 0.5)
    return step_seconds, np.flatnonzero(np.append(True, np.diff(cell) > 0))


def _folded(values: Floats, spans: Floats | None, starts: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
    if spans is not None:
        # the largest rate inside a cell says little: the shorter a look, the wilder its rate
        rates = np.add.reduceat(values, starts) / np.add.reduceat(spans, starts)
        return rates, rates, rates
    counts = np.diff(np.append(starts, len(values)))
    means = np.add.reduceat(values, starts) / counts
    return means, np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
