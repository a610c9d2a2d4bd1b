"""What a job should ask for next time, beside what it asked for and used."""

from dataclasses import dataclass
from enum import Enum


class Resource(Enum):
    """What one asks a scheduler for."""

    MEMORY = "memory"
    CPUS = "cpus"
    TIME = "time"
    GPUS = "gpus"


class Confidence(Enum):
    """How much the past says: `low` is a guess with a margin."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


UNITS = {
    Resource.MEMORY: "bytes",
    Resource.CPUS: "count",
    Resource.TIME: "seconds",
    Resource.GPUS: "count",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to ask for of one resource, in base units."""

    resource: Resource
    advised: float
    runs: int
    """Runs it was learned from."""
    typical: float
    """What half of the runs got by with."""
    largest: float
    low: float
    high: float
    """The next run should use something in between, nine times of ten."""
    failure_probability: float
    """How likely the next run does not get by with it: is killed, or for CPUs takes over 5 % longer."""
    failure_high: float
    """It is below this in 19 cases of 20."""
    confidence: Confidence
    method: str
    asked: float | None = None
    """What the newest run was given; None where nothing limited it."""

    @property
    def saving(self) -> float | None:
        """Give the share of what is asked for now that is no longer held; a failed run is repeated as asked now."""
        if not self.asked:
            return None
        share = (self.asked - self.advised) / self.asked
        # with too few cores a run is slower, it need not be repeated
        is_repeated = self.resource in (Resource.MEMORY, Resource.TIME)
        return share - self.failure_probability if is_repeated and share > 0 else share

    def as_record(self) -> dict[str, object]:
        """Render for JSON."""
        record: dict[str, object] = {"unit": UNITS[self.resource]}
        if self.asked is not None:
            record["asked"] = tidy(self.asked)
        record |= {
            "typical": tidy(self.typical),
            "largest": tidy(self.largest),
            "advised": tidy(self.advised),
            "low": tidy(self.low),
            "high": tidy(self.high),
            "failure_probability": round(self.failure_probability, 4),
            "failure_probability_high": round(self.failure_high, 4),
            "confidence": self.confidence.value,
            "runs": self.runs,
            "method": self.method,
        }
        saving = self.saving
        return record if saving is None else record | {"expected_saving": round(saving, 4)}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSizing:
    """One job: advice on each resource, and why there is none on others."""

    job: str
    runs: int
    """All of them, also those that nothing was learned from."""
    advice: dict[Resource, Advice]
    missing: dict[Resource, str]
    """Why a resource has no advice."""
    input_bytes: float | None = None
    """The size of the next run's input, where it was said."""

    def as_record(self) -> dict[str, object]:
        """Render as `size --json` does."""
        record: dict[str, object] = {"job": self.job, "runs": self.runs}
        if self.input_bytes is not None:
            record["input_bytes"] = tidy(self.input_bytes)
        return record | {
            "advice": {resource.value: one.as_record() for resource, one in self.advice.items()},
            "missing": {resource.value: reason for resource, reason in self.missing.items()},
        }


def tidy(number: float) -> float | int:
    """Write a whole number as one, any other with six digits."""
    return int(number) if float(number).is_integer() else float(f"{number:.6g}")
