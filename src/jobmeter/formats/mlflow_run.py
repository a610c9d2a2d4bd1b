"""A run as MLflow stores it, whichever back end it lies in, made into an imported one."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from jobmeter.errors import UsageError
from jobmeter.formats import content, figures, gauge_series, loose_json, training
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Scope
from jobmeter.model.run import Status
from jobmeter.model.view import Step

_STATUS = {"FINISHED": Status.COMPLETED, "FAILED": Status.FAILED, "KILLED": Status.KILLED}
_SYSTEM = "system/"
_NOT_MINE = "mlflow."
_TAGS_WITH_PLACE = frozenset(("mlflow.runName", "mlflow.user", "mlflow.note.content", "mlflow.source.name"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One logged value."""

    name: str
    step: int
    timestamp: float
    value: int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What MLflow says about a run; empty texts are what it leaves open."""

    run_id: str
    name: str
    experiment: str
    status: str
    user: str
    started_at: float | None = None
    ended_at: float | None = None
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)


class Reading(Protocol):
    """Whoever walks the points; counts what was none."""

    bad_lines: int


def imported(
    format_name: str, run: Stored, points: Iterable[Point], sources: tuple[Path, ...], reading: Reading
) -> Imported:
    """Join the points into steps and figures of the machine, and tell the run."""
    joined: dict[tuple[int, float], dict[str, int | float]] = {}
    gauges = gauge_series.Gauges()
    for point in points:
        if point.name.startswith(_SYSTEM):
            gauges.add(point.timestamp, _gauge(point.name), point.value)
        else:
            joined.setdefault((point.step, point.timestamp), {})[point.name] = point.value
    if not run.run_id and not joined:
        raise UsageError(f"{sources[0].name}: no metric in it", hint="give a folder of mlruns")
    status = _STATUS.get(run.status)
    told = training.Told(
        format=format_name,
        digest=_digest(run, sources),
        sources=sources,
        steps=_steps(joined, format_name),
        windows=gauges.windows,
        definitions=gauges.definitions,
        summary=gauges.summary,
        name=run.tags.get("mlflow.runName") or run.name or None,
        project=run.experiment or None,
        message=run.tags.get("mlflow.note.content"),
        tags={key: value for key, value in run.tags.items() if not key.startswith(_NOT_MINE)},
        command=tuple(word for word in (run.tags.get("mlflow.source.name", ""),) if word),
        user=run.tags.get("mlflow.user") or run.user or None,
        status=status,
        started_at=run.started_at,
        ended_at=run.ended_at,
        context=_context(run),
        dropped={"lines": reading.bad_lines},
        inexact={}
        if status
        else {"status": f"MLflow says {run.status or 'nothing'}: nothing tells how it ended"},
    )
    return training.imported(told)


def _steps(joined: dict[tuple[int, float], dict[str, int | float]], source: str) -> list[Step]:
    """Put the steps in order of time: a run that was resumed went back to an earlier step."""
    places = sorted(joined, key=lambda place: (place[1], place[0]))
    return [
        Step(timestamp=timestamp, step=step, rank=0, source=source, metrics=joined[step, timestamp])
        for step, timestamp in places
    ]


def _digest(run: Stored, sources: tuple[Path, ...]) -> str:
    """Hash a run of its own files by their content, one of many in a database by its id."""
    if len(sources) > 1 or not run.run_id or sources[0].name.endswith(".yaml"):
        return content.digest(sources)
    return hashlib.sha256(f"{run.run_id} {run.status} {run.ended_at}".encode()).hexdigest()


def _context(run: Stored) -> dict[str, object]:
    config = {name: _value(text) for name, text in run.params.items()}
    rest = {
        key: value
        for key, value in run.tags.items()
        if key.startswith(_NOT_MINE) and key not in _TAGS_WITH_PLACE
    }
    commit = rest.pop("mlflow.source.git.commit", None)
    return {
        "config": training.plain(config),
        "git": {"commit": commit} if commit else {},
        "user": {"name": run.tags.get("mlflow.user") or run.user}
        if run.user or "mlflow.user" in run.tags
        else {},
        "mlflow": training.plain({"run_id": run.run_id} | rest) if run.run_id else {},
    }


def _value(text: str) -> object:
    """Read a parameter, which MLflow keeps as text; what is a number becomes one."""
    number = loose_json.number(figures.figure(text))
    return text if number is None else number


def _gauge(name: str) -> gauge_series.Gauge:
    """Part `system/gpu_0_utilization_percentage` into words and the device."""
    words = name.removeprefix(_SYSTEM).split("_")
    numbered = len(words) > 2 and words[1].isdecimal()
    instance = words.pop(1) if numbered else ""
    return gauge_series.gauge("mlflow", name, words, instance, Scope.DEVICE if instance else Scope.HOST)
