"""Nextflow's trace: one row per task, with units for people (`13.1 MB`, `1m 23s`) or raw (bytes, milliseconds).

What misleads: MB are 1,048,576 bytes; `duration` counts from submission, the task itself took `realtime`; `0` for
the memory of a task that was over before it was looked at is no size; a CACHED task did not run this time.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from jobmeter.formats import jobrecord, monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Unit
from jobmeter.model.run import Limits, Status, Value

ORIGIN = "nextflow"
DEFINITIONS = monitorlog.table(
    (
        jobrecord.total("nextflow_cputime", Unit.SECONDS, "realtime times %cpu"),
        jobrecord.total("nextflow_realtime", Unit.SECONDS, "from the start of the task to its end"),
        jobrecord.total("nextflow_duration", Unit.SECONDS, "from submission to the end"),
        jobrecord.largest(
            "nextflow_pcpu", Unit.PERCENT, "CPU use over the task's life, 100 is one core (%cpu)"
        ),
        jobrecord.largest("nextflow_pmem", Unit.PERCENT, "share of the host's memory (%mem)"),
        jobrecord.largest("nextflow_peak_rss", Unit.BYTES, "largest resident size, from the kernel's VmHWM"),
        jobrecord.largest("nextflow_peak_vmem", Unit.BYTES, "largest virtual size"),
        jobrecord.total("nextflow_rchar", Unit.BYTES, "bytes read by system calls, from cache or not"),
        jobrecord.total("nextflow_wchar", Unit.BYTES, "bytes written by system calls"),
        jobrecord.total("nextflow_read_bytes", Unit.BYTES, "bytes read from storage"),
        jobrecord.total("nextflow_write_bytes", Unit.BYTES, "bytes written to storage"),
    )
)
_STATUSES = {
    "ABORTED": Status.CANCELLED,
    "CACHED": Status.COMPLETED,
    "COMPLETED": Status.COMPLETED,
    "FAILED": Status.FAILED,
    "NEW": Status.QUEUED,
    "RUNNING": Status.RUNNING,
    "SUBMITTED": Status.QUEUED,
}
_SIZES = {
    "nextflow_peak_rss": "peak_rss",
    "nextflow_peak_vmem": "peak_vmem",
    "nextflow_rchar": "rchar",
    "nextflow_wchar": "wchar",
    "nextflow_read_bytes": "read_bytes",
    "nextflow_write_bytes": "write_bytes",
}
_NOT_ZERO = ("nextflow_peak_rss", "nextflow_peak_vmem")
_NO_EXIT = 2**31 - 1
_DETAILS = (
    "hash",
    "process",
    "tag",
    "container",
    "module",
    "attempt",
    "queue",
    "native_id",
    "error_action",
    "env",
)

Row = dict[str, str]


def sniff(head: bytes, _name: str) -> float:
    """Claim a header with the names of a trace."""
    header = monitorlog.head_text(head).partition("\n")[0]
    names = set(header.replace('"', "").split(_delimiter(header)))
    if {"task_id", "hash"} <= names and names & {"native_id", "status", "realtime", "peak_rss"}:
        return 0.95
    is_trace = {"hash", "status", "realtime", "peak_rss"} <= names or {
        "task_id",
        "name",
        "status",
        "exit",
    } <= names
    return 0.9 if is_trace else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per task."""
    jobs = (_job(row, text) for row, text in _rows(path))
    return jobrecord.imported(path, jobs, format=ORIGIN, tool=ORIGIN, definitions=DEFINITIONS)


def _delimiter(header: str) -> str:
    return "\t" if "\t" in header else ","


def _rows(path: Path) -> Iterator[tuple[Row, str]]:
    lines = monitorlog.text_lines(path)
    header = next(lines, "")
    names = [name.strip().strip('"') for name in header.split(_delimiter(header))]
    for line in lines:
        cells = monitorlog.csv_cells(line, _delimiter(header))
        if len(cells) != len(names):
            continue  # torn off at the end of a cut file
        row = {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
        yield {name: cell for name, cell in row.items() if not quantity.is_absent(cell)}, line


def _job(row: Row, text: str) -> jobrecord.Job:
    status = _STATUSES.get(row.get("status", ""), Status.LOST)
    code = quantity.number(row.get("exit", ""))
    summary = _summary(row)
    inexact: dict[str, str] = {}
    zero = [key for key in _NOT_ZERO if key not in summary and _SIZES[key] in row]
    missing = dict.fromkeys(zero, "0: the task was over before it was looked at")
    submitted, started, ended = _times(row, inexact)
    if "nextflow_cputime" in summary:
        inexact["nextflow_cputime"] = "computed from realtime and %cpu as printed"
    if row.get("status") == "CACHED":
        inexact["status"] = "CACHED: taken from an earlier run, figures are that run's"
    cpus = quantity.number(row.get("cpus", ""))
    known = code is not None and code != _NO_EXIT
    return jobrecord.Job(
        id=row.get("task_id", row.get("hash", "")),
        text=text,
        status=status,
        name=row.get("name"),
        command=(row["script"],) if row.get("script") else (),
        cwd=row.get("workdir"),
        host=row.get("hostname"),
        exit_code=int(code) if known and code is not None and status is not Status.RUNNING else None,
        submitted_at=submitted,
        started_at=started,
        ended_at=ended,
        wall_seconds=_seconds(row.get("realtime", "")),
        limits=Limits(
            memory_bytes=quantity.size_bytes(row.get("memory", "")),
            cpus=None if cpus is None else float(cpus),
        ),
        summary=summary,
        details={name: row[name] for name in _DETAILS if name in row}
        | {"state": row.get("status"), "time_limit_seconds": _seconds(row.get("time", "")) or None},
        tags={"process": row.get("process", row.get("name", "").partition(" (")[0])},
        missing=missing,
        inexact=inexact,
    )


def _summary(row: Row) -> dict[str, Value]:
    realtime, percent = _seconds(row.get("realtime", "")), quantity.percent(row.get("%cpu", ""))
    burned = realtime * percent / 100 if realtime and percent is not None else None
    found: dict[str, Value | None] = {
        "nextflow_cputime": None if burned is None else quantity.tidy(burned),
        "nextflow_realtime": realtime,
        "nextflow_duration": _seconds(row.get("duration", "")),
        "nextflow_pcpu": percent,
        "nextflow_pmem": quantity.percent(row.get("%mem", "")),
    }
    for key, column in _SIZES.items():
        size = quantity.size_bytes(row.get(column, ""))
        found[key] = size if size or key not in _NOT_ZERO else None
    return {key: value for key, value in found.items() if value is not None}


def _times(row: Row, inexact: dict[str, str]) -> tuple[float | None, float | None, float | None]:
    """Place the task in time; without `start` and `complete` they follow from the durations."""
    submitted, started, ended = (
        quantity.moment(row.get(name, "")) for name in ("submit", "start", "complete")
    )
    at = None if submitted is None else submitted.seconds
    begin = None if started is None else started.seconds
    end = None if ended is None else ended.seconds
    duration, realtime = _seconds(row.get("duration", "")), _seconds(row.get("realtime", ""))
    notes = [monitorlog.NO_ZONE] if submitted is not None and not submitted.zoned else []
    if end is None and at is not None and duration is not None:
        end = round(at + duration, 3)
    if begin is None and end is not None and realtime is not None:
        begin = round(end - realtime, 3)
        notes.append("end less realtime")
    if notes and begin is not None:
        inexact["started_at"] = "; ".join(notes)
    return at, begin, end


def _seconds(text: str) -> quantity.Number | None:
    """Read a duration: with units, or raw milliseconds."""
    raw = quantity.number(text)
    return quantity.span_seconds(text) if raw is None else quantity.tidy(raw / 1000)
