"""What sizing must know of one run of a job."""

from dataclasses import dataclass

from jobmeter.model.sizing import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run; what is not known is None."""

    ended_well: bool
    """It did its work: what it used is what the job needs."""
    ran_out_of: Resource | None = None
    """What it was killed for: it needed more than it used."""
    memory_bytes: float | None = None
    wall_seconds: float | None = None
    cores: float | None = None
    """With so many it would not have taken over 5 % longer; where `is_sampled` is not set, the mean it used."""
    is_sampled: bool = False
    gpus: int | None = None
    """How many GPUs it used."""
    input_bytes: float | None = None
    asked_memory_bytes: float | None = None
    asked_cpus: float | None = None
    asked_seconds: float | None = None
    asked_gpus: float | None = None
