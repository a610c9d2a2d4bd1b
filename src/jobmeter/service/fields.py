"""What one may ask of a run by name: the fields that filter, sort and fill the columns of `ls`.

A field the run does not have is absent from `of_run`, never 0 and never empty.
"""

from enum import Enum

from jobmeter.model.measurement import TOOLS
from jobmeter.model.run import Run


class Type(Enum):
    """What a field holds, and so which values and comparisons it takes."""

    TEXT = "text"
    MOMENT = "a time"
    BYTES = "a size"
    SECONDS = "a span of time"
    NUMBER = "a number"
    ANY = "anything"


FIELDS: dict[str, Type] = {
    "command": Type.TEXT,
    "cores": Type.NUMBER,
    "cpu_seconds": Type.SECONDS,
    "cwd": Type.TEXT,
    "disk": Type.BYTES,
    "ended": Type.MOMENT,
    "exit_code": Type.NUMBER,
    "host": Type.TEXT,
    "id": Type.TEXT,
    "io_read": Type.BYTES,
    "io_write": Type.BYTES,
    "job_id": Type.TEXT,
    "memory_limit": Type.BYTES,
    "memory_peak": Type.BYTES,
    "message": Type.TEXT,
    "name": Type.TEXT,
    "origin": Type.TEXT,
    "project": Type.TEXT,
    "samples": Type.NUMBER,
    "signal": Type.TEXT,
    "started": Type.MOMENT,
    "status": Type.TEXT,
    "user": Type.TEXT,
    "wall": Type.SECONDS,
}
"""Besides these: `tag.KEY`, and any key of a run's summary."""

PERCENT_OF = {"memory_peak": "memory_limit"}
"""Where a percentage means a share of another field."""

HEADLINES = {
    "cpu_seconds": "cpu_seconds",
    "memory_peak": "memory_peak_bytes",
    "io_read": "io_read_bytes",
    "io_write": "io_write_bytes",
}
"""Fields that are the value of a headline number."""


def type_of(field: str) -> Type | None:
    """Say what a field holds; None for a name no run can have."""
    if field in FIELDS:
        return FIELDS[field]
    tool, _, quantity = field.partition("_")
    if (field.startswith("tag.") and len(field) > len("tag.")) or (tool in TOOLS and quantity):
        return Type.ANY
    return None


def is_summary_key(field: str) -> bool:
    """Tell a key of a run's summary from the fields every run has."""
    return type_of(field) is Type.ANY and not field.startswith("tag.")


def nearest(field: str) -> str:
    """Suggest what a mistyped field may have meant."""
    from difflib import get_close_matches

    close = get_close_matches(field, FIELDS, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"use one of {', '.join(FIELDS)}, tag.KEY, or a summary key such as proc_peak_rss_total"


def of_run(run: Run) -> dict[str, object]:
    """Lay a run out as named fields; only what is known is present."""
    known: dict[str, object] = {f"tag.{key}": value for key, value in run.tags.items()}
    known.update(run.summary)
    known.update(
        id=run.run_id,
        job_id=run.job_id,
        status=run.status.value,
        command=" ".join(run.command),
        name=run.name,
        project=run.project,
        message=run.message,
        cwd=run.cwd,
        host=run.host,
        user=run.user,
        exit_code=run.exit_code,
        signal=run.signal,
        started=run.started_at,
        ended=run.ended_at,
        wall=run.wall_seconds,
        samples=run.samples,
        disk=run.disk_bytes,
        memory_limit=run.limits.memory_bytes,
        origin=run.provenance.origin,
    )
    for field, name in HEADLINES.items():
        headline = run.headline.get(name)
        if headline is not None:
            known[field] = headline.value
    cpu = run.headline.get("cpu_seconds")
    if cpu is not None and run.wall_seconds:
        known["cores"] = cpu.value / run.wall_seconds
    return {field: value for field, value in known.items() if value is not None}
