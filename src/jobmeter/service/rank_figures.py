"""What one run says of each of its ranks: steps, processes, GPU, throughput."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from statistics import median

from jobmeter.analysis import shares
from jobmeter.analysis.ranks import Life
from jobmeter.analysis.shares import Share
from jobmeter.model import metrics, roles, steps
from jobmeter.model.measurement import GPU_TOOLS
from jobmeter.model.run import Run
from jobmeter.model.steps import StepTable
from jobmeter.model.view import Process
from jobmeter.service import metric_lines, step_summary
from jobmeter.stores import Statistics, Store

STEPS_COMPARED = 5_000
"""How many of the last steps are laid side by side: a million of each of many ranks would take minutes."""
THROUGHPUT = (metrics.SAMPLES_PER_SECOND, metrics.TOKENS_PER_SECOND)
_LAST = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """What a rank did on its GPUs; None where nobody said."""

    util_percent: float | None = None
    memory_peak_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one run says of one rank."""

    rank: int
    run: Run
    pid: int | None
    share: Share
    gpu: Gpu
    count: int = 0
    lives: tuple[Life, ...] = ()
    throughput: Mapping[str, float] = field(default_factory=dict)

    def after(self, earlier: "Told") -> "Told":
        """Put the steps of an earlier run before these."""
        return dataclasses.replace(
            self, count=earlier.count + self.count, lives=(*earlier.lives, *self.lives)
        )


@dataclass(frozen=True, slots=True)
class _Steps:
    count: int = 0
    lives: tuple[Life, ...] = ()
    throughput: Mapping[str, float] = field(default_factory=dict)


def ranks_of(run: Run) -> tuple[int, ...]:
    """Name the ranks of a run; one that logged steps and has none is rank 0."""
    return run.ranks or ((0,) if run.steps is not None else ())


def compared_since(store: Store, found: Sequence[Run]) -> int:
    """Say from which step on the ranks of a job are compared."""
    last = [one.last_step for run in found for one in store.step_statistics(run.run_id)]
    return max(last, default=0) - STEPS_COMPARED


def of_run(store: Store, run: Run, since: int) -> list[Told]:
    """Read what a run says of its ranks."""
    ranks = ranks_of(run)
    if not ranks:
        return []
    processes = _by_rank(store.processes(run.run_id), ranks)
    told = reversed(step_summary.best_first(store.step_statistics(run.run_id)))
    # what names no rank is the lowest one's: the log of a rank that has a recorder of its own
    best = {one.rank if one.rank in ranks else ranks[0]: one for one in told}
    measured = store.statistics(run.run_id) if _has_gpu(run) else {}
    return [
        _told(run, rank, processes.get(rank, []), _steps(store, run, best.get(rank), since), measured)
        for rank in ranks
    ]


def _told(
    run: Run,
    rank: int,
    processes: Sequence[Process],
    steps: _Steps,
    measured: Mapping[tuple[str, str], Statistics],
) -> Told:
    alone = len(ranks_of(run)) == 1
    return Told(
        rank=rank,
        run=run,
        pid=_pid(run, rank, processes),
        share=shares.share(processes),
        gpu=_gpu(rank, processes, measured, alone=alone),
        count=steps.count,
        lives=steps.lives,
        throughput=steps.throughput,
    )


def _by_rank(processes: Sequence[Process], ranks: Sequence[int]) -> dict[int, list[Process]]:
    """Sort processes by rank; those of a run that has one rank only are all its own."""
    if len(ranks) == 1:
        return {ranks[0]: list(processes)}
    found: dict[int, list[Process]] = {}
    for one in processes:
        if one.rank is not None:
            found.setdefault(one.rank, []).append(one)
    return found


def _pid(run: Run, rank: int, processes: Sequence[Process]) -> int | None:
    """Name the process of a rank: the one that said so itself, else its training loop."""
    told = run.context.get("rank_pids")
    pid = told.get(str(rank)) if isinstance(told, dict) else None
    if isinstance(pid, int):
        return pid
    ordered = sorted(processes, key=lambda one: one.role != roles.MAIN)
    return ordered[0].pid if ordered else None


def _steps(store: Store, run: Run, told: step_summary.Told | None, since: int) -> _Steps:
    if told is None:
        return _Steps()
    names = {name for part in told.parts for name in part.metrics}
    spelled = {quantity: name for quantity in THROUGHPUT if (name := metrics.pick(names, quantity))}
    found = store.steps(
        run.run_id,
        sources=[told.source],
        ranks=[told.rank],
        metrics=list(spelled.values()),
        between=(since, _LAST),
    )
    tables = metric_lines.followed(found, told.parts) if found else []
    rates = {quantity: rate for quantity, name in spelled.items() if (rate := _rate(tables, name))}
    # seen by a collector every so often: the gaps between its looks are no times of steps
    timed = not told.source.endswith(steps.SEEN)
    lives = tuple(Life(table.steps, table.timestamps if timed else None) for table in tables)
    return _Steps(told.count, lives, rates)


def _rate(tables: Sequence[StepTable], name: str) -> float | None:
    """Take the middle of what was logged: the first steps are slow, a pause is none."""
    columns = [table.columns[name] for table in tables if name in table.columns]
    values = [value for column in columns for value in column.values if isfinite(value)]
    return metrics.in_base_units(name, median(values)) if values else None


def _has_gpu(run: Run) -> bool:
    return any(key.startswith(GPU_TOOLS) for key in run.definitions)


def _gpu(
    rank: int, processes: Sequence[Process], measured: Mapping[tuple[str, str], Statistics], *, alone: bool
) -> Gpu:
    """Take what the driver says of the rank's processes, else what the rank told, else its own devices."""
    mine = {one.instance for one in processes}
    for tool in GPU_TOOLS:
        found = _together(measured, mine, f"{tool}_proc_util", f"{tool}_proc_mem")
        if found != Gpu():
            return found
    found = _together(measured, {str(rank)}, "fleet_util", "fleet_mem_used")
    if found != Gpu() or not alone:
        return found
    for tool in GPU_TOOLS:
        devices = {instance for key, instance in measured if key == f"{tool}_util"}
        found = _together(measured, devices, f"{tool}_util", f"{tool}_mem_used")
        if found.util_percent is not None:
            return dataclasses.replace(found, util_percent=found.util_percent / len(devices))
    return found


def _together(
    measured: Mapping[tuple[str, str], Statistics], instances: set[str], util: str, memory: str
) -> Gpu:
    used = [one for name in instances if (one := measured.get((util, name))) is not None and one.n]
    held = [one for name in instances if (one := measured.get((memory, name))) is not None and one.n]
    return Gpu(
        util_percent=round(sum(one.total / one.n for one in used), 3) if used else None,
        memory_peak_bytes=round(sum(one.high for one in held)) if held else None,
    )
