"""A job as its ranks tell it: the recorders that share a `job_id`, laid side by side by step."""

from dataclasses import dataclass, field

from jobmeter.model.run import Run, Status
from jobmeter.model.steps import MetricSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class RankView:
    """One rank, by the newest run that saw it; None is what was not measured."""

    rank: int
    run_id: str
    status: Status
    host: str | None = None
    pid: int | None = None
    steps: int | None = None
    """How many steps it told, those of earlier runs included."""
    last_step: int | None = None
    behind: int | None = None
    """How many steps the foremost rank is ahead."""
    step_seconds: float | None = None
    relative: float | None = None
    """Its time per step against the middle rank's, over the steps all took."""
    slowest_share: float | None = None
    is_straggler: bool = False
    processes: int | None = None
    cpu_seconds: float | None = None
    memory_peak_bytes: int | None = None
    gpu_util_percent: float | None = None
    gpu_memory_peak_bytes: int | None = None
    throughput: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Added:
    """A figure added over the ranks that told it."""

    value: float
    ranks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """All that is known of one job."""

    job_id: str
    runs: tuple[Run, ...]
    """Oldest first; a run that went on from an earlier one stands after it."""
    resumed: dict[str, str] = field(default_factory=dict)
    """By run: the earlier one it went on from."""
    world_size: int | None = None
    ranks: tuple[RankView, ...] = ()
    missing: tuple[int, ...] = ()
    """Ranks that never appeared."""
    step_imbalance: float | None = None
    """How much longer than the mean the slowest rank takes for a step; 0 is even."""
    memory_imbalance: float | None = None
    throughput: dict[str, Added] = field(default_factory=dict)
    loss: MetricSummary | None = None
    """Of the lowest rank."""
