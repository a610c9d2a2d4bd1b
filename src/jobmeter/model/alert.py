"""Alerts: the rules people write, where each stands for a run, what was seen of it, and what is told of that.

A rule watches one condition. What holds for one run and one instance (a GPU, a rank, a title) is one `Standing`;
rule, run and instance together name it, so that the same trouble is one alert however often it is seen.
"""

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import assert_never

from jobmeter.model.moments import iso_time
from jobmeter.model.report import Cause, Severity


class State(Enum):
    """Where an alert stands. `pending` holds, but not yet for long enough."""

    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class Op(Enum):
    """How a value is compared."""

    ABOVE = ">"
    AT_LEAST = ">="
    BELOW = "<"
    AT_MOST = "<="

    def holds(self, value: float, limit: float) -> bool:
        """Compare; what is no number is beyond nothing."""
        match self:
            case Op.ABOVE:
                return value > limit
            case Op.AT_LEAST:
                return value >= limit
            case Op.BELOW:
                return value < limit
            case Op.AT_MOST:
                return value <= limit
            case _:
                assert_never(self)

    @property
    def word(self) -> str:
        """Say it as people do."""
        return _WORDS[self]


_WORDS = {Op.ABOVE: "above", Op.AT_LEAST: "at least", Op.BELOW: "below", Op.AT_MOST: "at most"}


class Level(Enum):
    """How loud a job's own `run.alert()` is; the order is from quiet to loud."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"

    @property
    def order(self) -> int:
        """Give 0 for the quietest."""
        return list(Level).index(self)


class Spent(Enum):
    """What a budget counts."""

    GPU_HOURS = "gpu_hours"
    ENERGY_KWH = "energy_kwh"
    COST = "cost"


class Per(Enum):
    """Whose budget it is."""

    RUN = "run"
    PROJECT = "project"
    USER = "user"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A measurement or a metric is beyond a value."""

    key: str
    op: Op
    value: float
    clear: float
    """What it must come back to; between the two nothing changes."""
    of_limit: bool = False
    """The values are percent of the limit that the job has."""


@dataclass(frozen=True, slots=True)
class Absence:
    """A run that goes on is not measured any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Analysis found something."""

    detectors: frozenset[str] = frozenset()
    """Empty for any."""
    least: Severity = Severity.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run ended for one of some causes."""

    causes: frozenset[Cause]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """More was spent than was meant to be."""

    spent: Spent
    limit: float
    per: Per = Per.RUN
    window_seconds: float | None = None
    """Runs that started so long ago or later are added up; None for all. Of no meaning for one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The job said so itself: `run.alert()`."""

    least: Level = Level.WARN


Condition = Threshold | Absence | Found | Ended | Budget | Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What to watch for, in which runs, and whom to tell."""

    name: str
    condition: Condition
    where: str = ""
    """A filter as `ls --filter` takes it; empty for all runs."""
    severity: Severity = Severity.WARNING
    for_seconds: float = 0.0
    """How long it must hold before it fires."""
    clear_for_seconds: float = 0.0
    """How long it must be well again before it is resolved."""
    repeat_seconds: float | None = None
    """Tell again after so long while it fires; None for never."""
    lasts_seconds: float = 3600.0
    """How long something that only happens (a verdict, a word of the job) counts as firing, and is not told again."""
    channels: tuple[str, ...] = ()
    """Empty for all."""


class Holds(Enum):
    """What one look at a condition says."""

    YES = "yes"
    NO = "no"
    BETWEEN = "between"
    """No longer beyond the threshold, not yet back to where it clears."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """What one look at a condition saw; where nothing was measured there is no sign."""

    instance: str
    holds: Holds
    sentence: str
    at: float
    """Wall clock seconds since the epoch."""
    clock: float
    """The clock that durations are counted by; a monotonic one where there is one."""
    value: float | None = None
    happened: bool = False
    """It happened and is over: it is told once and resolves by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where one alert stands."""

    rule: str
    run_id: str
    instance: str
    state: State
    severity: Severity
    sentence: str
    since: float
    """When the condition began to hold, by the wall clock of who measured it."""
    updated_at: float
    clock: float
    held_seconds: float = 0.0
    clear_seconds: float | None = None
    """For how long it has been well while it fires; None where it is not."""
    value: float | None = None
    fired_at: float | None = None
    resolved_at: float | None = None
    told_at: float | None = None
    until: float | None = None
    """When something that only happened counts as resolved."""
    count: int = 1
    """How often it was seen again while it fired, for what the job itself said."""
    silenced_by: str | None = None

    @property
    def name(self) -> tuple[str, str, str]:
        """What it is one of: rule, run, instance."""
        return self.rule, self.run_id, self.instance

    def state_at(self, now: float) -> State:
        """Say where it stands by now: what only happened is resolved after a while."""
        over = self.state is State.FIRING and self.until is not None and now >= self.until
        return State.RESOLVED if over else self.state

    def as_record(self, now: float) -> dict[str, object]:
        """Render for JSON."""
        known: dict[str, object] = {
            "rule": self.rule,
            "run_id": self.run_id,
            "instance": self.instance or None,
            "state": self.state_at(now).value,
            "severity": self.severity.value,
            "sentence": self.sentence,
            "value": self.value if self.value is None or math.isfinite(self.value) else None,
            "since": iso_time(self.since),
            "fired_at": iso_time(self.fired_at),
            "resolved_at": iso_time(self.resolved_at),
            "count": self.count if self.count > 1 else None,
            "silenced_by": self.silenced_by,
        }
        return {name: value for name, value in known.items() if value is not None}


class Turn(Enum):
    """How an alert changed; only these are told."""

    FIRED = "firing"
    REPEATED = "still firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One turn of one alert."""

    turn: Turn
    standing: Standing
    at: float

    @property
    def id(self) -> str:
        """Name this turn the same however often it is worked out again."""
        import hashlib

        fired = self.standing.fired_at or 0.0
        parts = [*self.standing.name, self.turn.name, f"{fired:.3f}"]
        if self.turn is Turn.REPEATED:
            parts.append(f"{self.at:.3f}")
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a person is told of one change."""

    id: str
    turn: Turn
    rule: str
    run_id: str
    instance: str
    severity: Severity
    sentence: str
    at: float
    value: float | None = None
    job: str = ""
    """The run's name, else its command."""
    project: str | None = None
    host: str | None = None
    user: str | None = None

    @property
    def title(self) -> str:
        """Say it in one line."""
        return f"{self.turn.value}: {self.rule} ({self.job or self.run_id})"

    def as_record(self) -> dict[str, object]:
        """Render for JSON, as webhooks receive it."""
        known: dict[str, object] = {
            "id": self.id,
            "state": "resolved" if self.turn is Turn.RESOLVED else "firing",
            "repeated": True if self.turn is Turn.REPEATED else None,
            "rule": self.rule,
            "severity": self.severity.value,
            "sentence": self.sentence,
            "timestamp": iso_time(self.at),
            "value": self.value if self.value is None or math.isfinite(self.value) else None,
            "run_id": self.run_id,
            "instance": self.instance or None,
            "job": self.job or None,
            "project": self.project,
            "host": self.host,
            "user": self.user,
        }
        return {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A time in which alerts of some runs are noted but not told."""

    id: str
    where: str
    """A filter as `ls --filter` takes it; empty for all runs."""
    until: float
    begin: float
    rules: tuple[str, ...] = ()
    """Empty for all."""
    comment: str = ""
    by: str = ""

    def as_record(self, now: float) -> dict[str, object]:
        """Render for JSON."""
        return {
            "id": self.id,
            "where": self.where,
            "rules": list(self.rules),
            "from": iso_time(self.begin),
            "until": iso_time(self.until),
            "active": self.is_active(now),
            "comment": self.comment,
            "by": self.by,
        }

    def is_active(self, now: float) -> bool:
        """Say whether it keeps things quiet now."""
        return self.begin <= now < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBook:
    """All that is remembered of one run between two looks."""

    run_id: str
    standings: tuple[Standing, ...] = ()
    offset: int = 0
    """How far `usage.jsonl` was looked at."""
    watched_seconds: float = 0.0
    """For how long the run was looked at, in all; time in which nobody looked is not in it."""
    quiet_seconds: float = 0.0
    """For how long of that nothing new was measured."""
    steps: dict[str, int] = field(default_factory=dict)
    """By rank and source: how many steps were looked at."""
    words: dict[str, int] = field(default_factory=dict)
    """By file of events: how far it was looked at."""
    is_done: bool = False
    """The run ended and was looked at for the last time."""
