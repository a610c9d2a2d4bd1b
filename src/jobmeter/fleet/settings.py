"""How a collection is run: the nine keys people know, and what the network needs beside them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Real

from jobmeter.errors import UsageError


class SettingError(UsageError, ValueError):
    """A setting that no collection could be run with."""


@dataclass(frozen=True, slots=True)
class MetricsCollectorConfig:
    """When to look, where to look, how much to keep, and what is worth an alert."""

    collection_interval: float = 5.0
    """Seconds between two looks at a rank."""
    max_history_size: int = 1000
    """Samples kept per rank."""
    cleanup_interval_hours: float = 24
    """Samples collected longer ago than this are let go."""
    collection_timeout: float = 10
    """Seconds after which a target that does not answer has failed."""
    metrics_file: str = "training_metrics.json"
    """Relative to a target's folder; `{rank}` and `{job}` are filled in."""
    log_file: str = "training.log"
    low_throughput_threshold: float = 50.0
    high_loss_threshold: float = 10.0
    low_gpu_util_threshold: float = 30.0

    def __post_init__(self) -> None:
        for name in ("collection_interval", "cleanup_interval_hours", "collection_timeout"):
            positive(name, getattr(self, name))
        size: object = self.max_history_size
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise SettingError(f"max_history_size must be a whole number above 0, not {size!r}")
        for name in ("metrics_file", "log_file"):
            path = getattr(self, name)
            if not isinstance(path, str) or not path.strip() or "\0" in path or "\n" in path:
                raise SettingError(f"{name} must be a file name, not {path!r}")
        for name in ("low_throughput_threshold", "high_loss_threshold", "low_gpu_util_threshold"):
            number(name, getattr(self, name))

    @classmethod
    def from_dict(cls, raw: Mapping[str, object]) -> "MetricsCollectorConfig":
        """Build from a mapping, as a TOML or JSON file gives one."""
        known = [one.name for one in fields(cls)]
        for name in raw:
            if name not in known:
                raise SettingError(f"unknown setting: {name}", hint=f"use one of {', '.join(known)}")
        return cls(**raw)  # type: ignore[arg-type]  # checked when the object is built


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When to leave a target alone, and for how long."""

    failures: int = 3
    """So many failed looks in a row open the breaker."""
    open_seconds: float = 30.0
    """The first pause; each failed trial doubles it."""
    longest_seconds: float = 300.0
    retries: int = 1
    """Looks repeated at once, after a short random pause, before one counts as failed; never after a timeout."""

    def __post_init__(self) -> None:
        failures: object = self.failures
        if isinstance(failures, bool) or not isinstance(failures, int) or failures < 1:
            raise SettingError(f"breaker_failures must be a whole number above 0, not {failures!r}")
        positive("breaker_seconds", self.open_seconds)
        positive("breaker_longest_seconds", self.longest_seconds)
        retries: object = self.retries
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise SettingError(f"retries must be a whole number, not {retries!r}")


def positive(name: str, raw: object) -> float:
    """Require a finite number above zero."""
    value = number(name, raw)
    if value <= 0:
        raise SettingError(f"{name} must be above 0, not {raw!r}")
    return value


def number(name: str, raw: object) -> float:
    """Require a finite number."""
    if isinstance(raw, bool) or not isinstance(raw, Real) or not math.isfinite(raw):
        raise SettingError(f"{name} must be a number, not {raw!r}")
    return float(raw)
