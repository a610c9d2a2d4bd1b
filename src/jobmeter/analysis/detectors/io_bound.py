"""IO bound: tasks of the job waited for storage for a good part of the time, and the cores had little to do meanwhile.

The kernel counts the time in which at least one task waited (PSI). The job's own cgroup is asked first; the machine's
counters include everybody, so they count only while the job itself read or wrote, and weigh less.

What can mislead: one task that writes a checkpoint waits while all others compute, so busy cores are no IO bound job;
memory that is short is read from storage again and again, which is told as memory pressure; servers that are waited for
over the network (NFS, object stores) count only in part, or not at all.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis import readings, series
from jobmeter.analysis.readings import Readings
from jobmeter.analysis.series import Resource
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Value
from jobmeter.model.view import RunView

OWN_KEY, HOST_KEY = "cgroup_io_pressure", "psi_io_some"
MEMORY_KEYS = ("cgroup_mem_pressure", "psi_mem_some")
FELT_SHARE = 0.3
"""Of the time, in a window."""
LEAST_SECONDS, LEAST_SHORT_SECONDS = 10.0, 3.0
_SHORT_SHARE = 0.3
"""Of the run: a short one that spends this much waiting counts too."""
_LEAST_SHARE = 0.1
WARNED_SHARE = 0.3
"""Of the whole run: from here on faster storage, or fewer and larger reads, would be felt."""
BUSY_SHARE = 0.7
"""Of the cores: a job that uses them does not want for data."""
LEAST_BYTES_PER_SECOND = float(1 << 20)
"""What the job itself must have read and written where only the machine's waiting is known."""
_MEMORY_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Wait:
    """The time spent waiting for storage, and what the job did meanwhile; None is what was not measured."""

    key: str
    begin: float
    end: float
    seconds: float
    waited_seconds: float
    run_share: float
    """Of the whole run."""
    cores: float | None
    read_bytes_per_second: float | None
    """Bytes a second."""
    written_bytes_per_second: float | None


def detect(view: RunView) -> Iterable[Finding]:
    """Tell how long the job waited for storage."""
    found = readings.first(view, OWN_KEY, HOST_KEY)
    wait = None if found is None else _wait(view, found)
    if found is None or wait is None:
        return
    lasted = float(found.spans.sum())
    enough = min(LEAST_SECONDS, max(LEAST_SHORT_SECONDS, _SHORT_SHARE * lasted))
    if wait.seconds < max(enough, _LEAST_SHARE * lasted) or _is_excused(view, wait):
        return
    yield _finding(wait)


def _wait(view: RunView, found: Readings) -> Wait | None:
    felt = found.rates >= FELT_SHARE
    if not felt.any() or _is_memory(view, found, felt):
        return None
    places, waited = np.flatnonzero(felt), float(found.values[felt].sum())
    return Wait(
        key=found.key,
        begin=float(found.times[places[0]] - found.spans[places[0]]),
        end=float(found.times[places[-1]]),
        seconds=float(found.spans[felt].sum()),
        waited_seconds=waited,
        run_share=min(1.0, waited / float(found.spans.sum())),
        cores=_mean(view, Resource.CPU, found, felt),
        read_bytes_per_second=_mean(view, Resource.READ, found, felt),
        written_bytes_per_second=_mean(view, Resource.WRITE, found, felt),
    )


def _is_memory(view: RunView, found: Readings, felt: NDArray[np.bool_]) -> bool:
    """Tell whether what was waited for is memory, read back from storage: the kernel counts that as both."""
    memory = readings.of(view, MEMORY_KEYS[0 if found.key == OWN_KEY else 1])
    if memory is None:
        return False
    short = np.interp(found.times[felt], memory.times, memory.rates)
    return float(short.mean()) >= _MEMORY_SHARE * float(found.rates[felt].mean())


def _mean(view: RunView, resource: Resource, found: Readings, felt: NDArray[np.bool_]) -> float | None:
    curve = next(series.curves(view, resource), None)
    if curve is None or (resource is Resource.CPU and curve.unit != "cores"):
        return None
    return float(np.average(readings.beside(found, curve)[felt], weights=found.spans[felt]))


def _is_excused(view: RunView, wait: Wait) -> bool:
    cpus = view.run.limits.cpus
    if wait.cores is not None and cpus is not None and wait.cores >= BUSY_SHARE * cpus:
        return True
    moved = (wait.read_bytes_per_second or 0.0) + (wait.written_bytes_per_second or 0.0)
    return wait.key == HOST_KEY and moved < LEAST_BYTES_PER_SECOND


def _finding(wait: Wait) -> Finding:
    is_own = wait.key == OWN_KEY
    whose = "the job" if is_own else "some task of the machine"
    share = min(1.0, wait.waited_seconds / wait.seconds)
    serious = is_own and wait.run_share >= WARNED_SHARE
    span = units.format_seconds(wait.seconds)
    return Finding(
        detector="io_bound",
        severity=Severity.WARNING if serious else Severity.INFO,
        sentence=f"{whose} waited for storage {units.format_percent(100 * share)} of the time for {span}"
        f"{_meanwhile(wait)}",
        key=wait.key,
        begin=wait.begin,
        end=wait.end,
        evidence=(
            Evidence(
                sentence=f"{units.format_seconds(wait.waited_seconds)} of waiting in {span}",
                source=wait.key,
                value=wait.waited_seconds,
                timestamp=wait.end,
            ),
        ),
        figures=_figures(wait, share),
    )


def _meanwhile(wait: Wait) -> str:
    told = []
    if wait.cores is not None:
        told.append(f"used {wait.cores:.2g} cores")
    if wait.read_bytes_per_second is not None:
        told.append(f"read {units.format_bytes(wait.read_bytes_per_second)}/s")
    if wait.written_bytes_per_second is not None:
        told.append(f"wrote {units.format_bytes(wait.written_bytes_per_second)}/s")
    return f"; meanwhile it {', '.join(told)}" if told else ""


def _figures(wait: Wait, share: float) -> dict[str, Value]:
    read, written = wait.read_bytes_per_second, wait.written_bytes_per_second
    found: dict[str, Value | None] = {
        "wait_ratio": round(share, 4),
        "run_ratio": round(wait.run_share, 4),
        "seconds": round(wait.seconds, 3),
        "waited_seconds": wait.waited_seconds,
        "scope": "job" if wait.key == OWN_KEY else "host",
        "used_cores": None if wait.cores is None else round(wait.cores, 4),
        "read_bytes_per_second": None if read is None else round(read),
        "write_bytes_per_second": None if written is None else round(written),
    }
    return {name: value for name, value in found.items() if value is not None}
