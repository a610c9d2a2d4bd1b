"""A job's row and the rows of its steps, folded into one job.

Memory and exit signals stand on the steps (`.batch`, `.0`), limits and names on the job. A step that says
OUT_OF_MEMORY tells how the job ended even where the job's own row says CANCELLED.
"""

from collections.abc import Iterable, Mapping, Sequence

from jobmeter.formats import jobrecord, quantity, slurm_keys
from jobmeter.model.run import LIVE, Limits, Status, Value
from jobmeter.model.view import Event

Row = Mapping[str, str]
"""Cells by sacct's field names in lower case; absent ones are left out."""

_DETAILS = (
    "account", "cluster", "partition", "qos", "group", "reqmem", "alloctres", "reqtres", "timelimit", "nodelist",
    "nnodes", "ntasks", "state", "exitcode", "derivedexitcode", "reason", "comment", "jobidraw", "priority",
    "submit", "eligible", "flags", "reservation", "constraints",
)  # fmt: skip
_STEP_DETAILS = (
    "state",
    "exitcode",
    "maxrss",
    "averss",
    "totalcpu",
    "elapsed",
    "ntasks",
    "nodelist",
    "jobname",
)
_NUMBERS = frozenset(("nnodes", "ntasks", "priority"))


def split_id(job_id: str) -> tuple[str, str]:
    """Take `33979.batch` apart; the step of a job's own row is empty."""
    job, _, step = job_id.partition(".")
    return job, step


def group(rows: Iterable[tuple[Row, str]]) -> list[tuple[list[Row], str]]:
    """Bring the rows of one job together, with their text.

    Without an id a row is a job of its own, unless it has neither user nor partition below one that has: a step.
    """
    found: list[tuple[list[Row], list[str]]] = []
    current = ""
    for row, text in rows:
        job, step = split_id(row.get("jobid", ""))
        is_nameless_step = not job and found and _is_job(found[-1][0][0]) and not _is_job(row)
        if (job and job == current and step) or is_nameless_step:
            found[-1][0].append(row)
            found[-1][1].append(text)
            continue
        current = job
        found.append(([row], [text]))
    return [(members, "\n".join(texts)) for members, texts in found]


def _is_job(row: Row) -> bool:
    """Tell the row of a job by what sacct leaves empty on steps."""
    return "user" in row or "partition" in row


def job(rows: Sequence[Row], text: str, inexact: Mapping[str, str] | None = None) -> jobrecord.Job:
    """Fold the rows of one job."""
    own = rows[0]
    steps = rows if split_id(own.get("jobid", ""))[1] else rows[1:]
    status, why = _status(own, steps)
    exit_code, signal = _ending(own, steps, status)
    started, ended = _moment(own, "start"), _moment(own, "end")
    summary = _summary(own, steps, started)
    known_inexact = dict(inexact or {}) | why
    if "slurm_maxrss" in summary:
        known_inexact["slurm_maxrss"] = slurm_keys.SAMPLED
    if _is_unzoned(own):
        known_inexact["started_at"] = "Slurm prints local time without a zone: read as UTC"
    return jobrecord.Job(
        id=split_id(own.get("jobid", ""))[0],
        text=text,
        status=status,
        name=own.get("jobname"),
        command=(own["submitline"],) if own.get("submitline") else (),
        cwd=own.get("workdir"),
        user=own.get("user"),
        host=_single_host(own.get("nodelist", "")),
        exit_code=exit_code,
        signal=signal,
        submitted_at=_moment(own, "submit"),
        started_at=started,
        ended_at=None if status in LIVE else ended,
        wall_seconds=_elapsed(own),
        limits=_limits(own),
        summary=summary,
        details=_details(own, steps),
        tags=_tags(own),
        missing=_missing(own, steps),
        inexact=known_inexact,
        events=_events(own, steps, ended),
    )


def _status(own: Row, steps: Sequence[Row]) -> tuple[Status, dict[str, str]]:
    state = own.get("state", "")
    status = slurm_keys.status(state)
    oom = [step for step in steps if slurm_keys.state_word(step.get("state", "")) == slurm_keys.OOM]
    if not oom or status in LIVE or slurm_keys.state_word(state) == slurm_keys.OOM:
        return status, {}
    step = split_id(oom[0].get("jobid", ""))[1]
    return Status.KILLED, {"status": f"the job's row says {state}, its step {step} OUT_OF_MEMORY"}


def _ending(own: Row, steps: Sequence[Row], status: Status) -> tuple[int | None, str | None]:
    pair = slurm_keys.exit_pair(own.get("exitcode", ""))
    if status in LIVE:
        return None, None
    if pair == (0, 0) and status is not Status.COMPLETED:
        # the job's row of a cancelled or timed out job says 0:0; its batch step knows
        pairs = (slurm_keys.exit_pair(step.get("exitcode", "")) for step in steps)
        pair = next((found for found in pairs if found not in (None, (0, 0))), None)
    return jobrecord.ending(pair[0], pair[1]) if pair and pair[1] != _OOM_SIGNAL else (None, None)


_OOM_SIGNAL = 125


def _summary(own: Row, steps: Sequence[Row], started: float | None) -> dict[str, Value]:
    submitted, elapsed = _moment(own, "submit"), _elapsed(own)
    waited = started - submitted if started is not None and submitted is not None else None
    found: dict[str, Value | None] = {
        "slurm_cputime": _seconds(own, steps, "totalcpu"),
        "slurm_utime": _seconds(own, steps, "usercpu"),
        "slurm_stime": _seconds(own, steps, "systemcpu"),
        "slurm_elapsed": elapsed,
        "slurm_alloc_cputime": _number(own, "cputimeraw") or quantity.clock_seconds(own.get("cputime", "")),
        "slurm_queued": quantity.tidy(waited) if waited is not None and waited >= 0 else None,
        "slurm_maxrss": _largest(own, steps, "maxrss"),
        "slurm_maxvmsize": _largest(own, steps, "maxvmsize"),
        "slurm_disk_read": _disk(steps, "tresusageintot", "maxdiskread"),
        "slurm_disk_write": _disk(steps, "tresusageouttot", "maxdiskwrite"),
        "slurm_energy": slurm_keys.joules(own.get("consumedenergyraw", "") or own.get("consumedenergy", "")),
    }
    return {key: value for key, value in found.items() if value is not None}


def _seconds(own: Row, steps: Sequence[Row], field: str) -> quantity.Number | None:
    """Take the job's own sum, else that of its steps."""
    known = quantity.clock_seconds(own.get(field, ""))
    if known is not None:
        return known
    parts = [value for step in steps if (value := quantity.clock_seconds(step.get(field, ""))) is not None]
    return quantity.tidy(sum(parts)) if parts else None


def _largest(own: Row, steps: Sequence[Row], field: str) -> int | None:
    # `.extern` says 0 where it ran nothing: no size of the job
    sizes = [quantity.size_bytes(row.get(field, ""), bare=1) for row in (own, *steps)]
    return max((size for size in sizes if size), default=None)


def _disk(steps: Sequence[Row], total_field: str, largest_field: str) -> int | None:
    """Sum what the steps read or wrote; a step of one task may only say its largest."""
    sizes = []
    for step in steps:
        told = slurm_keys.resources(step.get(total_field, "")).get("fs/disk")
        if told is not None:
            sizes.append(quantity.size_bytes(told))
        elif _number(step, "ntasks") == 1:
            sizes.append(quantity.size_bytes(step.get(largest_field, "")))
    known = [size for size in sizes if size is not None]
    return sum(known) if known else None


def _limits(own: Row) -> Limits:
    granted = slurm_keys.resources(own.get("alloctres", ""))
    wanted = slurm_keys.resources(own.get("reqtres", ""))
    cpus = next(
        (value for field in ("alloccpus", "ncpus", "reqcpus") if (value := _number(own, field))), None
    ) or quantity.number(granted.get("cpu", wanted.get("cpu", "")))
    nodes = _number(own, "nnodes") or _number(own, "allocnodes") or _number(own, "reqnodes")
    memory = quantity.size_bytes(granted.get("mem", "")) or quantity.size_bytes(wanted.get("mem", ""))
    return Limits(
        memory_bytes=memory or slurm_keys.requested_bytes(own.get("reqmem", ""), cpus, nodes),
        cpus=None if cpus is None else float(cpus),
    )


def _details(own: Row, steps: Sequence[Row]) -> dict[str, object]:
    found: dict[str, object] = {name: _plain(own, name) for name in _DETAILS if name in own}
    limit = quantity.clock_seconds(own.get("timelimit", ""))
    if limit is not None:
        found["time_limit_seconds"] = limit
    gpus = slurm_keys.resources(own.get("alloctres", "")).get("gres/gpu")
    if gpus:
        found["gpus"] = gpus
    told = [
        {"step": split_id(step.get("jobid", ""))[1], **{k: step[k] for k in _STEP_DETAILS if k in step}}
        for step in steps
    ]
    return found | ({"steps": told} if told else {})


def _plain(own: Row, name: str) -> object:
    return _number(own, name) if name in _NUMBERS else own[name]


def _tags(own: Row) -> dict[str, str]:
    return {name: own[name] for name in ("partition", "account") if name in own}


def _missing(own: Row, steps: Sequence[Row]) -> dict[str, str]:
    energy = own.get("consumedenergyraw", own.get("consumedenergy", ""))
    found = {}
    if energy.strip("0.") == "" and energy:
        found["slurm_energy"] = "0 joules: the cluster does not measure energy"
    if steps and not _largest(own, steps, "maxrss") and any("maxrss" in step for step in steps):
        found["slurm_maxrss"] = "0 on every step: the job ended before Slurm sampled it"
    return found


def _events(own: Row, steps: Sequence[Row], ended: float | None) -> tuple[Event, ...]:
    found = []
    for row in (own, *steps):
        at = _moment(row, "end") or ended
        if at is not None and slurm_keys.state_word(row.get("state", "")) == slurm_keys.OOM:
            details: dict[str, object] = {"step": row.get("jobid", "")}
            found.append(Event(timestamp=at, type="oom_kill", details=details))
    return tuple(found[-1:])  # the job's row repeats what its step says


def _moment(row: Row, field: str) -> float | None:
    found = quantity.moment(row.get(field, ""))
    return None if found is None else found.seconds


def _is_unzoned(row: Row) -> bool:
    found = quantity.moment(row.get("start", ""))
    return found is not None and not found.zoned


def _elapsed(row: Row) -> quantity.Number | None:
    raw = _number(row, "elapsedraw")
    return quantity.clock_seconds(row.get("elapsed", "")) if raw is None else raw


def _number(row: Row, field: str) -> quantity.Number | None:
    return quantity.number(row.get(field, ""))


def _single_host(nodes: str) -> str | None:
    return nodes if nodes and not set(nodes) & set("[,]") and not quantity.is_absent(nodes) else None
