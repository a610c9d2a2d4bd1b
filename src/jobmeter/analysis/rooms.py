"""How near a job came to the end of its memory: the host's and the GPU's, each by its own measure and limit.

Advice on host memory rests on host memory, advice on GPU memory on GPU memory; where a model lives in host memory
(no GPU was seen, or the machine has one memory for both) it is the host's that counts for it. What can mislead: a
machine's memory is used by everyone on it, so it counts for this job only where the job itself holds most of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from jobmeter.analysis import peaks
from jobmeter.analysis.case import Case
from jobmeter.model import units
from jobmeter.model.measurement import GPU_TOOLS
from jobmeter.model.report import Cause, Evidence, LogError
from jobmeter.model.run import Run
from jobmeter.model.view import RunView

CRITICAL, TIGHT, COMFORTABLE = 0.90, 0.85, 0.70
"""Shares of the limit: what was used beyond them is a matter of luck, of care, of none."""
HOST_PEAK, GPU_PEAK = "memory_peak_bytes", "gpu_memory_peak_bytes"
_HOST_OOM = frozenset((Cause.OOM_CGROUP, Cause.OOM_HOST))
_MOSTLY_OURS = 0.5
_ABSURD_BYTES = 1e18
"""No memory is so large: what says so was misread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One memory: what the job held of it at most, and what there was."""

    quantity: str
    """The headline it is measured by."""
    peak_bytes: float
    limit_bytes: float
    used_ratio: float
    """Of the limit, by whoever counts: the job, the fullest GPU, the whole machine."""
    is_exhausted: bool
    """The job was ended for want of it."""

    @property
    def is_critical(self) -> bool:
        """Tell whether the next run may well fail."""
        return self.is_exhausted or self.used_ratio > CRITICAL

    @property
    def is_tight(self) -> bool:
        """Tell whether it went well with little to spare."""
        return not self.is_critical and self.used_ratio > TIGHT

    @property
    def is_comfortable(self) -> bool:
        """Tell whether there is room for more."""
        return not self.is_exhausted and self.used_ratio < COMFORTABLE

    @property
    def most_bytes(self) -> float:
        """Give the peak at which it is full: the fullest GPU, or what others hold, ends a job before the sum does."""
        return (
            min(self.limit_bytes, self.peak_bytes / self.used_ratio) if self.used_ratio else self.limit_bytes
        )

    @property
    def words(self) -> str:
        """Name it."""
        return "GPU memory" if self.quantity == GPU_PEAK else "memory"

    def evidence(self) -> Evidence:
        """Say how full it was."""
        used, limit = units.format_bytes(self.peak_bytes), units.format_bytes(self.limit_bytes)
        share = units.format_percent(100 * self.used_ratio)
        told = f"the job held {used} of {limit} {self.words} ({share} used)"
        return Evidence(sentence=told, source=self.quantity, value=round(self.peak_bytes))


def host(case: Case) -> Room | None:
    """Measure host memory against the job's limit, else against the machine."""
    run = case.view.run
    peak = _headline(run, HOST_PEAK)
    limit = run.limits.memory_bytes or _host_bytes(run)
    if peak is None or not limit:
        return None
    needed = peaks.memory_peak(case.view)
    ratio = max((peak if needed is None else needed.size_bytes) / limit, _machine_ratio(run, peak, limit))
    return Room(
        quantity=HOST_PEAK,
        peak_bytes=peak,
        limit_bytes=float(limit),
        used_ratio=ratio,
        is_exhausted=case.verdict.cause in _HOST_OOM,
    )


def _machine_ratio(run: Run, peak: float, limit: float) -> float:
    """Give the share of the machine in use, where the machine is the limit and the job held most of that."""
    free = run.summary.get("host_low_mem_available")
    total = _host_bytes(run)
    if total is None or limit < total or not isinstance(free, int | float) or not 0 <= free <= total:
        return 0.0
    used = total - free
    return used / total if peak > _MOSTLY_OURS * used else 0.0


def _host_bytes(run: Run) -> float | None:
    found = run.context.get("host")
    size = found.get("memory_bytes") if isinstance(found, Mapping) else None
    return float(size) if isinstance(size, int | float) and 0 < size < _ABSURD_BYTES else None


def gpu(case: Case) -> Room | None:
    """Measure GPU memory against what the GPUs have: by samples, else by what an allocation that failed said."""
    view = case.view
    exhausted = case.verdict.cause is Cause.OOM_CUDA
    for tool in GPU_TOOLS:
        totals, used = _largest(view, f"{tool}_mem_total"), _largest(view, f"{tool}_mem_used")
        shares = [used[device] / totals[device] for device in used if totals.get(device, 0.0) > 0]
        if shares:
            limit = sum(totals[device] for device in used if device in totals)
            peak = _headline(view.run, GPU_PEAK) or max(used.values())
            return Room(
                quantity=GPU_PEAK,
                peak_bytes=peak,
                limit_bytes=limit,
                used_ratio=max(shares),
                is_exhausted=exhausted,
            )
    said = next(iter(cuda_errors(view)), None) if exhausted else None
    return None if said is None else _room_of(said)


def cuda_errors(view: RunView) -> list[LogError]:
    """Give what allocations on a GPU failed with, where the job did not go on."""
    return [error for error in view.log_errors if error.signature == "cuda_oom" and not error.survived]


def ran_out(view: RunView) -> bool:
    """Tell whether memory was short at any moment, even where the job went on: there is none to spare then."""
    short = any(error.signature == "cuda_oom" for error in view.log_errors)
    return short or any(event.type in ("oom", "oom_kill") for event in view.events)


def field(error: LogError, name: str) -> float | None:
    """Give a size that an error message tells."""
    value = error.fields.get(name)
    return float(value) if isinstance(value, int | float) and 0 < value < _ABSURD_BYTES else None


def _room_of(error: LogError) -> Room | None:
    total, free = field(error, "total_bytes"), error.fields.get("free_bytes")
    if total is None or not isinstance(free, int | float) or not 0 <= free <= total:
        return None
    held = field(error, "process_bytes") or field(error, "reserved_bytes") or total - free
    return Room(
        quantity=GPU_PEAK,
        peak_bytes=min(held, total),
        limit_bytes=total,
        used_ratio=(total - free) / total,
        is_exhausted=True,
    )


def model(case: Case) -> Room | None:
    """Choose the memory that the model and its activations live in."""
    has_gpu = GPU_PEAK in case.view.run.headline or case.verdict.cause is Cause.OOM_CUDA
    return gpu(case) if has_gpu else host(case)


def _headline(run: Run, name: str) -> float | None:
    found = run.headline.get(name)
    return found.value if found is not None and 0 < found.value < _ABSURD_BYTES else None


def _largest(view: RunView, key: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for (name, instance), series in view.series.items():
        values = np.asarray(series.values if name == key else (), float)
        known = values[(values >= 0) & (values < _ABSURD_BYTES)]
        if len(known):
            found[instance] = float(known.max())
    return found
