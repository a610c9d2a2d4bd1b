"""What the store knows of a job, as its figures want it: steps with times and batch size, GPUs, checkpoints.

A metric is taken from the source to believe first. What can mislead: a batch size out of a config is taken for
that of one rank; one that is called global is shared by all.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean

from jobmeter.analysis.analytics import Checkpoint, Gpu, JobFacts, Loop
from jobmeter.model import metrics, steps
from jobmeter.model.run import LIVE, Run
from jobmeter.model.steps import Number, StepTable
from jobmeter.service import step_summary
from jobmeter.service.throughput import BATCH_NAMES, STEPS_CALLED_SAMPLES, configured_batch
from jobmeter.stores import Statistics, Store

_WHOLE = frozenset(("global_batch_size", "total_train_batch_size"))
_ACCUMULATION = ("gradient_accumulation_steps", "train.gradient_accumulation_steps")
_TOOLS = ("nvml", "nvsmi", "rocm", "dcgm", "apple", "fleet")
_UTIL_NAMES = ("gpu_utilization_percent", "gpu_utilization", "gpu_util")
_CELSIUS_NAMES = ("gpu_temperature", "gpu_temp_celsius", "gpu_temp")
_MEMORY_NAMES = {"gpu_memory_used": 1 << 20, "gpu_memory_mb": 1 << 20, "gpu_memory_allocated_gb": 1 << 30}
"""Metrics that a loop may log of its GPU, with the bytes of one."""
_GPU_METRICS = (*_UTIL_NAMES, *_CELSIUS_NAMES, *_MEMORY_NAMES)


def of_job(store: Store, job_id: str, now: float) -> JobFacts:
    """Gather a job from all its recorders."""
    found = [run for run_id in reversed(store.of_job(job_id)) if (run := store.run(run_id)) is not None]
    newest = found[-1]
    loops: dict[int, Loop] = {}
    losses: list[tuple[int, float]] = []
    gpus: list[Gpu] = []
    checkpoints: dict[str, Checkpoint] = {}
    for run in found:
        told = told_by_rank(store, run)
        for rank, one in told.items():
            loops[rank] = _after(loops.get(rank), one.loop)
        losses = _continued(losses, told)
        gpus += _gpus(store, run, told)
        checkpoints |= {one.name: one for one in _checkpoints(store, run)}
    live = next((run for run in found if run.status in LIVE), newest)
    return JobFacts(
        job_id=job_id,
        status=live.status.value,
        total_seconds=covered_seconds(_span(run, now) for run in found),
        loops=tuple(loops[rank] for rank in sorted(loops)),
        losses=tuple(losses),
        gpus=tuple(gpus),
        checkpoints=tuple(checkpoints.values()),
    )


@dataclass(frozen=True, slots=True)
class Told:
    """The steps of one rank, and what it logged with them."""

    loop: Loop
    losses: list[tuple[int, float]]
    metrics: Mapping[str, list[float]]


def covered_seconds(spans: Iterable[tuple[float, float] | None]) -> float | None:
    """Add spans of time, what they share counted once."""
    known = sorted(span for span in spans if span is not None)
    total, until = 0.0, float("-inf")
    for begin, end in known:
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total if known else None


def _span(run: Run, now: float) -> tuple[float, float] | None:
    begin = run.started_at if run.started_at is not None else 0.0
    if run.wall_seconds is not None:
        return begin, begin + run.wall_seconds
    if run.started_at is None:
        return None
    if run.status in LIVE:
        return begin, now
    return None if run.ended_at is None else (begin, run.ended_at)


def told_by_rank(store: Store, run: Run) -> dict[int, Told]:
    """Read what the steps of a run say of each of its ranks, by the sources to believe first."""
    found: dict[int, Told] = {}
    for one in step_summary.best_first(store.step_statistics(run.run_id)):
        if one.rank in found and found[one.rank].losses:
            continue
        names = {name for part in one.parts for name in part.metrics}
        picked = {
            quantity: name
            for quantity in (metrics.LOSS, metrics.BATCH_SIZE, metrics.SAMPLES_PER_SECOND)
            if (name := metrics.pick(names, quantity)) is not None
        }
        wanted = {*picked.values(), *(name for name in _GPU_METRICS if name in names)}
        tables = store.steps(run.run_id, sources=[one.source], ranks=[one.rank], metrics=sorted(wanted))
        read = _read(run, one.rank, tables, picked)
        if one.rank not in found or read.losses:
            found[one.rank] = read
    return found


def _read(run: Run, rank: int, tables: Sequence[StepTable], picked: Mapping[str, str]) -> Told:
    rows: list[tuple[float, int, int, int]] = []
    cells: dict[str, dict[tuple[int, int], Number]] = {}
    for number, table in enumerate(tables):
        times = table.timestamps or [float("nan")] * len(table)
        rows += [
            (moment, number, row, step)
            for row, (moment, step) in enumerate(zip(times, table.steps, strict=True))
        ]
        for name, column in table.columns.items():
            places = range(len(table)) if column.rows is None else column.rows
            known = cells.setdefault(name, {})
            known.update(((number, place), value) for place, value in zip(places, column.values, strict=True))
    if len(tables) > 1 and all(isfinite(row[0]) for row in rows):
        rows.sort()
    kept = [rows[place] for place in steps.latest([row[3] for row in rows])]
    values = {
        name: [(row[3], float(known[row[1], row[2]])) for row in kept if (row[1], row[2]) in known]
        for name, known in cells.items()
    }
    return Told(
        loop=Loop(
            rank=rank,
            steps=[row[3] for row in kept],
            times=[row[0] for row in kept],
            batch_size=_batch_size(run, picked.get(metrics.BATCH_SIZE), values),
            samples_per_second=_own_speed(tables, picked.get(metrics.SAMPLES_PER_SECOND), values),
        ),
        losses=values.get(picked.get(metrics.LOSS, ""), []),
        metrics={name: [value for _, value in told if isfinite(value)] for name, told in values.items()},
    )


def _batch_size(run: Run, name: str | None, values: Mapping[str, list[tuple[int, float]]]) -> float | None:
    ranks = max(1, len(run.ranks))
    told = [value for _, value in values.get(name or "", ()) if isfinite(value)]
    if name is not None and told:
        shared = ranks if "global" in name else 1
        return fmean(told) / shared
    config = run.context.get("config")
    flat = _flat(config) if isinstance(config, dict) else {}
    key = next((key for key in BATCH_NAMES if isinstance(flat.get(key), int | float)), None)
    if key is None:
        return None
    size = configured_batch(flat, (key,)) or 0.0
    if key in _WHOLE:
        return size / ranks
    return size * (configured_batch(flat, _ACCUMULATION) or 1.0) if size else None


def _flat(config: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        elif not isinstance(value, bool):
            flat[f"{prefix}{key}"] = value
    return flat


def _own_speed(
    tables: Sequence[StepTable], name: str | None, values: Mapping[str, list[tuple[int, float]]]
) -> float | None:
    if any(table.source in STEPS_CALLED_SAMPLES for table in tables):
        return None
    told = [value for _, value in values.get(name or "", ()) if isfinite(value)]
    return fmean(told) if told else None


def _after(before: Loop | None, later: Loop) -> Loop:
    """Put the steps of a resumed rank behind its earlier ones, without those it repeats."""
    if before is None or not later.steps:
        return later if before is None else before
    kept = sum(step < later.steps[0] for step in before.steps)
    return Loop(
        rank=later.rank,
        steps=[*before.steps[:kept], *later.steps],
        times=[*before.times[:kept], *later.times],
        batch_size=later.batch_size if later.batch_size is not None else before.batch_size,
        samples_per_second=later.samples_per_second,
    )


def _continued(losses: list[tuple[int, float]], told: Mapping[int, Told]) -> list[tuple[int, float]]:
    """Follow the loss of the lowest rank over the lives of a job."""
    lowest = told.get(min(told)) if told else None
    if lowest is None or not lowest.losses or (losses and min(told) > 0):
        return losses
    first = lowest.losses[0][0]
    return [*((step, loss) for step, loss in losses if step < first), *lowest.losses]


def _gpus(store: Store, run: Run, told: Mapping[int, Told]) -> list[Gpu]:
    measured = store.statistics(run.run_id)
    for tool in _TOOLS:
        devices = sorted(
            {instance for key, instance in measured if key in (f"{tool}_util", f"{tool}_mem_used")}
        )
        if devices:
            return [_gpu(measured, tool, device) for device in devices]
    found = [_logged(one.metrics) for _, one in sorted(told.items())]
    return [one for one in found if one != Gpu()]


def _gpu(measured: Mapping[tuple[str, str], Statistics], tool: str, device: str) -> Gpu:
    util, memory, celsius = (
        measured.get((f"{tool}_{what}", device)) for what in ("util", "mem_used", "temp")
    )
    return Gpu(
        util_percent=_mean(util),
        mean_memory_bytes=_mean(memory),
        peak_memory_bytes=None if memory is None else memory.high,
        mean_celsius=_mean(celsius),
        peak_celsius=None if celsius is None else celsius.high,
    )


def _mean(statistics: Statistics | None) -> float | None:
    return statistics.total / statistics.n if statistics is not None and statistics.n else None


def _logged(told: Mapping[str, list[float]]) -> Gpu:
    """Take what a loop logged of its GPU itself."""
    util, celsius = (
        next((told[name] for name in names if told.get(name)), []) for names in (_UTIL_NAMES, _CELSIUS_NAMES)
    )
    memory = next(
        ([size * unit for size in told[name]] for name, unit in _MEMORY_NAMES.items() if told.get(name)), []
    )
    return Gpu(
        util_percent=fmean(util) if util else None,
        mean_memory_bytes=fmean(memory) if memory else None,
        peak_memory_bytes=max(memory, default=None),
        mean_celsius=fmean(celsius) if celsius else None,
        peak_celsius=max(celsius, default=None),
    )


def _checkpoints(store: Store, run: Run) -> list[Checkpoint]:
    found = []
    for event in store.events(run.run_id):
        path = event.details.get("path", event.details.get("name"))
        if event.type != "checkpoint" or not isinstance(path, str):
            continue
        step = event.details.get("step")
        name = os.path.basename(path.rstrip("/"))
        known = step if isinstance(step, int) else None
        found.append(Checkpoint(name=name, written_at=event.timestamp, step=known))
    return found
