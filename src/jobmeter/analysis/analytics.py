"""Figures of a training as a dashboard asks for them: duration, throughput, GPUs, checkpoints, losses, scores.

What is not known is None, and a warning says why; a number that is not finite never leaves here. A sample is a
sample, not a step: without a batch size there is no throughput. What can mislead: the time of training is from the
first step to the last, so that setting up before and saving after are overhead; the peak is over `PEAK_SECONDS`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Record = dict[str, object]

PEAK_SECONDS = 60.0
_MEBI = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """The steps of one rank, in order, what a resumed loop replaced left out."""

    rank: int
    steps: Sequence[int]
    times: Sequence[float]
    """NaN where a step has none."""
    batch_size: float | None = None
    """Samples this rank takes a step."""
    samples_per_second: float | None = None
    """Its own word, where no batch size is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU over the job."""

    util_percent: float | None = None
    mean_memory_bytes: float | None = None
    peak_memory_bytes: float | None = None
    mean_celsius: float | None = None
    peak_celsius: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One checkpoint; its step where it is known."""

    name: str
    written_at: float
    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """What is known of a job."""

    job_id: str
    status: str
    total_seconds: float | None = None
    loops: tuple[Loop, ...] = ()
    losses: tuple[tuple[int, float], ...] = ()
    """Step and loss of rank 0, in order."""
    gpus: tuple[Gpu, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()


def job(facts: JobFacts) -> Record:
    """Lay out the figures of one job."""
    warnings: list[str] = []
    duration = _duration(facts)
    performance = _performance(facts, duration["training_seconds"], warnings)
    resources = _resources(facts.gpus, warnings)
    losses = _losses(facts.losses, warnings)
    record: Record = {
        "job_id": facts.job_id,
        "status": facts.status,
        "duration": duration,
        "performance": performance,
        "resource_utilization": resources,
        "checkpoints": _checkpoints(facts, warnings),
        "losses": losses,
        "efficiency": _efficiency(resources["average_gpu_utilization"], performance),
    }
    return record | ({"warnings": warnings} if warnings else {})


def _known_times(loops: Iterable[Loop]) -> list[float]:
    return [moment for loop in loops for moment in loop.times if isfinite(moment)]


def _duration(facts: JobFacts) -> dict[str, float | None]:
    times = _known_times(facts.loops)
    training = max(times) - min(times) if len(times) > 1 else None
    total = facts.total_seconds
    # a clock that was set while the job ran may make its steps longer than itself
    overhead = None if total is None or training is None else max(0.0, total - training)
    return {
        "total_seconds": _rounded(total),
        "training_seconds": _rounded(training),
        "overhead_seconds": _rounded(overhead),
    }


def _performance(facts: JobFacts, training: float | None, warnings: list[str]) -> dict[str, float | None]:
    loops = [loop for loop in facts.loops if len(loop.steps)]
    iterations = max((_iterations(loop) for loop in loops), default=None)
    if iterations is None:
        warnings.append("no step was logged: nothing is known of throughput")
    elif training is None:
        warnings.append("the steps have no times: throughput is not known")
    samples = _samples(loops)
    average = samples / training if samples is not None and training else None
    peak = None if average is None else max(average, _peak(loops))
    if average is None and training:
        average = peak = _own_word(loops)
        samples = None if average is None else round(average * training)
        if average is None:
            warnings.append("no batch size is known: steps are not samples")
        else:
            warnings.append(
                "no batch size is known: samples a second are the job's own word, the rest follows"
            )
    elif samples is None and iterations is not None and training is None:
        warnings.append("no batch size is known: steps are not samples")
    advanced = max((loop.steps[-1] - loop.steps[0] for loop in loops), default=0)
    seconds = training / advanced if training and advanced else None
    return {
        "average_samples_per_second": _rounded(average),
        "peak_samples_per_second": _rounded(peak),
        "average_iteration_time": _rounded(seconds),
        "total_iterations": iterations,
        "total_samples": samples,
    }


def _iterations(loop: Loop) -> int:
    """Count the steps of a loop that may have logged only every tenth."""
    return int(loop.steps[-1] - loop.steps[0] + _stride(loop))


def _stride(loop: Loop) -> int:
    gaps = np.diff(np.asarray(loop.steps, dtype=np.int64))
    return max(1, int(np.median(gaps))) if len(gaps) else 1


def _samples(loops: Sequence[Loop]) -> int | None:
    """Add the samples of all ranks; None where one of them is not known."""
    sizes = [loop.batch_size for loop in loops]
    if not sizes or any(size is None for size in sizes):
        return None
    return round(sum(_iterations(loop) * (loop.batch_size or 0.0) for loop in loops))


def _own_word(loops: Sequence[Loop]) -> float | None:
    told = [loop.samples_per_second for loop in loops if loop.samples_per_second is not None]
    return sum(told) if told else None


def _peak(loops: Sequence[Loop]) -> float:
    """Find the best minute: samples of all ranks in a window, over its length."""
    moments, amounts = [], []
    for loop in loops:
        times = np.asarray(loop.times, dtype=float)
        per_row = np.diff(np.asarray(loop.steps, dtype=np.int64), prepend=loop.steps[0] - _stride(loop))
        known = np.isfinite(times)
        moments.append(times[known])
        amounts.append(per_row[known] * (loop.batch_size or 0.0))
    times, samples = np.concatenate(moments), np.concatenate(amounts)
    order = np.argsort(times, kind="stable")
    times, total = times[order], np.append(0.0, np.cumsum(samples[order]))
    # whole windows only: a part of one would make a burst of two steps a record
    ends = np.flatnonzero(times >= times[0] + PEAK_SECONDS)
    if not len(ends):
        return 0.0
    starts = np.searchsorted(times, times[ends] - PEAK_SECONDS, side="right")
    return float((total[ends + 1] - total[starts]).max() / PEAK_SECONDS)


def _resources(gpus: Sequence[Gpu], warnings: list[str]) -> dict[str, float | None]:
    if not gpus:
        warnings.append("no GPU was measured")
    peak_memory = _over((gpu.peak_memory_bytes for gpu in gpus), max)
    mean_memory = _over((gpu.mean_memory_bytes for gpu in gpus), fmean)
    return {
        "average_gpu_utilization": _rounded(_over((gpu.util_percent for gpu in gpus), fmean)),
        "peak_gpu_memory_mb": None if peak_memory is None else _rounded(peak_memory / _MEBI),
        "average_gpu_memory_mb": None if mean_memory is None else _rounded(mean_memory / _MEBI),
        "average_gpu_temp_celsius": _rounded(_over((gpu.mean_celsius for gpu in gpus), fmean)),
        "peak_gpu_temp_celsius": _rounded(_over((gpu.peak_celsius for gpu in gpus), max)),
    }


def _over(values: Iterable[float | None], fold: Callable[[list[float]], float]) -> float | None:
    known = [value for value in values if value is not None and isfinite(value)]
    return fold(known) if known else None


def _checkpoints(facts: JobFacts, warnings: list[str]) -> Record:
    found = sorted(facts.checkpoints, key=lambda one: (_order(one), one.written_at, one.name))
    if not found:
        warnings.append("no checkpoint was seen")
    steps = sorted({one.step for one in found if one.step is not None})
    gaps = [later - earlier for earlier, later in pairwise(steps)]
    return {
        "total_checkpoints": len(found),
        "checkpoint_frequency_steps": round(median(gaps)) if gaps else None,
        "best_checkpoint": _best(found, facts.losses),
        "final_checkpoint": found[-1].name if found else None,
    }


def _order(one: Checkpoint) -> float:
    return float("inf") if one.step is None else one.step


def _best(found: Sequence[Checkpoint], losses: Sequence[tuple[int, float]]) -> str | None:
    """Name the checkpoint at or next after the best loss; where none follows, the last before."""
    finite = [(loss, step) for step, loss in losses if isfinite(loss)]
    placed = [one for one in found if one.step is not None]
    if not finite or not placed:
        return None
    best_step = min(finite)[1]
    return next((one.name for one in placed if _order(one) >= best_step), placed[-1].name)


def _losses(losses: Sequence[tuple[int, float]], warnings: list[str]) -> dict[str, float | None]:
    finite = [loss for _, loss in losses if isfinite(loss)]
    if not losses:
        warnings.append("no loss was logged")
    elif len(finite) < len(losses):
        warnings.append(f"{len(losses) - len(finite)} of {len(losses)} losses are no finite numbers")
    initial = finite[0] if finite else None
    final = losses[-1][1] if losses and isfinite(losses[-1][1]) else None
    reduced = 100 * (initial - final) / abs(initial) if initial and final is not None else None
    return {
        "initial_loss": _rounded(initial, 9),
        "final_loss": _rounded(final, 9),
        "best_loss": _rounded(min(finite, default=None), 9),
        "loss_reduction_percent": _rounded(reduced, 1),
    }


def _efficiency(util: float | None, performance: Mapping[str, float | None]) -> dict[str, float | None]:
    average, peak = performance["average_samples_per_second"], performance["peak_samples_per_second"]
    throughput = 100 * average / peak if average is not None and peak else None
    scores = [score for score in (util, throughput) if score is not None]
    return {
        "gpu_utilization_score": _rounded(util, 1),
        "throughput_score": _rounded(throughput, 1),
        "overall_score": _rounded(fmean(scores), 1) if scores else None,
    }


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)


def compare(jobs: Sequence[Mapping[str, object]]) -> Record:
    """Lay the figures of several jobs side by side; who lacks a value cannot win by it."""
    rows: list[Record] = [
        {
            "job_id": one["job_id"],
            "duration_seconds": _figure(one, "duration", "total_seconds"),
            "throughput": _figure(one, "performance", "average_samples_per_second"),
            "final_loss": _figure(one, "losses", "final_loss"),
            "gpu_utilization": _figure(one, "resource_utilization", "average_gpu_utilization"),
        }
        for one in jobs
    ]
    throughput = {str(row["job_id"]): row["throughput"] for row in rows}
    losses = {str(row["job_id"]): row["final_loss"] for row in rows}
    durations = {str(one["job_id"]): _finished_seconds(one) for one in jobs}
    scores = {str(one["job_id"]): _figure(one, "efficiency", "overall_score") for one in jobs}
    record: Record = {
        "jobs": rows,
        "winner": {
            "best_throughput": _winner(throughput, -1.0),
            "best_loss": _winner(losses, 1.0),
            "fastest": _winner(durations, 1.0),
            "most_efficient": _winner(scores, -1.0),
        },
    }
    warnings = [f"{row['job_id']} has no {name}" for row in rows for name in row if row[name] is None]
    return record | ({"warnings": warnings} if warnings else {})


def _finished_seconds(one: Mapping[str, object]) -> float | None:
    """Give the duration of a job that completed: one that broke off early is not fast."""
    return _figure(one, "duration", "total_seconds") if one["status"] == "completed" else None


def _figure(one: Mapping[str, object], part: str, name: str) -> float | None:
    found = one[part]
    value = found.get(name) if isinstance(found, Mapping) else None
    return value if isinstance(value, int | float) else None


def _winner(values: Mapping[str, object], sign: float) -> str | None:
    known = {name: sign * value for name, value in values.items() if isinstance(value, int | float)}
    return min(known, key=lambda name: known[name]) if known else None
