"""From what a training tool's files say to an imported run: one place for what all of them leave open.

What misleads: many of these files have no clock and none says how the process ended; such a run has no times
and the status `lost`, and its provenance says why.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import loose_json
from jobmeter.model.imported import Imported, identify
from jobmeter.model.measurement import Measurement
from jobmeter.model.run import Output, Provenance, Run, Status, Value
from jobmeter.model.view import Event, Step, Window

_LONGEST_RESULT = 200


@dataclass(frozen=True, slots=True)
class Again:
    """Steps of a file that are read again at each walk, instead of held in memory."""

    make: Callable[[], Iterator[Step]]

    def __iter__(self) -> Iterator[Step]:
        return self.make()


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the files of one training say; None and empty are what they leave open."""

    format: str
    digest: str
    sources: tuple[Path, ...]
    steps: Iterable[Step] = ()
    seen: "Survey | None" = None
    """What a walk over the steps told, where one was made already."""
    events: Sequence[Event] = ()
    windows: Sequence[Window] = ()
    definitions: dict[str, Measurement] = field(default_factory=dict)
    summary: dict[str, Value] = field(default_factory=dict)
    outputs: dict[str, Path] = field(default_factory=dict)
    name: str | None = None
    project: str | None = None
    group: str | None = None
    message: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    cwd: str | None = None
    host: str | None = None
    user: str | None = None
    status: Status | None = None
    exit_code: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    wall_seconds: float | None = None
    results: Mapping[str, object] = field(default_factory=dict)
    context: dict[str, object] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    inexact: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Survey:
    """What one walk over the steps tells."""

    count: int = 0
    first_timestamp: float | None = None
    last_timestamp: float | None = None

    def note(self, timestamp: float | None) -> None:
        """Take one step in."""
        self.count += 1
        if timestamp is None:
            return
        if self.first_timestamp is None or timestamp < self.first_timestamp:
            self.first_timestamp = timestamp
        if self.last_timestamp is None or timestamp > self.last_timestamp:
            self.last_timestamp = timestamp


def survey(steps: Iterable[Step]) -> Survey:
    """Count the steps and find the first and the last moment."""
    found = Survey()
    for step in steps:
        found.note(step.timestamp)
    return found


def imported(told: Told) -> Imported:
    """Make the run; where the files name no start, the first step's moment stands for it, and says so."""
    seen = survey(told.steps) if told.seen is None else told.seen
    started_at = seen.first_timestamp if told.started_at is None else told.started_at
    ended_at = told.ended_at
    if ended_at is None and told.status is not None:
        ended_at = seen.last_timestamp
    return Imported(
        format=told.format,
        digest=told.digest,
        run=_run(told, seen, started_at, ended_at),
        sources=told.sources,
        windows=told.windows,
        steps=told.steps,
        events=told.events,
        outputs=told.outputs,
    )


def _run(told: Told, seen: Survey, started_at: float | None, ended_at: float | None) -> Run:
    run_id = identify(started_at, told.digest)
    return Run(
        run_id=run_id,
        job_id=run_id,
        status=told.status or Status.LOST,
        command=told.command,
        cwd=told.cwd,
        name=told.name,
        project=told.project,
        group=told.group,
        message=told.message,
        tags=told.tags,
        host=told.host,
        user=told.user,
        exit_code=told.exit_code,
        started_at=started_at,
        ended_at=ended_at,
        wall_seconds=_wall_seconds(told, started_at, ended_at),
        summary=told.summary,
        results=_values(told.results),
        provenance=_provenance(told, seen),
        outputs=tuple(Output(stream=stream, mode="captured", path=stream) for stream in told.outputs),
        definitions=told.definitions,
        context={key: value for key, value in told.context.items() if value not in (None, {}, [], "")},
    )


def _wall_seconds(told: Told, started_at: float | None, ended_at: float | None) -> float | None:
    if told.wall_seconds is not None or told.started_at is None:
        return told.wall_seconds
    if started_at is None or ended_at is None or told.ended_at is None or ended_at < started_at:
        return None
    return round(ended_at - started_at, 6)


def _provenance(told: Told, seen: Survey) -> Provenance:
    missing, inexact = dict(told.missing), dict(told.inexact)
    if seen.count and seen.first_timestamp is None:
        missing.setdefault("clock", "the file has no times: steps have an order only")
    if told.status is None:
        inexact.setdefault("status", "the file does not say how the training ended")
    if told.started_at is None and seen.first_timestamp is not None:
        inexact.setdefault("started_at", "time of the first step")
    if told.ended_at is None and told.status is not None and seen.last_timestamp is not None:
        inexact.setdefault("ended_at", "time of the last step")
    return Provenance(
        selected=tuple(sorted(told.definitions)),
        missing=missing,
        dropped={key: count for key, count in told.dropped.items() if count},
        inexact=inexact,
        origin=told.format,
    )


def _values(results: Mapping[str, object]) -> dict[str, Value]:
    """Keep what a list can show: numbers that JSON can hold, and short texts."""
    found: dict[str, Value] = {}
    for key, value in results.items():
        kept = loose_json.text(value) if isinstance(value, str) else loose_json.number(value)
        if kept is not None and len(str(kept)) <= _LONGEST_RESULT:
            found[key] = kept
    return found


def plain(value: object) -> object:
    """Keep foreign JSON or YAML as it is, made fit for strict JSON: what is not finite becomes its word."""
    if isinstance(value, dict):
        return {str(loose_json.text(str(key)) or ""): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return loose_json.text(value) or ""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if loose_json.number(value) is not None else str(value)
    return str(value)


def nothing(why: str) -> UsageError:
    """Say that a file was recognised and holds nothing to import."""
    return UsageError(why, hint="give a file of a training that logged something")
