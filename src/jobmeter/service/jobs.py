"""A job of many ranks: its recorders found by `job_id`, its ranks compared by step, never by clock.

One folder may hold all ranks (`jobmeter run -- torchrun ...`), or each rank or host may have its own. A run
that was resumed is another folder of the same job: a rank is told by the newest run that saw it, and its
earlier steps are its earlier lives. What can mislead: ranks that wait for one another at every step take
equally long, and throughput that every rank logs for the whole job is added as often as there are ranks.
"""

from collections.abc import Mapping, Sequence

from jobmeter.analysis import ranks as analysis
from jobmeter.errors import UsageError
from jobmeter.model import metrics
from jobmeter.model.job import Added, JobView, RankView
from jobmeter.model.run import Run
from jobmeter.model.steps import MetricSummary
from jobmeter.service import index, notices, rank_figures, runs
from jobmeter.service.rank_figures import Told
from jobmeter.stores import Store


def job(home: str, ref: str, *, warn: notices.Warn = notices.to_stderr) -> JobView:
    """Gather a job by its `job_id`, or by any run of it."""
    named = _named(home, ref, warn)
    if named is not None:
        return runs.ask(home, named, lambda store, _: gather(store, ref), warn=warn)
    return runs.ask(home, ref, lambda store, run: gather(store, run.job_id), warn=warn)


def _named(home: str, ref: str, warn: notices.Warn) -> str | None:
    """Find a run of the job that has this very name."""
    with index.open_index(home, warn=warn) as opened:
        opened.refresh()
        found = opened.ask(lambda store: store.of_job(ref))
    return found[0] if found else None


def gather(store: Store, job_id: str) -> JobView:
    """Lay the ranks of a job side by side."""
    found = [run for run_id in reversed(store.of_job(job_id)) if (run := store.run(run_id)) is not None]
    told = _told(store, found)
    if not told:
        raise UsageError(
            f"job {job_id} has no ranks and no steps", hint=f"see `jobmeter show {found[-1].run_id}`"
        )
    paces = {
        pace.rank: pace for pace in analysis.paces({rank: one.lives for rank, one in sorted(told.items())})
    }
    current = [told[rank].run for rank in sorted(told)]
    sizes = [run.world_size for run in current if run.world_size is not None]
    world_size = max(sizes, default=None)
    ranks = tuple(_rank(told[rank], paces.get(rank)) for rank in sorted(told))
    return JobView(
        job_id=job_id,
        runs=tuple(found),
        resumed=_resumed(found),
        world_size=world_size,
        ranks=ranks,
        missing=analysis.missing(told, world_size),
        step_imbalance=_uneven({one.rank: one.step_seconds for one in ranks}),
        memory_imbalance=_uneven({one.rank: one.memory_peak_bytes for one in ranks}),
        throughput=_added(ranks),
        loss=_loss(current[0]),
    )


def _told(store: Store, found: Sequence[Run]) -> dict[int, Told]:
    """Read what each rank told, the newest run that saw it last; its earlier lives come before."""
    told: dict[int, Told] = {}
    since = rank_figures.compared_since(store, found)
    for run in found:
        for one in rank_figures.of_run(store, run, since):
            before = told.get(one.rank)
            told[one.rank] = one if before is None else one.after(before)
    return told


def _rank(told: Told, pace: analysis.Pace | None) -> RankView:
    share, gpu = told.share, told.gpu
    return RankView(
        rank=told.rank,
        run_id=told.run.run_id,
        status=told.run.status,
        host=told.run.host,
        pid=told.pid,
        steps=told.count or None,
        last_step=None if pace is None else pace.last_step,
        behind=None if pace is None else pace.behind,
        step_seconds=None if pace is None else pace.step_seconds,
        relative=None if pace is None else pace.relative,
        slowest_share=None if pace is None else pace.slowest_share,
        is_straggler=pace is not None and pace.is_straggler,
        processes=share.processes or None,
        cpu_seconds=share.cpu_seconds,
        memory_peak_bytes=share.memory_peak_bytes,
        gpu_util_percent=gpu.util_percent,
        gpu_memory_peak_bytes=gpu.memory_peak_bytes,
        throughput=dict(told.throughput),
    )


def _uneven(sizes: Mapping[int, float | None]) -> float | None:
    return analysis.imbalance({rank: size for rank, size in sizes.items() if size is not None})


def _added(ranks: Sequence[RankView]) -> dict[str, Added]:
    quantities = sorted({quantity for one in ranks for quantity in one.throughput})
    told = {name: [one.throughput[name] for one in ranks if name in one.throughput] for name in quantities}
    return {name: Added(sum(values), len(values)) for name, values in told.items()}


def _loss(run: Run) -> MetricSummary | None:
    return None if run.steps is None else run.steps.metrics.get(metrics.LOSS)


def _resumed(found: Sequence[Run]) -> dict[str, str]:
    earlier = {run.run_id: run.context.get("resumed") for run in found}
    return {run_id: name for run_id, name in earlier.items() if isinstance(name, str)}
