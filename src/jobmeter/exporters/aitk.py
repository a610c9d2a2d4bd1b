"""A run as the rows of ai-toolkit's monitoring tables: samples, events, steps and one report.

Values that were not measured are NULL, never 0. `_gb` is 2^30 bytes. A crash is a `training_error`, not a
`training_end`.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping

from jobmeter.config import aitk
from jobmeter.exporters import aitk_samples, aitk_steps
from jobmeter.model.aitk import EventRow, Report, Sample, StepRow, Tables
from jobmeter.model.report import LogError, Recommendation
from jobmeter.model.report import Report as Analysed
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.model.view import Event, RunView, Window

OOM_EVENTS = frozenset(("oom_kill", "oom"))
_ILL = ("good", "warning", "critical")
"""The badges, the better ones first."""
_CRASHES = frozenset((Status.FAILED, Status.KILLED, Status.LOST))


def tables(view: RunView, windows: Iterable[Window], analysed: Analysed | None = None) -> Tables:
    """Lay a run out as rows; the windows are walked twice. A run that was not analysed has no advice."""
    samples = list(aitk_samples.rows(view.run, windows))
    steps = list(aitk_steps.rows(view))
    moments = [sample.timestamp for sample in samples] + [step.timestamp for step in steps]
    moments += [event.timestamp for event in view.events]
    last = max(moments, default=None)
    events = sorted((*_bounds(view.run, last), *view.events), key=lambda event: event.timestamp)
    known = [moment for moment in (view.run.started_at, view.run.ended_at, *moments) if moment is not None]
    return Tables(
        job_id=view.run.job_id,
        begin=min(known, default=0.0),
        end=max(known, default=0.0),
        samples=samples,
        events=[_event(event, view.run, [sample.timestamp for sample in samples]) for event in events],
        steps=steps,
        report=_report(view, samples, steps, analysed),
    )


def _bounds(run: Run, last: float | None) -> Iterator[Event]:
    """Tell the start and the end, which for a run whose recorder vanished is the last that was seen."""
    if run.started_at is not None:
        yield Event(timestamp=run.started_at, type="training_start")
    ended_at = last if run.ended_at is None else run.ended_at
    if run.status in LIVE or ended_at is None:
        return
    outcome: dict[str, object] = {"status": run.status.value}
    outcome |= {} if run.exit_code is None else {"exit_code": run.exit_code}
    outcome |= {} if run.signal is None else {"signal": run.signal}
    crashed = run.status in _CRASHES
    yield Event(timestamp=ended_at, type="training_error" if crashed else "training_end", details=outcome)


def _event(event: Event, run: Run, sampled_at: list[float]) -> EventRow:
    """Write an event with the config that held then, and name the sample before it; the first has none."""
    config = event.config or run.context.get("config")
    body: Mapping[str, object] = event.details | ({"config": config} if config else {})
    place = bisect_right(sampled_at, event.timestamp) - 1
    return EventRow(
        timestamp=event.timestamp,
        event_type=event.type,
        details=json.dumps(body, sort_keys=True, default=str),
        sample=max(place, 0) if sampled_at else None,
    )


def _report(view: RunView, samples: list[Sample], steps: list[StepRow], analysed: Analysed | None) -> Report:
    run = view.run
    told = summary(view, samples, steps, analysed)
    peak = told["peak_memory_gb"]
    errors = [] if analysed is None else log_errors(analysed.log_errors)
    return Report(
        created_at=run.ended_at or run.started_at or 0.0,
        summary=json.dumps({name: value for name, value in told.items() if value is not None}),
        recommendations=json.dumps([] if analysed is None else recommendations(analysed.recommendations)),
        log_errors=json.dumps(errors) if errors else None,
        peak_memory_gb=peak if isinstance(peak, float) else None,
        health_score=str(told["health_score"]),
    )


def summary(
    view: RunView, samples: list[Sample], steps: list[StepRow], analysed: Analysed | None
) -> dict[str, object]:
    """Sum a run up in ai-toolkit's words; None is what was not measured."""
    run = view.run
    peak = max((one.used_memory_gb for one in samples if one.used_memory_gb is not None), default=None)
    total = samples[0].total_memory_gb if samples else None
    health = _health(run, peak, total, any(event.type in OOM_EVENTS for event in view.events))
    return {
        "health_score": health if analysed is None else max(health, analysed.health.value, key=_ILL.index),
        "peak_memory_gb": peak,
        "total_memory_gb": total,
        "training_completed": run.status is Status.COMPLETED,
        "steps_completed": steps[-1].step if steps else None,
        "duration_minutes": None if run.wall_seconds is None else round(run.wall_seconds / 60, 3),
    }


def recommendations(advised: Iterable[Recommendation]) -> list[dict[str, object]]:
    """Write advice as its panel shows it."""
    return [
        {
            "severity": advice.severity.value,
            "title": advice.title,
            "action": advice.action,
            "impact": advice.impact,
            "config_path": advice.config_path,
            "current_value": advice.current_value,
            "recommended_value": advice.recommended_value,
        }
        for advice in advised
    ]


def log_errors(errors: Iterable[LogError]) -> list[dict[str, object]]:
    """Write what the log complained of; the memory is what the job held then."""
    return [
        {
            "timestamp": error.timestamp,
            "level": error.level,
            "message": error.message,
            "memory_at_time_gb": None
            if error.memory_at_time_bytes is None
            else round(error.memory_at_time_bytes / aitk_samples.GIB, 6),
        }
        for error in errors
    ]


def _health(run: Run, peak: float | None, total: float | None, ran_out: bool) -> str:
    wishes = run.context.get("monitoring")
    thresholds = dict(aitk.DEFAULTS) | (wishes if isinstance(wishes, dict) else {})
    share = peak / total if peak is not None and total else 0.0
    if ran_out or share >= thresholds["memory_critical_threshold"]:
        return "critical"
    if run.status not in LIVE | {Status.COMPLETED} or share >= thresholds["memory_warning_threshold"]:
        return "warning"
    return "good"
