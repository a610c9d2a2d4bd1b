"""What the store knows of a job's runs, as sizing wants to know it.

Several recorders of one job (a rank or a host each) are one run: what the largest of them used. What can mislead:
`sacct` tells the memory of the largest task and the request for all of them; a run whose memory is known by its
largest process only is taken at that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from jobmeter.analysis.sizing import cores
from jobmeter.analysis.sizing.facts import RunFacts
from jobmeter.model import units
from jobmeter.model.measurement import GPU_TOOLS
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.model.sizing import Resource
from jobmeter.stores import Store

MOST_RUNS = 500
"""More of a job's runs say nothing new of it."""
_SAMPLED_RUNS = 20
"""Of so many of the newest runs the series are read."""
_INPUT_KEYS = ("nextflow_rchar", "wait_rchar")
INPUT_TAG = "input_bytes"
_OOM_KEYS = ("cgroup_oom_kill", "slurm_oom_kill")
_OUT_OF_MEMORY, _TIMEOUT = "OUT_OF_MEMORY", "TIMEOUT"
_TIMEOUT_CODE = 124
_KILLED_CODE = 137


def of_job(store: Store, runs: Sequence[Run]) -> list[RunFacts]:
    """Gather the facts of a job's ended runs, oldest first."""
    ended = [run for run in runs if run.status not in LIVE]
    ended.sort(key=lambda run: (run.started_at or 0.0, run.run_id))
    newest = ended[-MOST_RUNS:]
    sampled = {run.run_id for run in newest[-_SAMPLED_RUNS:]}
    # only the newest runs and those that failed are worth unpacking
    contexts = {
        run.run_id: _context(store, run)
        for run in newest
        if run.run_id in sampled or run.status is not Status.COMPLETED
    }
    machines = _machines(newest, contexts)
    recorders: dict[str, list[RunFacts]] = {}
    for run in newest:
        facts = _facts(store, run, contexts.get(run.run_id, {}), is_sampled=run.run_id in sampled)
        recorders.setdefault(run.job_id, []).append(_without_machine(facts, machines))
    return [_together(found) for found in recorders.values()]


def _context(store: Store, run: Run) -> Mapping[str, object]:
    whole = store.run(run.run_id)
    return {} if whole is None else whole.context


@dataclass(frozen=True, slots=True)
class _Machines:
    """What whole machines have: nobody asked for that, it is only what there was."""

    memory_bytes: frozenset[float | None]
    cpus: frozenset[float | None]


def _machines(runs: Sequence[Run], contexts: Mapping[str, Mapping[str, object]]) -> _Machines:
    memory: set[float | None] = set()
    cpus: set[float | None] = set()
    for run in runs:
        context = contexts.get(run.run_id, {})
        if _member(context, "limits", "memory_source") == "host":
            memory.add(run.limits.memory_bytes)
        if run.limits.cpus is not None and run.limits.cpus == _member(context, "host", "cpus"):
            cpus.add(run.limits.cpus)
    return _Machines(frozenset(memory), frozenset(cpus))


def _without_machine(facts: RunFacts, machines: _Machines) -> RunFacts:
    if facts.asked_memory_bytes in machines.memory_bytes:
        facts = replace(facts, asked_memory_bytes=None)
    return replace(facts, asked_cpus=None) if facts.asked_cpus in machines.cpus else facts


def _together(found: Sequence[RunFacts]) -> RunFacts:
    first = found[0]
    if len(found) == 1:
        return first
    return replace(
        first,
        memory_bytes=_most(one.memory_bytes for one in found),
        wall_seconds=_most(one.wall_seconds for one in found),
        cores=_most(one.cores for one in found),
        gpus=max((one.gpus for one in found if one.gpus is not None), default=None),
        input_bytes=_most(one.input_bytes for one in found),
        ended_well=all(one.ended_well for one in found),
        ran_out_of=next((one.ran_out_of for one in found if one.ran_out_of is not None), None),
        is_sampled=all(one.is_sampled for one in found),
    )


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _facts(store: Store, run: Run, context: Mapping[str, object], *, is_sampled: bool) -> RunFacts:
    ended_well = run.status is Status.COMPLETED
    memory = run.headline.get("memory_peak_bytes")
    needed = _cores_over_time(store, run) if is_sampled else None
    gpus, asked_gpus = _gpus(store, run, context) if is_sampled else (None, None)
    return RunFacts(
        ended_well=ended_well,
        ran_out_of=None if ended_well else _ran_out_of(run, context),
        memory_bytes=None if memory is None else memory.value,
        wall_seconds=run.wall_seconds,
        cores=_mean_cores(run) if needed is None else needed,
        is_sampled=needed is not None,
        gpus=gpus,
        input_bytes=_input_bytes(run),
        asked_memory_bytes=run.limits.memory_bytes,
        asked_cpus=run.limits.cpus,
        asked_seconds=_time_limit(context),
        asked_gpus=asked_gpus,
    )


def _ran_out_of(run: Run, context: Mapping[str, object]) -> Resource | None:
    state = _member(context, "slurm", "state")
    if state == _OUT_OF_MEMORY or any(_number(run.summary.get(key)) for key in _OOM_KEYS):
        return Resource.MEMORY
    if run.provenance.origin == "nextflow":
        return _nextflow_ran_out_of(run, context)
    is_timeout = run.status is Status.CANCELLED and run.exit_code == _TIMEOUT_CODE
    return Resource.TIME if state == _TIMEOUT or is_timeout else None


def _nextflow_ran_out_of(run: Run, context: Mapping[str, object]) -> Resource | None:
    """Tell the limit a task hit; the exit code of one that was stopped for time differs with the scheduler."""
    limit = _time_limit(context)
    if limit is not None and run.wall_seconds is not None and run.wall_seconds >= limit:
        return Resource.TIME
    return Resource.MEMORY if run.exit_code == _KILLED_CODE else None


def _time_limit(context: Mapping[str, object]) -> float | None:
    """Find the limit a scheduler or `--timeout` set; Slurm tells its jobs when they will be ended."""
    limits = (_number(_member(context, tool, "time_limit_seconds")) for tool in ("slurm", "nextflow"))
    told = next((limit for limit in limits if limit is not None), None)
    given = _number(_member(context, "options", "timeout"))
    begin, end = (
        _number(_member(context, "environment", name))
        for name in ("SLURM_JOB_START_TIME", "SLURM_JOB_END_TIME")
    )
    if begin is not None and end is not None and end > begin:
        told = end - begin
    return told if told is not None else given


def _member(context: Mapping[str, object], *names: str) -> object:
    found: object = context
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _number(value: object) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    return float(value) if isinstance(value, str) and value.isdecimal() else None


def _mean_cores(run: Run) -> float | None:
    used = run.headline.get("cpu_seconds")
    return None if used is None else units.mean_cores(used.value, run.wall_seconds)


def _cores_over_time(store: Store, run: Run) -> float | None:
    used = run.headline.get("cpu_seconds")
    if used is None or not used.keys:
        return None
    key = used.keys[0]
    for one in store.series(run.run_id, {key}, counters={key}):
        if not one.instance and one.spans is not None:
            return cores.needed(one.values, one.spans)
    return None


def _gpus(store: Store, run: Run, context: Mapping[str, object]) -> tuple[int | None, float | None]:
    """Count the GPUs that worked, and those the job was given."""
    asked = _number(_member(context, "slurm", "gpus"))
    if "gpu_util_percent" not in run.headline:
        return None, asked
    statistics = store.statistics(run.run_id)
    for tool in GPU_TOOLS:
        devices = [one for (key, instance), one in statistics.items() if key == f"{tool}_util" and instance]
        if devices:
            return sum(one.high > 0 for one in devices), asked if asked is not None else float(len(devices))
    return None, asked


def _input_bytes(run: Run) -> float | None:
    """Take the size somebody tagged the run with, else the bytes it read."""
    tagged = _number(run.tags.get(INPUT_TAG))
    if tagged is not None:
        return tagged
    return next((size for key in _INPUT_KEYS if (size := _number(run.summary.get(key))) is not None), None)
