"""What is said of alerts in JSON, as types: by `jobmeter alerts --json` and by the API. Times are ISO 8601 UTC."""

from typing import Any, Literal, TypedDict

Weight = Literal["critical", "warning", "info"]
Where = Literal["pending", "firing", "resolved"]


class AlertNow(TypedDict, total=False):
    """Where one alert stands."""

    rule: str
    run_id: str
    """`@home` for what is about many runs together."""
    instance: str
    """What of the run it is about: a GPU, a rank, a detector, a cause; absent for the run as a whole."""
    state: Where
    severity: Weight
    sentence: str
    value: float
    since: str
    """When the condition began to hold."""
    fired_at: str
    resolved_at: str
    count: int
    """How often the job itself said so."""
    silenced_by: str
    """The id of the silence that keeps it from being told."""


class AlertTurn(TypedDict, total=False):
    """One turn of one alert."""

    timestamp: str
    state: Where
    repeated: bool
    rule: str
    run_id: str
    instance: str
    severity: Weight
    sentence: str
    value: float
    job: str
    silenced_by: str


class Undelivered(TypedDict, total=False):
    """A message that waits to be sent, or could not be."""

    id: str
    channel: str
    state: Literal["waiting", "dead"]
    created_at: str
    next_attempt_at: str | None
    attempts: int
    error: str | None
    alerts: list[dict[str, Any]]


class AlertsTold(TypedDict, total=False):
    """Where alerts stand, what happened, and what nobody was told of yet."""

    alerts: list[AlertNow]
    history: list[AlertTurn]
    """The newest first."""
    undelivered: list[Undelivered]


class RuleTold(TypedDict, total=False):
    """What is watched for."""

    name: str
    kind: Literal["absence", "budget", "finding", "threshold", "told", "verdict"]
    sentence: str
    where: str
    """A filter; empty for all runs."""
    severity: Weight
    for_seconds: float
    clear_for_seconds: float
    repeat_seconds: float | None
    channels: list[str]


class ChannelTold(TypedDict, total=False):
    """Whom is told; nothing secret is in it."""

    name: str
    kind: Literal["webhook", "apprise"]
    target: str
    signed: bool
    least: Weight
    resolved: bool
    per_hour: int
    group_seconds: float


class RulesTold(TypedDict):
    """The rules and channels that hold."""

    rules: list[RuleTold]
    channels: list[ChannelTold]
    files: list[str]


class SilenceTold(TypedDict, total=False):
    """A time in which alerts are noted but not told."""

    id: str
    where: str
    rules: list[str]
    until: str
    active: bool
    comment: str
    by: str


class SilencesTold(TypedDict):
    """The silences that hold, and those that are past."""

    silences: list[SilenceTold]
