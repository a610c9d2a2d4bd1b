"""What one rank told of its training at one moment; every field may be missing, none is ever made up.

A loss may be negative (policy gradients), and NaN is news: both are kept, NaN and infinities are flagged.
`efficiency_score` knows GPU utilisation and throughput only: a falling loss cannot lower it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from numbers import Real
from typing import TypeGuard

from jobmeter.errors import UsageError
from jobmeter.model import steps

QUANTITIES = (
    "gpu_util",
    "gpu_mem_used_gb",
    "training_loss",
    "throughput_tokens_sec",
    "gradient_norm",
    "learning_rate",
)
"""The fields that are measured; `_gb` counts in 2^30 bytes."""

_NOT_BELOW_ZERO = frozenset(QUANTITIES) - {"training_loss"}
_FULL_PERCENT = 100


class MetricError(UsageError, ValueError):
    """A value that cannot be what its field means."""


@dataclass(frozen=True, slots=True)
class TrainingMetrics:
    """One sample of one rank; None where nothing was measured."""

    timestamp: datetime
    """With a zone, UTC. Given as text or seconds since the epoch it is converted; a naive one is local time."""
    job_id: str
    rank: int
    gpu_util: float | None = None
    """Percent of time in which any kernel ran."""
    gpu_mem_used_gb: float | None = None
    training_loss: float | None = None
    throughput_tokens_sec: float | None = None
    gradient_norm: float | None = None
    learning_rate: float | None = None
    step: int | None = None
    best_throughput: float | None = None
    """The best tokens per second any rank of the run had shown when this was collected."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Who told, by field: `file`, `log:<parser>` or `nvsmi`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "timestamp", moment(self.timestamp))
        job_id: object = self.job_id
        if not isinstance(job_id, str) or not job_id:
            raise MetricError(f"job_id must be a name, not {job_id!r}")
        object.__setattr__(self, "rank", whole("rank", self.rank))
        if self.step is not None:
            object.__setattr__(self, "step", whole("step", self.step))
        for name in QUANTITIES:
            object.__setattr__(self, name, quantity(name, getattr(self, name)))

    @property
    def flags(self) -> tuple[str, ...]:
        """Name the fields that hold no finite number."""
        told = ((name, getattr(self, name)) for name in QUANTITIES)
        return tuple(
            f"{name} is {steps.as_json(value)}"
            for name, value in told
            if value is not None and not math.isfinite(value)
        )

    @property
    def efficiency_score(self) -> float | None:
        """Score from 0 to 100; None where neither utilisation nor a comparable throughput is known."""
        return efficiency(self, self.best_throughput)

    def to_dict(self) -> dict[str, object]:
        """Render as strict JSON knows it: only what was measured, NaN and infinities as words."""
        shown: dict[str, object] = {
            "timestamp": self.timestamp.isoformat().replace("+00:00", "Z"),
            "job_id": self.job_id,
            "rank": self.rank,
        }
        for name in ("step", *QUANTITIES):
            value = getattr(self, name)
            if value is not None:
                shown[name] = steps.as_json(value)
        return shown

    @classmethod
    def from_dict(cls, raw: Mapping[str, object]) -> "TrainingMetrics":
        """Read what `to_dict` rendered; keys that are no fields are passed over."""
        missing = [name for name in ("timestamp", "job_id", "rank") if name not in raw]
        if missing:
            raise MetricError(f"training metrics without {missing[0]}")
        known = {name: unworded(raw[name]) for name in ("step", *QUANTITIES) if name in raw}
        return cls(
            timestamp=moment(raw["timestamp"]),
            job_id=raw["job_id"],  # type: ignore[arg-type]  # checked when the object is built
            rank=raw["rank"],  # type: ignore[arg-type]  # likewise
            **known,  # type: ignore[arg-type]  # likewise
        )


def efficiency(sample: TrainingMetrics, best_throughput: float | None) -> float | None:
    """Average the shares that are known: of a full GPU, and of the best throughput of the same run."""
    shares = []
    if sample.gpu_util is not None and math.isfinite(sample.gpu_util):
        shares.append(float(sample.gpu_util))
    now = sample.throughput_tokens_sec
    if now is not None and math.isfinite(now) and best_throughput:
        shares.append(min(_FULL_PERCENT * now / best_throughput, float(_FULL_PERCENT)))
    return sum(shares) / len(shares) if shares else None


def moment(raw: object) -> datetime:
    """Read a time: a datetime, ISO 8601 text (UTC unless it says otherwise) or seconds since the epoch."""
    if isinstance(raw, datetime):
        return raw.astimezone(UTC)
    try:
        if isinstance(raw, str):
            found = datetime.fromisoformat(raw)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        if _is_number(raw):
            return datetime.fromtimestamp(float(raw), UTC)
    except (ValueError, OverflowError, OSError):
        raise MetricError(f"timestamp is no time: {_shown(raw)}") from None
    raise MetricError(f"timestamp must be a time, not {_shown(raw)}")


def whole(name: str, raw: object) -> int:
    """Read a whole number that counts something."""
    if isinstance(raw, bool) or not hasattr(raw, "__index__"):
        raise MetricError(f"{name} must be a whole number, not {_shown(raw)}")
    number = raw.__index__()
    if not isinstance(number, int) or number < 0:
        raise MetricError(f"{name} must not be negative: {_shown(raw)}")
    return number


def quantity(name: str, raw: object) -> float | None:
    """Read one measured field; None stays None."""
    if raw is None:
        return None
    if not _is_number(raw):
        raise MetricError(f"{name} must be a number, not {_shown(raw)}")
    try:
        value = float(raw)
    except OverflowError:
        raise MetricError(f"{name} is too large: {_shown(raw)}") from None
    value = raw if isinstance(raw, int) else value
    if name in _NOT_BELOW_ZERO and value < 0:
        raise MetricError(f"{name} must not be negative: {_shown(raw)}")
    if name == "gpu_util" and value > _FULL_PERCENT:
        raise MetricError(f"gpu_util must be between 0 and 100 percent: {_shown(raw)}")
    return value


def _is_number(raw: object) -> TypeGuard[float]:
    """Numbers of numpy and torch's own scalars included; True is none."""
    return isinstance(raw, Real) and not isinstance(raw, bool | str)


def unworded(raw: object) -> object:
    """Turn the words that strict JSON uses for NaN and infinities back into numbers."""
    found = steps.from_json(raw) if isinstance(raw, str) else None
    return raw if found is None else found


def _shown(raw: object) -> str:
    text = repr(raw)
    return text if len(text) <= 60 else f"{text[:57]}..."
