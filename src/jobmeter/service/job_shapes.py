"""A job as other programs read it: the JSON of `jobmeter ranks --json`. Only what was measured is present."""

from jobmeter.model.job import JobView, RankView
from jobmeter.model.moments import iso_time
from jobmeter.model.run import Run

Shape = dict[str, object]


def shown(view: JobView) -> Shape:
    """Lay out a job."""
    uneven = _present({"step_seconds": view.step_imbalance, "memory": view.memory_imbalance})
    return _present(
        {
            "job_id": view.job_id,
            "world_size": view.world_size,
            "ranks_seen": [one.rank for one in view.ranks],
            "ranks_missing": list(view.missing),
            "stragglers": [one.rank for one in view.ranks if one.is_straggler],
            "imbalance": uneven or None,
            "throughput": {
                name: {"value": added.value, "ranks": added.ranks} for name, added in view.throughput.items()
            }
            or None,
            "loss": None if view.loss is None else view.loss.as_record(),
            "ranks": [_rank(one) for one in view.ranks],
            "runs": [_run(run, view.resumed.get(run.run_id)) for run in view.runs],
        }
    )


def _rank(one: RankView) -> Shape:
    return _present(
        {
            "rank": one.rank,
            "run_id": one.run_id,
            "status": one.status.value,
            "host": one.host,
            "pid": one.pid,
            "steps": one.steps,
            "last_step": one.last_step,
            "behind": one.behind,
            "step_seconds": one.step_seconds,
            "relative": one.relative,
            "slowest_share": one.slowest_share,
            "straggler": one.is_straggler,
            "processes": one.processes,
            "cpu_seconds": one.cpu_seconds,
            "memory_peak_bytes": one.memory_peak_bytes,
            "gpu_util_percent": one.gpu_util_percent,
            "gpu_memory_peak_bytes": one.gpu_memory_peak_bytes,
            "throughput": dict(one.throughput) or None,
        }
    )


def _run(run: Run, resumed: str | None) -> Shape:
    return _present(
        {
            "run_id": run.run_id,
            "status": run.status.value,
            "exit_code": run.exit_code,
            "host": run.host,
            "started_at": iso_time(run.started_at),
            "ended_at": iso_time(run.ended_at),
            "ranks": list(run.ranks) or None,
            "resumed": resumed,
        }
    )


def _present(shape: Shape) -> Shape:
    return {key: value for key, value in shape.items() if value is not None}
