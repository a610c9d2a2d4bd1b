"""Thresholds of a collection: told when a rank crosses one, not again at every look, and again after it came back."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from jobmeter.fleet.metrics import TrainingMetrics
from jobmeter.fleet.settings import MetricsCollectorConfig
from jobmeter.model.alert import Op


class Kind(StrEnum):
    """Which threshold was crossed; scripts print it and compare it with its word."""

    HIGH_LOSS = "high_loss"
    LOW_GPU_UTIL = "low_gpu_util"
    LOW_THROUGHPUT = "low_throughput"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A rank crossed a threshold."""

    kind: Kind
    rank: int
    timestamp: datetime
    value: float
    threshold: float

    @property
    def sentence(self) -> str:
        """Say it as people do."""
        return f"rank {self.rank}: {_SENTENCES[self.kind].format(value=self.value, threshold=self.threshold)}"


_SENTENCES = {
    Kind.HIGH_LOSS: "loss {value:.4g} is above {threshold:g}",
    Kind.LOW_GPU_UTIL: "GPU utilisation {value:.4g} % is below {threshold:g} %",
    Kind.LOW_THROUGHPUT: "throughput {value:.4g} tokens/s is below {threshold:g}",
}


def thresholds(config: MetricsCollectorConfig) -> tuple[tuple[Kind, Op, float], ...]:
    """List what a value is compared with, and how."""
    return (
        (Kind.LOW_THROUGHPUT, Op.BELOW, float(config.low_throughput_threshold)),
        (Kind.HIGH_LOSS, Op.ABOVE, float(config.high_loss_threshold)),
        (Kind.LOW_GPU_UTIL, Op.BELOW, float(config.low_gpu_util_threshold)),
    )


def measured(sample: TrainingMetrics) -> dict[Kind, float | None]:
    """Take out of a sample what thresholds are about; what was not measured is None."""
    return {
        Kind.LOW_THROUGHPUT: sample.throughput_tokens_sec,
        Kind.HIGH_LOSS: sample.training_loss,
        Kind.LOW_GPU_UTIL: sample.gpu_util,
    }


def crossed(sample: TrainingMetrics, config: MetricsCollectorConfig) -> list[Alert]:
    """List the thresholds a sample is beyond; a field that was not measured crosses none."""
    values = measured(sample)
    return [
        Alert(kind=kind, rank=sample.rank, timestamp=sample.timestamp, value=value, threshold=threshold)
        for kind, op, threshold in thresholds(config)
        if (value := values[kind]) is not None and op.holds(value, threshold)
    ]


class Watcher:
    """Remembers which thresholds a job's ranks are beyond."""

    def __init__(self, config: MetricsCollectorConfig) -> None:
        self._config = config
        self._beyond: set[tuple[int, Kind]] = set()

    def look(self, sample: TrainingMetrics) -> list[Alert]:
        """Give the alerts that are new with this sample."""
        now = crossed(sample, self._config)
        kinds = {alert.kind for alert in now}
        new = [alert for alert in now if (sample.rank, alert.kind) not in self._beyond]
        for kind, value in measured(sample).items():
            if kind in kinds:
                self._beyond.add((sample.rank, kind))
            elif value is not None:
                self._beyond.discard((sample.rank, kind))
        return new
