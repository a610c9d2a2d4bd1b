"""GPU starved: the training waits for its data while the accelerator, or the main process, has nothing to do.

A GPU that is little used is not enough: something on the host must be seen to hold it up. In order of strength: the
training's own time for data, workers that run at full load, a main process that computes without pause, all cores
of the job in use. A training without a GPU is judged by the same: its main process waits while its workers work.

What can mislead: a main process is busy as well where many small kernels are started one by one; CPU time of a
process is the mean over its life, its start included.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from jobmeter.analysis import gpus, progress, readings, shares
from jobmeter.analysis.series import Floats
from jobmeter.model import metrics, roles, units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Value
from jobmeter.model.steps import StepTable
from jobmeter.model.view import Process, RunView

HUNGRY_PERCENT = 60.0
"""Mean utilisation while the GPU worked; above, what is left is between the steps."""
LEAST_SECONDS = 10.0
WAITING_RATIO = 0.25
"""Of a step spent waiting for data."""
BUSY_CORES = 0.8
"""Of a core: a process that uses more has little time to wait."""
LEAST_CORES = 0.2
"""Of a core: a worker that gets less on a full machine may as well be idle."""
IDLE_CORES = 0.5
FULL_RATIO = 0.9
"""Of the cores the job may use."""
_STARTING_STEPS = 3
_LONG_LIVED_SECONDS = 3.0
_TICKS_A_SECOND = 100.0
_DATA_STEPS = 10
_MOST_STEPS = 100_000
"""The last ones are enough for a mean."""
_LONGEST_SECONDS = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What the host did meanwhile; None where it was not measured."""

    data_ratio: float | None = None
    """The share of a step that the training says it waits for data."""
    data_source: str = ""
    workers: int = 0
    worker_cores: float | None = None
    main_cores: float | None = None
    used_cores: float | None = None
    allowed_cores: float | None = None
    cpu_wait_ratio: float = 0.0
    """The share of time in which a task of the job was ready and had no CPU, as far as that was measured."""

    @property
    def workers_busy(self) -> bool:
        """Tell whether the workers do all they can on the cores there are: they run, or wait for their turn."""
        if self.worker_cores is None or self.worker_cores < LEAST_CORES:
            return False
        room = 1.0 if self.allowed_cores is None else min(1.0, self.allowed_cores / self.workers)
        return self.worker_cores + self.cpu_wait_ratio >= BUSY_CORES * room

    @property
    def cores_full(self) -> bool:
        """Tell whether the job uses all cores it may."""
        known = self.used_cores is not None and self.allowed_cores is not None
        return known and (self.used_cores or 0.0) >= FULL_RATIO * (self.allowed_cores or 0.0)


def detect(view: RunView) -> Iterable[Finding]:
    """Tell whether the training waits for its data."""
    util = gpus.mean_util(view, LEAST_SECONDS)
    if util is None:
        util = _util_of_steps(view)
    if util is not None and util >= HUNGRY_PERCENT:
        return
    host = _host(view)
    reasons = list(_with_gpu(host)) if util is not None else list(_without_gpu(view, host))
    if reasons:
        yield _finding(view, util, host, reasons)


def _util_of_steps(view: RunView) -> float | None:
    """Say how busy the GPU was over the steps, of a training so slow that it never looked busy at all."""
    told = progress.told(view.steps)
    if told is None or "gpu_memory_peak_bytes" not in view.run.headline:
        return None
    begin, end = float(told.times[0]), float(told.times[-1])
    return gpus.util_between(view, begin, end) if end - begin >= LEAST_SECONDS else None


def _with_gpu(host: Host) -> Iterator[Evidence]:
    if host.data_ratio is not None:
        if host.data_ratio >= WAITING_RATIO:
            yield _waits(host)
        return
    if host.workers_busy:
        yield _workers(host)
    elif host.workers == 0 and host.main_cores is not None and host.main_cores >= BUSY_CORES:
        yield Evidence(
            sentence=f"the main process uses {host.main_cores:.2g} cores and has no workers",
            source="processes",
            value=host.main_cores,
        )
    if host.cores_full:
        yield Evidence(
            sentence=f"the job uses {host.used_cores:.2g} of the {host.allowed_cores:g} cores it may use",
            source="cpu_seconds",
            value=host.used_cores,
        )


def _without_gpu(view: RunView, host: Host) -> Iterator[Evidence]:
    # workers of a program that tells no steps may be what computes
    if len(view.steps) < progress.FEWEST_STEPS:
        return
    if host.data_ratio is not None:
        if host.data_ratio >= WAITING_RATIO:
            yield _waits(host)
        return
    if host.workers_busy and host.main_cores is not None and host.main_cores <= IDLE_CORES:
        yield _workers(host)
        yield Evidence(
            sentence=f"the main process uses {host.main_cores:.2g} cores meanwhile",
            source="processes",
            value=host.main_cores,
        )


def _waits(host: Host) -> Evidence:
    ratio = host.data_ratio or 0.0
    return Evidence(
        sentence=f"a step waits {units.format_percent(100 * ratio)} of its time for data",
        source=host.data_source,
        value=round(ratio, 4),
    )


def _workers(host: Host) -> Evidence:
    cores = host.worker_cores or 0.0
    waited = units.format_percent(100 * host.cpu_wait_ratio)
    turn = (
        f" and a task waited for a CPU {waited} of the time"
        if cores < BUSY_CORES and host.cpu_wait_ratio
        else ""
    )
    who = "1 worker uses" if host.workers == 1 else f"{host.workers} workers use"
    return Evidence(
        sentence=f"{who} {cores:.2g} cores{'' if host.workers == 1 else ' each'}{turn}",
        source="processes",
        value=round(cores, 3),
    )


def _host(view: RunView) -> Host:
    working, main = _working(view, roles.WORKER), _working(view, roles.MAIN)
    known = Host(
        workers=shares.most_at_once(process for process, _ in working),
        worker_cores=float(np.mean([used for _, used in working])) if working else None,
        main_cores=max((used for _, used in main), default=None),
        used_cores=readings.used_cores(view.run),
        allowed_cores=view.run.limits.cpus,
        cpu_wait_ratio=_cpu_wait(view),
    )
    waiting = _data_ratio(view)
    return known if waiting is None else replace(known, data_source=waiting[0], data_ratio=waiting[1])


def _cpu_wait(view: RunView) -> float:
    found = readings.first(view, "cgroup_cpu_pressure")
    if found is None or not found.spans.all():
        return 0.0
    return min(1.0, float(found.values.sum() / found.spans.sum()))


def _working(view: RunView, role: str) -> list[tuple[Process, float]]:
    """Give the processes of one role that lived long enough, with the cores each used."""
    zero = _tick_zero(view)
    cast = ((one, _cores(one, zero)) for one in view.processes if one.role == role)
    return [(one, used) for one, used in cast if used is not None]


def _cores(process: Process, tick_zero: float | None) -> float | None:
    if process.cpu_seconds is None or process.first_seen is None or process.last_seen is None:
        return None
    ticks = _ticks(process)
    # it is seen first at the next report, its ticks are those of its start
    started = inf if ticks is None or tick_zero is None else tick_zero + ticks / _TICKS_A_SECOND
    lived = process.last_seen - min(process.first_seen, started)
    return process.cpu_seconds / lived if lived >= _LONG_LIVED_SECONDS else None


def _tick_zero(view: RunView) -> float | None:
    """Say when the clock of ticks began: the first process of a run starts with it."""
    known = [ticks for one in view.processes if (ticks := _ticks(one)) is not None]
    if not known or view.run.started_at is None:
        return None
    return view.run.started_at - min(known) / _TICKS_A_SECOND


def _ticks(process: Process) -> int | None:
    begun = process.instance.partition("@")[2]
    return int(begun) if begun.isdecimal() else None


def _data_ratio(view: RunView) -> tuple[str, float] | None:
    """Give the share of a step spent waiting for data, as the training tells it."""
    for table in progress.by_rank(view.steps):
        names = sorted(table.columns)
        waits, steps = (
            _times(table, metrics.pick(names, one)) for one in (metrics.DATA_SECONDS, metrics.STEP_SECONDS)
        )
        if waits is None:
            continue
        took = _between(view) if steps is None else steps
        if took is None:
            continue
        wait, step = float(waits.mean()), float(took.mean())
        if wait >= 0 and step > 0:
            return metrics.pick(names, metrics.DATA_SECONDS) or "", min(1.0, wait / step)
    return None


def _times(table: StepTable, name: str | None) -> Floats | None:
    """Give the last values of a metric that are numbers, in seconds, without those of the first steps."""
    if name is None:
        return None
    values = np.asarray(table.columns[name].values[_STARTING_STEPS:][-_MOST_STEPS:], float)
    values = values[np.abs(values) < _LONGEST_SECONDS] * metrics.in_base_units(name, 1.0)
    return values if len(values) >= _DATA_STEPS else None


def _between(view: RunView) -> Floats | None:
    """Give the time between steps, where the training does not tell how long they take."""
    told = progress.told(view.steps)
    return None if told is None else (np.diff(told.times) / np.diff(told.steps))[_STARTING_STEPS:]


def _finding(view: RunView, util: float | None, host: Host, reasons: list[Evidence]) -> Finding:
    known: dict[str, Value | None] = {
        "gpu_util_percent": None if util is None else round(util, 2),
        "workers": host.workers,
        "worker_cores": None if host.worker_cores is None else round(host.worker_cores, 3),
        "main_cores": None if host.main_cores is None else round(host.main_cores, 3),
        "data_ratio": None if host.data_ratio is None else round(host.data_ratio, 4),
    }
    why = "; ".join(one.sentence for one in reasons)
    if util is None:
        told, key = f"the training waits for its data: {why}", reasons[0].source
    else:
        key = gpus.devices(view)[0].key("util")
        told = f"the GPU was busy {units.format_percent(util)} of the time it worked and waits for the host: {why}"
    return Finding(
        detector="gpu_starved",
        severity=Severity.WARNING,
        sentence=told,
        key=key,
        begin=view.run.started_at,
        end=view.run.ended_at,
        evidence=tuple(reasons),
        figures={name: value for name, value in known.items() if value is not None},
    )
