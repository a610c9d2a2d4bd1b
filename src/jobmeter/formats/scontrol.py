"""What `scontrol show job` prints, alone or in the epilogue of a job's own output.

What misleads: the `EndTime` of a job that still runs is when its time limit will end it, the `StartTime` of a
pending one is a plan; `MinMemoryCPU` is per CPU. Tables of sacct in the same text add what the steps used.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from jobmeter.formats import jobrecord, monitorlog, quantity, sacct, slurm_fold, slurm_keys
from jobmeter.model.imported import Imported
from jobmeter.model.run import LIVE, Limits, Status, Value

ORIGIN = "scontrol"
_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:]*)=")
_WHOLE_LINE = frozenset(
    ("Command", "WorkDir", "StdErr", "StdIn", "StdOut", "Comment", "AdminComment", "JobName")
)
_BEGINNING = re.compile(r"^\s*JobId=\d+", re.MULTILINE)
_DETAILS = (
    "Account", "QOS", "Partition", "JobState", "Reason", "ExitCode", "TimeLimit", "NodeList", "NumNodes", "NumTasks",
    "TRES", "ReqTRES", "AllocTRES", "Licenses", "Features", "StdOut", "StdErr", "Dependency", "Requeue", "Restarts",
)  # fmt: skip


def sniff(head: bytes, _name: str) -> float:
    """Claim text with the first fields of a job."""
    text = monitorlog.head_text(head)
    return 0.95 if _BEGINNING.search(text) and "JobState=" in text else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per job shown."""
    lines = list(monitorlog.text_lines(path))
    rows = list(sacct.tables(lines))
    jobs = [_job(fields, text, rows) for fields, text in _blocks(lines) if "JobState" in fields]
    return jobrecord.imported(
        path, jobs, format=ORIGIN, tool=slurm_keys.TOOL, definitions=slurm_keys.DEFINITIONS
    )


def _blocks(lines: Sequence[str]) -> Iterable[tuple[dict[str, str], str]]:
    block: list[str] = []
    for line in lines:
        begins = _BEGINNING.match(line)
        # a block is indented below its first line; with -o it is that line alone
        if block and (begins or not line[:1].isspace()):
            yield _fields(block), "\n".join(block)
            block = []
        if begins or (block and line.strip()):
            block.append(line)
    if block:
        yield _fields(block), "\n".join(block)


def _fields(block: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in block:
        names = list(_PAIR.finditer(line))
        for place, name in enumerate(names):
            rest = name.group(1) in _WHOLE_LINE and place == len(names) - 1
            end = names[place + 1].start() if place + 1 < len(names) else len(line)
            value = line[name.end() : end if not rest else len(line)].strip()
            if value and value != "(null)":
                found.setdefault(name.group(1), value)
    return found


def _job(fields: dict[str, str], text: str, rows: Sequence[tuple[slurm_fold.Row, str]]) -> jobrecord.Job:
    status = slurm_keys.status(fields["JobState"])
    job_id = fields["JobId"]
    steps = [row for row, _ in rows if slurm_fold.split_id(row.get("jobid", ""))[0] == job_id]
    started = None if status is Status.QUEUED else _moment(fields, "StartTime")
    submitted = _moment(fields, "SubmitTime")
    pair = slurm_keys.exit_pair(fields.get("ExitCode", ""))
    code, signal = jobrecord.ending(*pair) if pair and status not in LIVE else (None, None)
    summary = _summary(fields, steps, submitted, started)
    inexact = {"started_at": "Slurm prints local time without a zone: read as UTC"} if started else {}
    if "slurm_maxrss" in summary:
        inexact["slurm_maxrss"] = slurm_keys.SAMPLED
    return jobrecord.Job(
        id=_id(fields),
        text=text,
        status=status,
        name=fields.get("JobName"),
        command=(fields["Command"],) if "Command" in fields else (),
        cwd=fields.get("WorkDir"),
        user=fields.get("UserId", "").partition("(")[0] or None,
        host=fields.get("BatchHost"),
        exit_code=code,
        signal=signal,
        submitted_at=submitted,
        started_at=started,
        ended_at=None if status in LIVE else _moment(fields, "EndTime"),
        wall_seconds=quantity.clock_seconds(fields.get("RunTime", "")),
        limits=_limits(fields),
        summary=summary,
        details={name.lower(): fields[name] for name in _DETAILS if name in fields},
        tags={name.lower(): fields[name] for name in ("Partition", "Account") if name in fields},
        inexact=inexact,
    )


def _id(fields: dict[str, str]) -> str:
    array, task = fields.get("ArrayJobId"), fields.get("ArrayTaskId")
    return f"{array}_{task}" if array and task else fields["JobId"]


def _summary(
    fields: dict[str, str], steps: Sequence[slurm_fold.Row], submitted: float | None, started: float | None
) -> dict[str, Value]:
    elapsed = quantity.clock_seconds(fields.get("RunTime", ""))
    sizes = [quantity.size_bytes(step.get("maxrss", "")) for step in steps]
    found: dict[str, Value | None] = {
        "slurm_elapsed": elapsed,
        "slurm_queued": quantity.tidy(started - submitted) if started and submitted else None,
        "slurm_maxrss": max((size for size in sizes if size), default=None),
    }
    return {key: value for key, value in found.items() if value is not None}


def _limits(fields: dict[str, str]) -> Limits:
    granted = slurm_keys.resources(fields.get("AllocTRES") or fields.get("TRES") or fields.get("ReqTRES", ""))
    cpus = quantity.number(fields.get("NumCPUs", "").partition("-")[0])
    nodes = quantity.number(fields.get("NumNodes", "").partition("-")[0])
    per_cpu = quantity.size_bytes(fields.get("MinMemoryCPU", ""), bare=slurm_keys.MIB)
    per_node = quantity.size_bytes(fields.get("MinMemoryNode", ""), bare=slurm_keys.MIB)
    asked = per_cpu * cpus if per_cpu and cpus else per_node * (nodes or 1) if per_node else None
    memory = quantity.size_bytes(granted.get("mem", "")) or asked
    return Limits(
        memory_bytes=None if memory is None else round(memory), cpus=None if cpus is None else float(cpus)
    )


def _moment(fields: dict[str, str], name: str) -> float | None:
    found = quantity.moment(fields.get(name, ""))
    return None if found is None else found.seconds
