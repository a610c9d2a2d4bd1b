"""What `sdiag` says of the scheduler itself: jobs since its last reset, and how long its cycles take.

The counts are of the whole cluster since the reset named in the second line, not of any job.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from jobmeter.formats import monitorlog, quantity
from jobmeter.formats.slurm_json_values import number
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Scope, Stat, Unit
from jobmeter.model.view import Window

ORIGIN = "sdiag"
_FIELDS = {
    "jobs_submitted": ("Jobs submitted", Unit.COUNT, 1.0, "jobs submitted since the reset"),
    "jobs_started": ("Jobs started", Unit.COUNT, 1.0, "jobs started since the reset"),
    "jobs_completed": ("Jobs completed", Unit.COUNT, 1.0, "jobs that ended since the reset"),
    "jobs_canceled": ("Jobs canceled", Unit.COUNT, 1.0, "jobs cancelled since the reset"),
    "jobs_failed": ("Jobs failed", Unit.COUNT, 1.0, "jobs the scheduler could not start since the reset"),
    "jobs_pending": ("Jobs pending", Unit.COUNT, 1.0, "jobs waiting"),
    "jobs_running": ("Jobs running", Unit.COUNT, 1.0, "jobs running"),
    "server_thread_count": ("Server thread count", Unit.COUNT, 1.0, "threads that answer requests"),
    "agent_queue_size": ("Agent queue size", Unit.COUNT, 1.0, "messages to nodes that wait"),
    "dbd_agent_queue_size": ("DBD Agent queue size", Unit.COUNT, 1.0, "messages to the database that wait"),
    "schedule_cycle_last": ("Main schedule/Last cycle", Unit.SECONDS, 1e-6, "last main scheduling cycle"),
    "schedule_cycle_max": ("Main schedule/Max cycle", Unit.SECONDS, 1e-6, "longest main scheduling cycle"),
    "schedule_cycle_mean": ("Main schedule/Mean cycle", Unit.SECONDS, 1e-6, "mean main scheduling cycle"),
    "schedule_queue_length": ("Main schedule/Last queue length", Unit.COUNT, 1.0, "jobs the last cycle looked at"),
    "bf_backfilled_jobs": (
        "Backfilling/Total backfilled jobs (since last slurm start)", Unit.COUNT, 1.0, "jobs started out of turn",
    ),
    "bf_cycle_last": ("Backfilling/Last cycle", Unit.SECONDS, 1e-6, "last backfill cycle"),
    "bf_cycle_max": ("Backfilling/Max cycle", Unit.SECONDS, 1e-6, "longest backfill cycle"),
    "bf_cycle_mean": ("Backfilling/Mean cycle", Unit.SECONDS, 1e-6, "mean backfill cycle"),
}  # fmt: skip
"""By the word of `sdiag --json`: the line of the text, our unit, its worth, the meaning."""

DEFINITIONS = monitorlog.table(
    monitorlog.gauge(f"slurm_{key}", unit, about, Scope.HOST, (Stat.LAST,))
    for key, (_, unit, _, about) in _FIELDS.items()
)
_LINE = re.compile(r"\s*([^:]+?):\s+(-?\d+)\s*")


def sniff(head: bytes, _name: str) -> float:
    """Claim the title line."""
    return 1.0 if b"sdiag output at " in head[:400] else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read the scheduler's statistics as one window."""
    section = ""
    found: dict[str, int] = {}
    at: quantity.Moment | None = None
    for line in monitorlog.text_lines(path):
        if line.startswith("sdiag output at "):
            at = quantity.moment(re.sub(r"\s*\(\d+\)\s*$", "", line.removeprefix("sdiag output at ")))
        elif line.startswith("Main schedule"):
            section = "Main schedule/"
        elif line.startswith("Backfilling"):
            section = "Backfilling/"
        elif line and not line[0].isspace():
            section = ""
        pair = _LINE.fullmatch(line)
        if pair:
            found.setdefault(section + pair[1], int(pair[2]))
    told = {key: found[field] for key, (field, *_) in _FIELDS.items() if field in found}
    return [_imported(path, told, at, ORIGIN)]


def from_json(path: Path, statistics: dict[str, object], origin: str) -> Imported:
    """Read the statistics of `sdiag --json`."""
    told = {key: value for key in _FIELDS if (value := number(statistics.get(key))) is not None}
    seconds = number(statistics.get("req_time"))
    at = None if seconds is None else quantity.Moment(float(seconds), zoned=True)
    return _imported(path, told, at, origin)


def _imported(
    path: Path, told: Mapping[str, quantity.Number], at: quantity.Moment | None, origin: str
) -> Imported:
    values: monitorlog.Values = {
        (f"slurm_{key}", ""): quantity.tidy(value * _FIELDS[key][2]) for key, value in told.items()
    }
    window = Window(timestamp=at.seconds if at else 0.0, num_samples=1, clock={}, values=values)
    facts = monitorlog.Facts(inexact={"started_at": monitorlog.NO_ZONE} if at and not at.zoned else {})
    return monitorlog.imported(
        path, format=origin, definitions=DEFINITIONS, windows=[window] if values else [], facts=facts
    )
