"""What `seff` reports of finished Slurm jobs; a file may hold many reports, among other text.

What misleads: `Memory Utilized` is MaxRSS of the largest task times the number of tasks; `0.00 MB` means that
Slurm never sampled the job; a percentage is of what was asked for, not of the machine.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from jobmeter.formats import jobrecord, monitorlog, quantity, slurm_keys
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Unit
from jobmeter.model.run import LIVE, Limits, Status, Value

ORIGIN = "seff"
DEFINITIONS = monitorlog.table(
    (
        jobrecord.total("seff_cputime", Unit.SECONDS, "CPU time of all steps (CPU Utilized)"),
        jobrecord.total("seff_elapsed", Unit.SECONDS, "wall time (Job Wall-clock time)"),
        jobrecord.total(
            "seff_alloc_cputime", Unit.SECONDS, "wall time of all allocated cores (core-walltime)"
        ),
        jobrecord.largest("seff_cpu_efficiency", Unit.PERCENT, "CPU time as a share of core-walltime"),
        jobrecord.largest("seff_memory", Unit.BYTES, "largest task times number of tasks (Memory Utilized)"),
        jobrecord.largest(
            "seff_memory_efficiency", Unit.PERCENT, "Memory Utilized as a share of the request"
        ),
    )
)
_FIELD = re.compile(r"\s*([A-Z][A-Za-z/ -]{2,30}?)\s*:\s+(.*?)\s*")
_STATE = re.compile(r"(\S+)(?:\s+\(exit code (\d+)\))?")
_OF = re.compile(r"([\d.]+)%\s+of\s+([\d.:-]+\s*[KMGTP]?i?B?)")


def sniff(head: bytes, _name: str) -> float:
    """Claim text with the first lines of a report."""
    text = monitorlog.head_text(head)
    has_end = "CPU Utilized:" in text or "Job Wall-clock time:" in text
    return 0.95 if re.search(r"^\s*Job ID: \d+", text, re.MULTILINE) and has_end else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per report; the same report twice is one."""
    jobs = [_job(fields, text) for fields, text in _reports(path)]
    return jobrecord.imported(path, jobs, format=ORIGIN, tool=slurm_keys.TOOL, definitions=DEFINITIONS)


def _reports(path: Path) -> Iterator[tuple[dict[str, str], str]]:
    fields: dict[str, str] = {}
    for line in monitorlog.text_lines(path):
        found = _FIELD.fullmatch(line)
        if found is None:
            continue
        name, value = found.groups()
        if name == "Job ID":
            yield from _whole(fields)
            fields = {}
        elif "Job ID" not in fields:
            continue  # a field of some other text before the first report
        fields.setdefault(name, value)
    yield from _whole(fields)


def _whole(fields: dict[str, str]) -> Iterator[tuple[dict[str, str], str]]:
    if "Job ID" in fields and "State" in fields:
        yield fields, "\n".join(f"{name}: {value}" for name, value in fields.items())


def _job(fields: dict[str, str], text: str) -> jobrecord.Job:
    state, code = _state(fields["State"])
    status = slurm_keys.status(state)
    summary = _summary(fields)
    nodes, cores = quantity.number(fields.get("Nodes", "")), quantity.number(fields.get("Cores per node", ""))
    cpus = quantity.number(fields.get("Cores", "")) or (cores * (nodes or 1) if cores else None)
    user, _, group = fields.get("User/Group", "").partition("/")
    requested = _share(fields.get("Memory Efficiency", ""))[1]
    inexact = {"seff_memory": slurm_keys.SAMPLED} if "seff_memory" in summary else {}
    missing = {} if inexact else {"seff_memory": "0 bytes: Slurm never sampled the job"}
    return jobrecord.Job(
        id=fields["Job ID"],
        text=text,
        status=status,
        user=user or None,
        # the code of a job that was killed is 0 as well
        exit_code=None if status in LIVE or (code == 0 and status is not Status.COMPLETED) else code,
        wall_seconds=quantity.clock_seconds(fields.get("Job Wall-clock time", "")),
        limits=Limits(
            memory_bytes=quantity.size_bytes(requested) or None, cpus=None if cpus is None else float(cpus)
        ),
        summary=summary,
        details={
            "cluster": fields.get("Cluster"),
            "group": group or None,
            "state": fields["State"],
            "array_job_id": fields.get("Array Job ID"),
            "nodes": nodes,
        },
        missing=missing,
        inexact=inexact,
    )


def _state(text: str) -> tuple[str, int | None]:
    found = _STATE.match(text)
    if found is None:
        return text, None
    state, code = found.groups()
    return state, int(code) if code is not None else None


def _summary(fields: dict[str, str]) -> dict[str, Value]:
    cpu_percent, core_time = _share(fields.get("CPU Efficiency", ""))
    memory_percent, _ = _share(fields.get("Memory Efficiency", ""))
    memory = quantity.size_bytes(fields.get("Memory Utilized", "").partition("(")[0])
    found: dict[str, Value | None] = {
        "seff_cputime": quantity.clock_seconds(fields.get("CPU Utilized", "")),
        "seff_elapsed": quantity.clock_seconds(fields.get("Job Wall-clock time", "")),
        "seff_alloc_cputime": quantity.clock_seconds(core_time),
        "seff_cpu_efficiency": cpu_percent,
        "seff_memory": memory or None,
        "seff_memory_efficiency": memory_percent if memory else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _share(text: str) -> tuple[quantity.Number | None, str]:
    """Take `88.81% of 32-08:47:36 core-walltime` apart."""
    found = _OF.match(text)
    return (quantity.number(found.group(1)), found.group(2)) if found else (None, "")
