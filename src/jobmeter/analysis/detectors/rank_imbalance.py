"""Rank imbalance: ranks, or GPUs, of one job that use much more than the others.

The fullest GPU decides which batch fits, and the busiest rank how long a step takes, where all wait for one another.

Where all wait for one another at every step, the rank that is slow to get its data is seen here and nowhere else.

What can mislead: rank 0 logs, evaluates and saves for all and needs more host memory, so the bar is higher there;
GPU figures are of the device, a neighbour on it included.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from jobmeter.analysis import beside, gpus, ranks, shares
from jobmeter.model import metrics, units
from jobmeter.model.measurement import Unit
from jobmeter.model.rank import RankFacts
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
DATA = Measure("time a step waits for data", Unit.SECONDS, 0.5, 0.0, Severity.WARNING)
DATA_SHARE = 0.05
"""Of a step: how much longer than the mean the wait for data must be."""
_FEWEST_WAITS = 10

HEADLINES = ((GPU_MEMORY, "gpu_memory_peak_bytes"), (GPU_UTIL, "gpu_util_percent"))
"""What recorders of one rank each are compared by."""


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
    yield from _of_ranks(view)
    # ranks with recorders of their own, on other hosts, are known by their headlines
    runs = beside.recorders(view)
    for measure, name in HEADLINES:
        told = {rank: run.headline[name].value for rank, run in runs.items() if name in run.headline}
        yield measure, told, Members(name)


def _of_ranks(view: RunView) -> Iterator[tuple[Measure, Mapping[int, float], Members]]:
    known = beside.ranks(view)
    cpu = {one.rank: one.cpu_seconds for one in known if one.cpu_seconds is not None}
    sizes = {one.rank: one.memory_peak_bytes for one in known if one.memory_peak_bytes is not None}
    if not view.ranks:
        by_rank = _by_rank(view.processes)
        cpu = {rank: used for rank, share in by_rank.items() if (used := share.cpu_seconds) is not None}
        held = {rank: share.memory_peak_bytes for rank, share in by_rank.items()}
        sizes = {rank: float(size) for rank, size in held.items() if size is not None}
    yield CPU, cpu, Members("cpu_seconds")
    yield MEMORY, sizes, Members("peak_rss_bytes")
    steps = [took for one in known if (took := one.mean_step_seconds) is not None]
    if steps:
        waits = {one.rank: wait for one in known if (wait := _wait(one)) is not None}
        yield replace(DATA, floor=DATA_SHARE * median(steps)), waits, Members(metrics.DATA_SECONDS)


def _wait(one: RankFacts) -> float | None:
    """Give the mean time for data over a rank's last steps."""
    for table in reversed(one.tables):
        name = metrics.pick(sorted(table.columns), metrics.DATA_SECONDS)
        values = np.asarray(table.columns[name].values, float) if name is not None else np.zeros(0)
        known = values[(values >= 0) & np.isfinite(values)]
        if name is not None and len(known) >= _FEWEST_WAITS:
            return float(known.mean() * metrics.in_base_units(name, 1.0))
    return None


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
