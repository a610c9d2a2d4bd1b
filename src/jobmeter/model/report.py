"""What analysis says of a run: why it ended, what stood out, what to change.

Every claim carries its evidence. A number that is an estimate stands in a `Prediction` with its interval,
never in a sentence alone.
"""

from dataclasses import dataclass, field, replace
from enum import Enum

from jobmeter.model.moments import iso_time
from jobmeter.model.run import Value


class Severity(Enum):
    """How much a finding or an advice matters; the order is the order people read them in."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"

    @property
    def order(self) -> int:
        """Give 0 for the worst."""
        return _ORDER[self]


_ORDER = {severity: place for place, severity in enumerate(Severity)}


class Health(Enum):
    """The badge of a run."""

    GOOD = "good"
    WARNING = "warning"
    CRITICAL = "critical"


class Cause(Enum):
    """Why a run ended, or is in trouble."""

    COMPLETED = "completed"
    OOM_CGROUP = "oom_cgroup"
    OOM_HOST = "oom_host"
    OOM_CUDA = "oom_cuda"
    WORKER_KILLED = "worker_killed"
    NAN_LOSS = "nan_loss"
    DIVERGED = "diverged"
    TIMEOUT = "timeout"
    NCCL_TIMEOUT = "nccl_timeout"
    DISK_FULL = "disk_full"
    RESOURCE_LIMIT = "resource_limit"
    IMPORT_ERROR = "import_error"
    CONFIG_ERROR = "config_error"
    EXCEPTION = "exception"
    KILLED_SIGNAL = "killed_signal"
    INTERRUPTED = "interrupted"
    HANG = "hang"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One fact and where it stands; what is not known is left out."""

    sentence: str
    source: str
    """Where it was read: a key, `event oom_kill`, `stderr`, `exit status`, `sacct`, `config`."""
    value: Value | None = None
    timestamp: float | None = None
    rank: int | None = None
    quote: str | None = None
    """The line itself, as the job wrote it."""
    offset: int | None = None
    """The byte of the stream the quote begins at."""

    def as_record(self) -> dict[str, object]:
        """Render for JSON."""
        return _present(
            sentence=self.sentence,
            source=self.source,
            value=self.value,
            timestamp=iso_time(self.timestamp),
            rank=self.rank,
            quote=self.quote,
            offset=self.offset,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Why the run ended."""

    cause: Cause
    sentence: str
    confidence: float
    """From 0 to 1: 0.95 and more where the kernel or the scheduler says so itself."""
    evidence: tuple[Evidence, ...] = ()

    def as_record(self) -> dict[str, object]:
        """Render for JSON."""
        return {
            "cause": self.cause.value,
            "sentence": self.sentence,
            "confidence": round(self.confidence, 2),
            "evidence": [one.as_record() for one in self.evidence],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that stood out, whether or not the run failed."""

    detector: str
    severity: Severity
    sentence: str
    key: str | None = None
    """The measurement or the metric it is about."""
    begin: float | None = None
    """Wall clock seconds since the epoch."""
    end: float | None = None
    rank: int | None = None
    instance: str | None = None
    evidence: tuple[Evidence, ...] = ()
    figures: dict[str, Value] = field(default_factory=dict)
    """What rules and other programs want to know of it: slopes, ratios, steps, by name with unit."""

    def as_record(self) -> dict[str, object]:
        """Render for JSON."""
        return _present(
            detector=self.detector,
            severity=self.severity.value,
            sentence=self.sentence,
            key=self.key,
            **{"from": iso_time(self.begin)},
            to=iso_time(self.end),
            rank=self.rank,
            instance=self.instance or None,
            evidence=[one.as_record() for one in self.evidence],
            figures=self.figures or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What an advice will do to one number of the next run, so that it can be held against it."""

    quantity: str
    """A headline (`memory_peak_bytes`), a measurement key, or a metric of the steps."""
    unit: str
    before: float
    after: float
    low: float
    high: float
    """The interval `after` should fall into, nine times of ten."""

    def as_record(self) -> dict[str, object]:
        """Render for JSON."""
        names = ("quantity", "unit", "before", "after", "low", "high")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """One change to make."""

    rule: str
    severity: Severity
    title: str
    action: str
    impact: str
    config_path: str | None = None
    """Where it stands in the job's own config (`config.process[0].datasets[0].num_workers`), as an option of
    the command (`--num_workers`), or of the scheduler (`--mem`)."""
    current_value: object = None
    recommended_value: object = None
    evidence: tuple[Evidence, ...] = ()
    predictions: tuple[Prediction, ...] = ()

    def as_record(self) -> dict[str, object]:
        """Render for JSON."""
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "title": self.title,
            "action": self.action,
            "impact": self.impact,
            "config_path": self.config_path,
            "current_value": self.current_value,
            "recommended_value": self.recommended_value,
            "evidence": [one.as_record() for one in self.evidence],
            "predicted": [one.as_record() for one in self.predictions],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """An advice on an earlier run that this run followed: what it promised, and what came."""

    rule: str
    run_id: str
    """The run that was advised on."""
    config_path: str
    value: object
    """What the setting is now."""
    predicted: Prediction
    actual: float

    @property
    def error_percent(self) -> float | None:
        """Give how far the prediction was off; None where nothing came of it."""
        return None if not self.actual else 100 * (self.predicted.after - self.actual) / abs(self.actual)

    @property
    def is_kept(self) -> bool:
        """Tell whether what came lies in the interval that was predicted."""
        return self.predicted.low <= self.actual <= self.predicted.high

    def as_record(self) -> dict[str, object]:
        """Render for JSON."""
        error = self.error_percent
        return {
            "rule": self.rule,
            "run_id": self.run_id,
            "config_path": self.config_path,
            "value": self.value,
            "predicted": self.predicted.as_record(),
            "actual": self.actual,
            "error_percent": None if error is None else round(error, 2),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LogError:
    """A warning or an error out of the job's own output."""

    level: str
    """`WARNING`, `ERROR` or `CRITICAL`."""
    type: str
    """The exception's name (`torch.OutOfMemoryError`), or what the line is known as (`nccl_timeout`)."""
    message: str
    signature: str | None = None
    """The known failure it is a sign of, by the name of its reader; None for what only looks like an error."""
    fields: dict[str, Value] = field(default_factory=dict)
    """What the message says in numbers, base units: `tried_bytes`, `free_bytes`, `elapsed_seconds`."""
    timestamp: float | None = None
    """By the line's own clock, else when it arrived; None where neither is known."""
    traceback: str | None = None
    count: int = 1
    """How often it was said, over all ranks."""
    ranks: tuple[int, ...] = ()
    stream: str | None = None
    offset: int | None = None
    memory_at_time_bytes: int | None = None
    survived: bool = False
    """The output shows that the job, or a later attempt at it, went on afterwards."""

    def at_memory(self, memory_bytes: int | None) -> "LogError":
        """Give the same error with the memory the job used at that moment."""
        return replace(self, memory_at_time_bytes=memory_bytes)

    def as_record(self) -> dict[str, object]:
        """Render for JSON."""
        return _present(
            timestamp=iso_time(self.timestamp),
            level=self.level,
            type=self.type,
            message=self.message,
            signature=self.signature,
            fields=self.fields or None,
            traceback=self.traceback,
            count=self.count,
            ranks=list(self.ranks) or None,
            stream=self.stream,
            offset=self.offset,
            memory_at_time_bytes=self.memory_at_time_bytes,
            survived=self.survived or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that analysis says of one run."""

    verdict: Verdict
    health: Health
    findings: tuple[Finding, ...] = ()
    recommendations: tuple[Recommendation, ...] = ()
    log_errors: tuple[LogError, ...] = ()
    followed: tuple[Followed, ...] = ()
    """Advice on earlier runs of the same job that this one followed."""

    def as_record(self) -> dict[str, object]:
        """Render as `analyze --json` does."""
        followed = {"followed": [one.as_record() for one in self.followed]} if self.followed else {}
        return {
            "verdict": self.verdict.as_record(),
            "health": self.health.value,
            "findings": [one.as_record() for one in self.findings],
            "recommendations": [one.as_record() for one in self.recommendations],
            "log_errors": [one.as_record() for one in self.log_errors],
            **followed,
        }


def _present(**named: object) -> dict[str, object]:
    return {name: value for name, value in named.items() if value is not None}
