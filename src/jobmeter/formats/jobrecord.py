"""One job as a scheduler or a workflow accounts for it, made into a run.

The id of the run comes from the job's own rows, so that the same job in a longer dump is found again. A job
that had not ended when the file was written keeps the state the file says, and says of when that is.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from jobmeter.config import signals
from jobmeter.errors import UsageError
from jobmeter.formats import monitorlog
from jobmeter.model.imported import Imported, identify
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Unit
from jobmeter.model.run import LIVE, Limits, Provenance, Run, Status, Value
from jobmeter.model.view import Event

AS_OF = "as of when the file was written"
_SIGNAL_BASE = 128
_LARGEST_SIGNAL = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a file says of one job; only what it says is set."""

    id: str
    text: str
    """The rows that make the job what it is."""
    status: Status
    name: str | None = None
    command: tuple[str, ...] = ()
    cwd: str | None = None
    user: str | None = None
    host: str | None = None
    project: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    submitted_at: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    wall_seconds: float | None = None
    limits: Limits = monitorlog.NO_LIMITS
    summary: dict[str, Value] = field(default_factory=dict)
    details: dict[str, object] = field(default_factory=dict)
    """What has no field of its own, by the words of the source."""
    tags: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    inexact: dict[str, str] = field(default_factory=dict)
    events: tuple[Event, ...] = ()


def total(key: str, unit: Unit, about: str) -> Measurement:
    """Define a figure that the source sums up itself."""
    return Measurement(key, Kind.COUNTER, unit, Scope.JOB, (Reduce.DELTA,), (), about)


def largest(key: str, unit: Unit, about: str) -> Measurement:
    """Define a figure of which the source keeps the largest or the mean itself."""
    return Measurement(key, Kind.GAUGE, unit, Scope.JOB, (Reduce.MAX,), (), about)


def ending(code: int | None, signal_number: int = 0) -> tuple[int | None, str | None]:
    """Say exit code and signal as jobmeter does: a signal n that ended a job is 128+n and its name."""
    if 0 < signal_number <= _LARGEST_SIGNAL:
        return _SIGNAL_BASE + signal_number, signals.name(signal_number)
    return code, None


def outcome(exit_code: int | None, signal: str | None) -> Status:
    """Say how a job ended that tells its exit code and nothing else."""
    if signal is not None:
        return Status.KILLED
    if exit_code is None:
        return Status.LOST
    return Status.COMPLETED if exit_code == 0 else Status.FAILED


def imported(
    path: Path,
    jobs: Iterable[Job],
    *,
    format: str,  # noqa: A002  # the word of Imported
    tool: str,
    definitions: Mapping[str, Measurement],
) -> list[Imported]:
    """Make a run of each job; the same report twice is one, equal rows without an id are many."""
    found: list[Imported] = []
    seen: dict[str, int] = {}
    for job in jobs:
        times = seen.get(job.text, 0)
        seen[job.text] = times + 1
        if times and job.id:
            continue
        digest = hashlib.sha256(f"{format}\0{job.text}\0{times or ''}".encode()).hexdigest()
        run = _run(_measured(job), digest, format, tool, definitions)
        found.append(Imported(format=format, digest=digest, run=run, sources=(path,), events=job.events))
    if not found:
        raise UsageError(f"{path.name} holds no jobs", hint="give a file with at least one whole job")
    return found


def _measured(job: Job) -> Job:
    """Take out the zeros of a job that waits: nothing ran, so nothing was measured."""
    if job.status is not Status.QUEUED:
        return job
    summary = {key: value for key, value in job.summary.items() if value}
    return replace(job, wall_seconds=job.wall_seconds or None, summary=summary)


def _run(job: Job, digest: str, origin: str, tool: str, definitions: Mapping[str, Measurement]) -> Run:
    first_known = next(
        (at for at in (job.started_at, job.submitted_at, job.ended_at) if at is not None), None
    )
    run_id = identify(first_known, digest)
    inexact = ({"status": AS_OF} if job.status in LIVE else {}) | job.inexact
    tags = ({"job": job.id} if job.id else {}) | job.tags
    details = {"job_id": job.id, "submitted_at": job.submitted_at, **job.details}
    context = {tool: {key: value for key, value in details.items() if value not in (None, "", [], {})}}
    return Run(
        run_id=run_id,
        job_id=run_id,
        status=job.status,
        command=job.command,
        cwd=job.cwd,
        name=job.name,
        project=job.project,
        tags=tags,
        host=job.host,
        user=job.user,
        exit_code=job.exit_code,
        signal=job.signal,
        started_at=job.started_at,
        ended_at=job.ended_at,
        wall_seconds=job.wall_seconds,
        summary=job.summary,
        limits=job.limits,
        provenance=Provenance(
            selected=tuple(sorted(job.summary)), missing=job.missing, inexact=inexact, origin=origin
        ),
        definitions={key: definitions[key] for key in job.summary if key in definitions},
        context=monitorlog.with_limits(context, job.limits, tool, job.user),
    )
