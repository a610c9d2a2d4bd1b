"""What runs now, as a terminal shows it: the parts of the API's documents that fit into one; see `service/board.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from jobmeter.model.steps import Number, from_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a job is, and how long it still takes."""

    percent: float | None = None
    seconds_left: float | None = None
    step: int | None = None
    of: int | None = None
    usual_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Where a training stands."""

    last_step: int | None = None
    steps_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run may use."""

    memory_bytes: float | None = None
    cpus: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Why a run ended."""

    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """A run that goes on, or has just ended."""

    run_id: str
    status: str
    name: str | None = None
    project: str | None = None
    command: tuple[str, ...] = ()
    host: str | None = None
    user: str | None = None
    started_at: datetime | None = None
    wall_seconds: float | None = None
    limits: Limits = field(default_factory=Limits)
    steps: Steps | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveJob:
    """A job that runs now, with the recorders of it that are alive."""

    job_id: str
    runs: tuple[LiveRun, ...]
    progress: Progress | None = None
    stragglers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Living:
    """All that runs now."""

    jobs: tuple[LiveJob, ...]
    runs: int
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A measurement over the life of a run, in a few points."""

    key: str
    unit: str
    values: tuple[float | None, ...]
    """To draw: each stands for a stretch of the run."""
    last: float | str

    @property
    def now(self) -> Number | None:
        """Give the newest value; None where a server says what is none."""
        return from_json(self.last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """The lines of one run."""

    run_id: str
    lines: Mapping[str, Line] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Glances:
    """The lines of some runs."""

    runs: tuple[Glance, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something that is wrong, or was."""

    rule: str
    run_id: str
    state: str
    severity: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alerts:
    """Where alerts stand."""

    alerts: tuple[Alert, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """What a terminal shows at once."""

    living: Living
    lines: Mapping[str, Mapping[str, Line]]
    alerts: tuple[Alert, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """One run closely."""

    run: LiveRun
    lines: Mapping[str, Line]
    output: tuple[str, ...]
    """The end of its output; what is in it is somebody's text."""
    silence: str | None = None
    """Why there is no output, where there is none."""
