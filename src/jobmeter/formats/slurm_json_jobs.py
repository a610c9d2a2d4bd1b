"""One job of Slurm's JSON: sacct's shape (`time`, `steps`, `tres`) and squeue's (`job_state`, `start_time`)."""

import json
from collections.abc import Sequence

from jobmeter.formats import jobrecord, loose_json, quantity, slurm_keys
from jobmeter.formats.slurm_json_values import mappings, number, positive, resource, seconds, total, word
from jobmeter.model.run import LIVE, Limits, Status, Value
from jobmeter.model.view import Event

Record = dict[str, object]


def job(record: Record) -> jobrecord.Job:
    """Read one job of either shape."""
    text = json.dumps(record, sort_keys=True)
    return _accounted(record, text) if isinstance(record.get("time"), dict) else _queued(record, text)


def _accounted(record: Record, text: str) -> jobrecord.Job:
    times, steps = loose_json.mapping(record["time"]), mappings(record.get("steps"))
    state = word(loose_json.mapping(record.get("state")).get("current")) or ""
    status, inexact = _status(state, steps)
    started, ended = positive(times.get("start")), positive(times.get("end"))
    submitted, elapsed = positive(times.get("submission")), number(times.get("elapsed"))
    code, signal = _ending(record.get("exit_code")) if status not in LIVE else (None, None)
    summary = _summary(times, steps, elapsed, _waited(submitted, started))
    if "slurm_maxrss" in summary:
        inexact["slurm_maxrss"] = slurm_keys.SAMPLED
    line = loose_json.text(record.get("submit_line"))
    return jobrecord.Job(
        id=_id(record),
        text=text,
        status=status,
        name=loose_json.text(record.get("name")),
        command=(line,) if line else (),
        cwd=loose_json.text(record.get("working_directory")),
        user=loose_json.text(record.get("user")),
        host=_host(record),
        exit_code=code,
        signal=signal,
        submitted_at=submitted,
        started_at=started,
        ended_at=None if status in LIVE else ended,
        wall_seconds=elapsed,
        limits=_limits(record),
        summary=summary,
        details=_details(record, state) | {"steps": [_step(step) for step in steps]},
        tags=_tags(record),
        missing=_missing(steps),
        inexact=inexact,
        events=_events(steps, ended),
    )


def _status(state: str, steps: Sequence[Record]) -> tuple[Status, dict[str, str]]:
    status = slurm_keys.status(state.partition("+")[0])
    oom = [step for step in steps if slurm_keys.OOM in (word(step.get("state")) or "")]
    if not oom or status in LIVE or state.startswith(slurm_keys.OOM):
        return status, {}
    return Status.KILLED, {"status": f"the job says {state}, its step {_step_name(oom[0])} OUT_OF_MEMORY"}


def _summary(
    times: Record, steps: Sequence[Record], elapsed: quantity.Number | None, waited: quantity.Number | None
) -> dict[str, Value]:
    used = [loose_json.mapping(loose_json.mapping(step.get("tres")).get("requested")) for step in steps]
    written = [loose_json.mapping(loose_json.mapping(step.get("tres")).get("consumed")) for step in steps]
    energy = total(_energy(step) for step in steps)
    found: dict[str, Value | None] = {
        "slurm_cputime": seconds(times.get("total")),
        "slurm_utime": seconds(times.get("user")),
        "slurm_stime": seconds(times.get("system")),
        "slurm_elapsed": elapsed,
        "slurm_queued": waited,
        "slurm_maxrss": _largest(used, "mem"),
        "slurm_maxvmsize": _largest(used, "vmem"),
        "slurm_disk_read": total(resource(use.get("total"), "fs", "disk") for use in used),
        "slurm_disk_write": total(resource(use.get("total"), "fs", "disk") for use in written),
        "slurm_energy": energy or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _largest(used: Sequence[Record], kind: str) -> quantity.Number | None:
    sizes = (resource(use.get("max"), kind) for use in used)
    return max((size for size in sizes if size), default=None)


def _energy(step: Record) -> quantity.Number | None:
    statistics = loose_json.mapping(step.get("statistics"))
    return number(loose_json.mapping(statistics.get("energy")).get("consumed"))


def _missing(steps: Sequence[Record]) -> dict[str, str]:
    if steps and total(_energy(step) for step in steps) == 0:
        return {"slurm_energy": "0 joules: the cluster does not measure energy"}
    return {}


def _events(steps: Sequence[Record], ended: float | None) -> tuple[Event, ...]:
    for step in steps:
        at = positive(loose_json.mapping(step.get("time")).get("end")) or ended
        if at is not None and slurm_keys.OOM in (word(step.get("state")) or ""):
            return (Event(timestamp=float(at), type="oom_kill", details={"step": _step_name(step)}),)
    return ()


def _step(step: Record) -> Record:
    told = loose_json.mapping(step.get("time"))
    used = loose_json.mapping(loose_json.mapping(step.get("tres")).get("requested"))
    found = {
        "step": _step_name(step),
        "state": word(step.get("state")),
        "cputime": seconds(told.get("total")),
        "elapsed": number(told.get("elapsed")),
        "maxrss": resource(used.get("max"), "mem"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _step_name(step: Record) -> str:
    told = loose_json.mapping(step.get("step"))
    name = loose_json.mapping(told.get("id")).get("step_id", told.get("id", told.get("name", "")))
    return str(name).rpartition(".")[2]


def _queued(record: Record, text: str) -> jobrecord.Job:
    state = word(record.get("job_state")) or ""
    status = slurm_keys.status(state.partition("+")[0])
    started = None if status is Status.QUEUED else positive(record.get("start_time"))
    submitted = positive(record.get("submit_time"))
    command = loose_json.text(record.get("command"))
    code, signal = _ending(record.get("exit_code")) if status not in LIVE else (None, None)
    waited = _waited(submitted, started)
    return jobrecord.Job(
        id=_id(record),
        text=text,
        status=status,
        name=loose_json.text(record.get("name")),
        command=(command,) if command else (),
        cwd=loose_json.text(record.get("current_working_directory")),
        user=loose_json.text(record.get("user_name")),
        host=loose_json.text(record.get("batch_host")) or _host(record),
        exit_code=code,
        signal=signal,
        submitted_at=submitted,
        started_at=started,
        ended_at=None if status in LIVE else positive(record.get("end_time")),
        limits=_limits(record),
        summary={} if waited is None else {"slurm_queued": waited},
        details=_details(record, state),
        tags=_tags(record),
    )


def _waited(submitted: float | None, started: float | None) -> quantity.Number | None:
    if submitted is None or started is None or started < submitted:
        return None
    return quantity.tidy(started - submitted)


def _ending(told: object) -> tuple[int | None, str | None]:
    if not isinstance(told, dict):
        code = number(told)  # 21.08 gives the wait status as it is
        return jobrecord.ending(
            None if code is None else int(code) >> 8, 0 if code is None else int(code) & 0x7F
        )
    signal = loose_json.mapping(told.get("signal"))
    signal_number = number(signal.get("id", signal.get("signal_id")))
    code = number(told.get("return_code"))
    return jobrecord.ending(None if code is None else int(code), int(signal_number or 0))


def _limits(record: Record) -> Limits:
    tres = loose_json.mapping(record.get("tres"))
    wanted = loose_json.mapping(record.get("required"))
    cpus = (
        resource(tres.get("allocated"), "cpu")
        or resource(tres.get("requested"), "cpu")
        or positive(record.get("cpus"))
        or positive(wanted.get("CPUs"))
    )
    mebibytes = (
        resource(tres.get("allocated"), "mem")
        or resource(tres.get("requested"), "mem")
        or _per(wanted.get("memory_per_cpu") or record.get("memory_per_cpu"), cpus)
        or _per(wanted.get("memory_per_node") or record.get("memory_per_node"), _nodes(record))
    )
    return Limits(
        memory_bytes=round(mebibytes * slurm_keys.MIB) if mebibytes else None,
        cpus=None if cpus is None else float(cpus),
    )


def _per(each: object, count: quantity.Number | None) -> quantity.Number | None:
    size = positive(each)
    return size * count if size and count else None


def _nodes(record: Record) -> quantity.Number:
    return positive(record.get("node_count")) or positive(record.get("allocation_nodes")) or 1


def _id(record: Record) -> str:
    array = loose_json.mapping(record.get("array"))
    array_id = positive(array.get("job_id")) or positive(record.get("array_job_id"))
    task = number(array.get("task_id")) if array else number(record.get("array_task_id"))
    return f"{array_id}_{task}" if array_id and task is not None else str(record.get("job_id", ""))


def _host(record: Record) -> str | None:
    nodes = loose_json.text(record.get("nodes")) or ""
    return nodes if nodes and nodes != "None assigned" and not set(nodes) & set("[,]") else None


def _details(record: Record, state: str) -> Record:
    names = (
        "account",
        "cluster",
        "partition",
        "qos",
        "group",
        "nodes",
        "state_reason",
        "standard_output",
        "features",
    )
    found: Record = {name: loose_json.text(record.get(name)) for name in names}
    limit = positive(loose_json.mapping(record.get("time")).get("limit") or record.get("time_limit"))
    found["time_limit_seconds"] = None if limit is None else limit * 60
    job_id = record.get("job_id")
    found["slurm_job_id"] = job_id if _id(record) != str(job_id) else None
    return found | {"state": state}


def _tags(record: Record) -> dict[str, str]:
    found = {name: loose_json.text(record.get(name)) for name in ("partition", "account")}
    return {name: value for name, value in found.items() if value}
