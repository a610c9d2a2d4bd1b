"""Accounting logs of PBS, OpenPBS and Torque: `MM/DD/YYYY HH:MM:SS;E;JOB;name=value ...`, one line per event.

Only the records of ended jobs (E) are jobs with figures. What misleads: an exit status of 256 or more is 256 plus
the signal, a negative one says that the server never ran or lost it; `mem` is the sum over nodes of what was seen.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from jobmeter.formats import jobrecord, monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Unit
from jobmeter.model.run import Limits, Status, Value

ORIGIN = "pbs"
DEFINITIONS = monitorlog.table(
    (
        jobrecord.total("pbs_cputime", Unit.SECONDS, "CPU time of the job (resources_used.cput)"),
        jobrecord.total("pbs_elapsed", Unit.SECONDS, "wall time (resources_used.walltime)"),
        jobrecord.largest("pbs_mem", Unit.BYTES, "largest resident memory polled, of all processes"),
        jobrecord.largest("pbs_vmem", Unit.BYTES, "largest virtual memory polled, of all processes"),
        jobrecord.largest("pbs_cpupercent", Unit.PERCENT, "largest CPU use polled, 100 is one core"),
        jobrecord.total("pbs_energy", Unit.JOULES, "energy used (resources_used.energy_used)"),
        jobrecord.total("pbs_queued", Unit.SECONDS, "from entering the queue to start"),
    )
)
_RECORD = re.compile(r"(\d\d/\d\d/\d{4}) (\d\d:\d\d:\d\d);([A-Za-z]);([^;]*);(.*)")
_NAME = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_.]*)=")
_SIGNAL_BASES = (256, 128)
_POLLED = "polled by the node: a lower bound"


def sniff(head: bytes, _name: str) -> float:
    """Claim lines of accounting records."""
    lines = [line for line in monitorlog.head_text(head).split("\n") if line.strip()][:5]
    return 0.95 if lines and all(_RECORD.match(line) for line in lines[: max(1, len(lines) - 1)]) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per ended job."""
    jobs = (_job(job_id, fields, text) for job_id, fields, text in _ended(path))
    return jobrecord.imported(path, jobs, format=ORIGIN, tool=ORIGIN, definitions=DEFINITIONS)


def _ended(path: Path) -> Iterator[tuple[str, dict[str, str], str]]:
    for line in monitorlog.text_lines(path):
        found = _RECORD.fullmatch(line.strip())
        if found is not None and found[3] == "E":
            yield found[4], _fields(found[5]), line


def _fields(text: str) -> dict[str, str]:
    """Cut at the names: a value may hold blanks and equals signs (`nodes=1:ppn=4`)."""
    names = list(_NAME.finditer(text))
    ends = [*(name.start() for name in names), len(text)][1:]
    pairs = zip(names, ends, strict=bool(names))
    return {name.group(1): text[name.end() : end].strip() for name, end in pairs}


def _job(job_id: str, fields: dict[str, str], text: str) -> jobrecord.Job:
    code, signal = _ending(fields.get("Exit_status", ""))
    started, ended = quantity.moment(fields.get("start", "")), quantity.moment(fields.get("end", ""))
    queued = quantity.moment(fields.get("qtime", "") or fields.get("ctime", ""))
    summary = _summary(fields)
    if started and queued and started.seconds >= queued.seconds:
        summary["pbs_queued"] = quantity.tidy(started.seconds - queued.seconds)
    hosts = sorted({part.partition("/")[0] for part in fields.get("exec_host", "").split("+") if part})
    names = (
        "group",
        "account",
        "project",
        "queue",
        "exec_host",
        "session",
        "Resource_List.walltime",
        "Exit_status",
    )
    return jobrecord.Job(
        id=job_id,
        text=text,
        status=jobrecord.outcome(code, signal) if code is None or code >= 0 else Status.FAILED,
        name=fields.get("jobname"),
        user=fields.get("user"),
        host=hosts[0] if len(hosts) == 1 else None,
        exit_code=code,
        signal=signal,
        submitted_at=queued.seconds if queued else None,
        started_at=started.seconds if started else None,
        ended_at=ended.seconds if ended else None,
        wall_seconds=_wall(fields, started, ended),
        limits=_limits(fields),
        summary=summary,
        details={name: fields[name] for name in names if name in fields} | {"hosts": len(hosts) or None},
        tags={name: fields[name] for name in ("queue", "account") if name in fields},
        inexact={key: _POLLED for key in ("pbs_mem", "pbs_vmem") if key in summary},
    )


def _ending(text: str) -> tuple[int | None, str | None]:
    status = quantity.number(text)
    if status is None:
        return None, None
    for base in _SIGNAL_BASES:
        if status > base:
            return jobrecord.ending(int(status), int(status) - base)
    return int(status), None


def _summary(fields: dict[str, str]) -> dict[str, Value]:
    used = {name.removeprefix("resources_used."): value for name, value in fields.items()}
    found: dict[str, Value | None] = {
        "pbs_cputime": quantity.clock_seconds(used.get("cput", "")),
        "pbs_elapsed": quantity.clock_seconds(fields.get("resources_used.walltime", "")),
        "pbs_mem": quantity.size_bytes(fields.get("resources_used.mem", "")),
        "pbs_vmem": quantity.size_bytes(used.get("vmem", "")),
        "pbs_cpupercent": quantity.number(used.get("cpupercent", "")),
        "pbs_energy": quantity.number(used.get("energy_used", "")) or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _wall(
    fields: dict[str, str], started: quantity.Moment | None, ended: quantity.Moment | None
) -> float | None:
    if started is not None and ended is not None:
        return quantity.tidy(ended.seconds - started.seconds)
    return quantity.clock_seconds(fields.get("resources_used.walltime", ""))


def _limits(fields: dict[str, str]) -> Limits:
    cpus = quantity.number(fields.get("Resource_List.ncpus", ""))
    per_node = re.match(r"(\d+):ppn=(\d+)", fields.get("Resource_List.nodes", ""))
    nodes_cpus = int(per_node[1]) * int(per_node[2]) if per_node else 0
    count = max(cpus or 0, nodes_cpus)
    return Limits(
        memory_bytes=quantity.size_bytes(fields.get("Resource_List.mem", "")),
        cpus=float(count) if count else None,
    )
