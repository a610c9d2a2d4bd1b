"""What analysis says and how runs compare, as types of JSON; see `answers.py`."""

from typing import Any, Literal, TypedDict

from jobmeter.model.answers import EvidenceTold, Figure, VerdictTold

Level = Literal["critical", "warning", "info"]

FindingTold = TypedDict(
    "FindingTold",
    {
        "detector": str,
        "severity": Level,
        "sentence": str,
        "key": str,
        "from": str,
        "to": str,
        "rank": int,
        "instance": str,
        "evidence": list[EvidenceTold],
        "figures": dict[str, Figure],
    },
    total=False,
)
"""Something that stood out."""


class PredictionTold(TypedDict):
    """What an advice will do to one number of the next run."""

    quantity: str
    unit: str
    before: float
    after: float
    low: float
    high: float


class RecommendationTold(TypedDict):
    """One change to make."""

    rule: str
    severity: Level
    title: str
    action: str
    impact: str
    config_path: str | None
    current_value: Any
    recommended_value: Any
    evidence: list[EvidenceTold]
    predicted: list[PredictionTold]


class LogErrorTold(TypedDict, total=False):
    """A warning or an error out of the job's own output."""

    timestamp: str
    level: str
    type: str
    message: str
    signature: str
    fields: dict[str, Figure]
    traceback: str
    count: int
    ranks: list[int]
    stream: str
    offset: int
    memory_at_time_bytes: int
    survived: bool


class FollowedTold(TypedDict, total=False):
    """An advice on an earlier run that this run followed, and what came of it."""

    rule: str
    run_id: str
    config_path: str
    value: Any
    predicted: PredictionTold
    actual: float
    error_percent: float | None


class _ReportTold(TypedDict):
    verdict: VerdictTold
    health: Literal["good", "warning", "critical"]
    findings: list[FindingTold]
    recommendations: list[RecommendationTold]
    log_errors: list[LogErrorTold]


class ReportTold(_ReportTold, total=False):
    """All that analysis says of one run: as `jobmeter analyze --json`."""

    followed: list[FollowedTold]


class MetricCompared(TypedDict):
    """One number of every run."""

    key: str
    unit: str
    """`bytes` or `seconds`; empty for a plain number."""
    values: list[float | None]
    change_percent: list[float | None]
    """How much more than the first run each has."""
    winner: str | None


class DifferenceTold(TypedDict):
    """Something that was not the same."""

    path: str
    values: list[Any]


class PhasesTold(TypedDict):
    """The phases of one resource in every run."""

    resource: str
    runs: list[list[dict[str, Any]]]


class LossAtStep(TypedDict):
    """The losses of all runs at one step."""

    step: int
    values: list[float | None]


class Compared(TypedDict):
    """Runs side by side: as `jobmeter compare --json`."""

    runs: list[str]
    metrics: list[MetricCompared]
    config: list[DifferenceTold]
    environment: list[DifferenceTold]
    phases: list[PhasesTold]
    loss_at_step: list[LossAtStep]
