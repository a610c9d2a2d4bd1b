"""The `accounting` file of Sun/Univa/Altair Grid Engine: colon-separated fields, one line per ended job.

What misleads: `mem` is an integral in gigabyte-seconds, no size; `ru_maxrss` is in KiB and of the largest process;
newer releases count times in milliseconds; `failed` tells of the system, `exit_status` of the job.
"""

from collections.abc import Iterable
from pathlib import Path

from jobmeter.formats import jobrecord, monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Unit
from jobmeter.model.run import Limits, Status, Value

ORIGIN = "sge"
_FIELDS = (
    "qname hostname group owner job_name job_number account priority submission_time start_time end_time failed "
    "exit_status ru_wallclock ru_utime ru_stime ru_maxrss ru_ixrss ru_ismrss ru_idrss ru_isrss ru_minflt ru_majflt "
    "ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw project department granted_pe "
    "slots task_number cpu mem io category iow pe_taskid maxvmem arid ar_submission_time"
)
_NAMES = tuple(_FIELDS.split())
_FEWEST = _NAMES.index("maxvmem") + 1
_KIB = 1024
DEFINITIONS = monitorlog.table(
    (
        jobrecord.total("sge_cputime", Unit.SECONDS, "CPU time of the job (cpu)"),
        jobrecord.total("sge_utime", Unit.SECONDS, "user time of the shepherd's children (ru_utime)"),
        jobrecord.total("sge_stime", Unit.SECONDS, "system time of the shepherd's children (ru_stime)"),
        jobrecord.total("sge_elapsed", Unit.SECONDS, "wall time (ru_wallclock)"),
        jobrecord.largest("sge_maxrss", Unit.BYTES, "largest resident size of any one process (ru_maxrss)"),
        jobrecord.largest("sge_maxvmem", Unit.BYTES, "largest virtual size of the job (maxvmem)"),
        jobrecord.total("sge_queued", Unit.SECONDS, "from submission to start"),
    )
)
_SIGNAL_BASE = 128
_LIMITS = ("h_vmem", "s_vmem", "h_rss", "virtual_free", "mem_free")
"""What a job may ask for, hardest first; the last two only choose a host."""


def sniff(head: bytes, _name: str) -> float:
    """Claim lines with the fields of an ended job where they belong."""
    text = monitorlog.head_text(head)
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    whole = lines[:-1] if len(lines) > 1 and not text.endswith("\n") else lines
    return 0.95 if whole and all(_row(line) for line in whole[:5]) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per line."""
    lines = (line for line in monitorlog.text_lines(path) if not line.startswith("#"))
    jobs = (_job(row, line) for line in lines if (row := _row(line)))
    return jobrecord.imported(path, jobs, format=ORIGIN, tool=ORIGIN, definitions=DEFINITIONS)


def _row(line: str) -> dict[str, str]:
    cells = line.split(":")
    if len(cells) < _FEWEST:
        return {}
    # the category, last but five, may hold colons of its own
    row = dict(zip(_NAMES, cells, strict=False))
    times = [row[name] for name in ("submission_time", "start_time", "end_time", "job_number", "exit_status")]
    return row if all(time.isdecimal() for time in times) else {}


def _job(row: dict[str, str], text: str) -> jobrecord.Job:
    submitted, started, ended = (_moment(row[name]) for name in ("submission_time", "start_time", "end_time"))
    status = int(row["exit_status"])
    code, signal = jobrecord.ending(status, status - _SIGNAL_BASE if status > _SIGNAL_BASE else 0)
    failed = row["failed"].partition(" ")[0]
    ran = started is not None
    task = row["task_number"]
    slots = quantity.number(row["slots"])
    return jobrecord.Job(
        id=row["job_number"] if task in ("0", "") else f"{row['job_number']}.{task}",
        text=text,
        status=Status.FAILED
        if failed not in ("0", "") and signal is None
        else jobrecord.outcome(code, signal),
        name=row["job_name"],
        user=row["owner"],
        host=row["hostname"],
        exit_code=code,
        signal=signal,
        submitted_at=submitted,
        started_at=started,
        ended_at=ended if ran else None,
        wall_seconds=quantity.number(row["ru_wallclock"]) if ran else None,
        limits=Limits(memory_bytes=_requested(row["category"], slots), cpus=float(slots) if slots else None),
        summary=_summary(row, submitted, started),
        details={
            "queue": row["qname"],
            "group": row["group"],
            "project": row["project"],
            "parallel_environment": row["granted_pe"],
            "category": row["category"],
            "failed": failed,
        },
        tags={"queue": row["qname"]},
        inexact={"sge_maxrss": "of the largest process only: a lower bound"},
    )


def _summary(row: dict[str, str], submitted: float | None, started: float | None) -> dict[str, Value]:
    largest = quantity.number(row["ru_maxrss"])
    virtual = quantity.number(row["maxvmem"])
    waited = started - submitted if started is not None and submitted is not None else None
    found: dict[str, Value | None] = {
        "sge_cputime": quantity.number(row["cpu"]),
        "sge_utime": quantity.number(row["ru_utime"]),
        "sge_stime": quantity.number(row["ru_stime"]),
        "sge_elapsed": quantity.number(row["ru_wallclock"]),
        "sge_maxrss": round(largest * _KIB) if largest else None,
        "sge_maxvmem": round(virtual) if virtual else None,
        "sge_queued": quantity.tidy(waited) if waited is not None and waited >= 0 else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _moment(text: str) -> float | None:
    """Read seconds or milliseconds since the epoch; 0 is never."""
    found = quantity.moment(text)
    return None if found is None or not found.seconds else found.seconds


def _requested(category: str, slots: quantity.Number | None) -> int | None:
    """Read a limit of memory, which is per slot; a small letter counts in thousands, a capital in 1,024s."""
    pairs = dict(pair.partition("=")[::2] for pair in category.replace(" ", ",").split(","))
    for name in _LIMITS:
        value = pairs.get(name, "")
        size = quantity.size_bytes(value, thousand=1000 if value[-1:].islower() else 1024)
        if size:
            return round(size * (slots or 1))
    return None
