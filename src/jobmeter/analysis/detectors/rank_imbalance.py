"""Rank imbalance: ranks, or GPUs, of one job that use much more than the others.

The fullest GPU decides which batch fits, and the busiest rank how long a step takes, where all wait for one another.

What can mislead: rank 0 logs, evaluates and saves for all and needs more host memory, so the bar is higher there;
GPU figures are of the device, a neighbour on it included.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from jobmeter.analysis import beside, gpus, ranks, shares
from jobmeter.model import units
from jobmeter.model.measurement import Unit
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.view import Process, RunView


@dataclass(frozen=True, slots=True)
class Measure:
    """What is compared, and from when on it is uneven."""

    words: str
    unit: Unit
    least_excess: float
    """How much more than the mean, as a share of it, the largest must be."""
    floor: float
    """And how much more in its own unit."""
    severity: Severity


@dataclass(frozen=True, slots=True)
class Members:
    """Who is compared: ranks by number, or GPUs, whose numbers are places in these."""

    key: str
    labels: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()

    def name(self, number: int) -> str:
        """Call one by its name."""
        return self.labels[number] if self.labels else f"rank {number}"


GPU_MEMORY = Measure("GPU memory peak", Unit.BYTES, 0.2, 512.0 * (1 << 20), Severity.WARNING)
GPU_UTIL = Measure("mean GPU utilisation", Unit.PERCENT, 0.3, 15.0, Severity.WARNING)
CPU = Measure("CPU time", Unit.SECONDS, 0.5, 10.0, Severity.INFO)
MEMORY = Measure("memory peak", Unit.BYTES, 0.5, 512.0 * (1 << 20), Severity.INFO)

HEADLINES = (
    (GPU_MEMORY, "gpu_memory_peak_bytes"),
    (GPU_UTIL, "gpu_util_percent"),
    (CPU, "cpu_seconds"),
    (MEMORY, "memory_peak_bytes"),
)


def detect(view: RunView) -> Iterable[Finding]:
    """Tell what is unevenly spread."""
    for measure, sizes, members in _measured(view):
        excess = ranks.imbalance(sizes)
        if excess is None or excess < measure.least_excess:
            continue
        mean = sum(sizes.values()) / len(sizes)
        if max(sizes.values()) - mean >= measure.floor:
            yield _finding(measure, sizes, members, excess)


def _measured(view: RunView) -> Iterator[tuple[Measure, Mapping[int, float], Members]]:
    """Give every measure with its sizes by number, and what the numbers count."""
    found = gpus.devices(view)
    names = Members("", tuple(device.label for device in found), tuple(device.instance for device in found))
    held = {place: one.mem_used for place, one in enumerate(found) if one.mem_used is not None}
    busy = {place: one.util for place, one in enumerate(found) if one.util is not None}
    for measure, quantity, by_place in ((GPU_MEMORY, "mem_used", held), (GPU_UTIL, "util", busy)):
        key = found[0].key(quantity) if found else ""
        reduce = np.max if measure is GPU_MEMORY else np.mean
        sizes = {place: float(reduce(one.values)) for place, one in by_place.items()}
        yield measure, sizes, replace(names, key=key)
    by_rank = _by_rank(view.processes)
    cpu = {rank: used for rank, share in by_rank.items() if (used := share.cpu_seconds) is not None}
    sizes = {
        rank: float(size) for rank, share in by_rank.items() if (size := share.memory_peak_bytes) is not None
    }
    yield CPU, cpu, Members("cpu_seconds")
    yield MEMORY, sizes, Members("peak_rss_bytes")
    # ranks with recorders of their own, on other hosts, are known by their headlines
    runs = beside.by_rank(view)
    for measure, name in HEADLINES:
        yield (
            measure,
            {rank: run.headline[name].value for rank, run in runs.items() if name in run.headline},
            Members(name),
        )


def _by_rank(processes: Iterable[Process]) -> Mapping[int, shares.Share]:
    found: dict[int, list[Process]] = {}
    for process in processes:
        if process.rank is not None:
            found.setdefault(process.rank, []).append(process)
    return {rank: shares.share(played) for rank, played in sorted(found.items())}


def _finding(measure: Measure, sizes: Mapping[int, float], members: Members, excess: float) -> Finding:
    largest = max(sizes, key=lambda number: (sizes[number], -number))
    smallest = min(sizes, key=lambda number: (sizes[number], number))
    most, least = (units.format_value(sizes[number], measure.unit) for number in (largest, smallest))
    return Finding(
        detector="rank_imbalance",
        severity=measure.severity,
        sentence=f"{measure.words} is {most} on {members.name(largest)} and {least} on {members.name(smallest)}: the "
        f"largest of {len(sizes)} lies {units.format_percent(100 * excess)} above the mean",
        key=members.key,
        rank=None if members.labels else largest,
        instance=members.instances[largest] if members.labels else None,
        evidence=tuple(
            Evidence(
                sentence=f"{measure.words} of {members.name(number)}: "
                f"{units.format_value(sizes[number], measure.unit)}",
                source=members.key,
                value=sizes[number],
                rank=None if members.labels else number,
            )
            for number in (largest, smallest)
        ),
        figures={
            "imbalance_ratio": round(excess, 4),
            "largest": sizes[largest],
            "smallest": sizes[smallest],
            "count": len(sizes),
        },
    )
