"""Ended runs as spans of OpenTelemetry: a trace is a job, a span one recorder's run, its events what happened in it.

Ids are made of the ids of jobs and runs, so that a run that is told twice is the same span, and the ranks of a job
on many hosts meet in one trace.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from jobmeter.delivery.samples import Slice, Story
from jobmeter.model import text
from jobmeter.model.run import Run, Status
from jobmeter.model.view import Event

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event as SpanEvent
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

Attributes = dict[str, str | int | float | bool]
NANOSECONDS = 1_000_000_000
MAX_LETTERS = 1000
_INT64 = 2**63
BAD = frozenset((Status.FAILED, Status.KILLED, Status.LOST))


def trace_id(job_id: str) -> int:
    """Name the trace of a job."""
    return int.from_bytes(hashlib.sha256(f"job:{job_id}".encode()).digest()[:16]) or 1


def span_id(run_id: str) -> int:
    """Name the span of a run."""
    return int.from_bytes(hashlib.sha256(f"run:{run_id}".encode()).digest()[:8]) or 1


def span(part: Slice, resource: "Resource", scope: "InstrumentationScope") -> "ReadableSpan | None":
    """Tell an ended run as a span; None of one that is not, or whose times are not known."""
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext, SpanKind, StatusCode, TraceFlags
    from opentelemetry.trace import Status as SpanStatus

    run = part.run
    if part.story is None or run.started_at is None:
        return None
    ended_at = run.ended_at or max(run.started_at, part.until.usage_ms / 1000)
    bad = run.status in BAD
    return ReadableSpan(
        name=text.clean(run.name or (run.command[0].rsplit("/", 1)[-1] if run.command else run.run_id)),
        context=SpanContext(
            trace_id(run.job_id),
            span_id(run.run_id),
            is_remote=False,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        ),
        resource=resource,
        instrumentation_scope=scope,
        kind=SpanKind.INTERNAL,
        attributes=_of_run(run, part.story),
        events=list(_events(part.story)),
        status=SpanStatus(StatusCode.ERROR, _ending(run)) if bad else SpanStatus(StatusCode.OK),
        start_time=_nanoseconds(run.started_at),
        end_time=_nanoseconds(ended_at),
    )


def _nanoseconds(moment: float) -> int:
    # by microseconds: a float of seconds since the epoch holds no more
    return round(moment * 1_000_000) * 1000


def _ending(run: Run) -> str:
    if run.signal is not None:
        return f"{run.status.value} by {run.signal}"
    return (
        f"{run.status.value} with exit code {run.exit_code}"
        if run.exit_code is not None
        else run.status.value
    )


def _of_run(run: Run, story: Story) -> Attributes:
    known: dict[str, object] = {
        "jobmeter.run_id": run.run_id,
        "jobmeter.job_id": run.job_id,
        "jobmeter.project": run.project,
        "jobmeter.status": run.status.value,
        "jobmeter.wall_seconds": run.wall_seconds,
        "jobmeter.steps_left_out": story.steps_left_out or None,
        "process.command_line": text.command_line(run.command),
        "process.exit.code": run.exit_code,
        "process.working_directory": run.cwd,
        "user.name": run.user,
        "host.name": run.host,
        **{f"jobmeter.{name}": headline.value for name, headline in run.headline.items()},
        **{f"jobmeter.tag.{name}": value for name, value in run.tags.items()},
    }
    return _attributes(known)


def _events(story: Story) -> "Iterator[SpanEvent]":
    from opentelemetry.sdk.trace import Event as SpanEvent

    for event in story.events:
        yield SpanEvent(event.type, _of_event(event), _nanoseconds(event.timestamp))
    for step in story.steps:
        if step.timestamp is not None and math.isfinite(step.timestamp):
            known = {"step": step.step, "rank": step.rank, "source": step.source, **step.metrics}
            yield SpanEvent("step", _attributes(known), _nanoseconds(step.timestamp))


def _of_event(event: Event) -> Attributes:
    flat: dict[str, object] = {"rank": event.rank, **event.details, **event.measurements}
    return _attributes(flat)


def _attributes(known: Mapping[str, object]) -> Attributes:
    return {
        text.clean(name)[:MAX_LETTERS]: _attribute(value)
        for name, value in known.items()
        if value is not None
    }


def _attribute(value: object) -> str | int | float | bool:
    if isinstance(value, bool | float):
        return value
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return value
    words = value if isinstance(value, str) else json.dumps(value, default=str)
    return text.clean(words)[:MAX_LETTERS]


def spans(
    batch: Sequence[Slice], resource: "Resource", scope: "InstrumentationScope"
) -> "list[ReadableSpan]":
    """Tell all runs of a batch that ended."""
    return [made for part in batch if (made := span(part, resource, scope)) is not None]
