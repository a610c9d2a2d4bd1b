"""Many trainings in one summary: how many, how long, how fast, how busy their GPUs were."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from jobmeter.model.query import Total

Record = dict[str, object]

TOP_JOBS = 5
_MEBI = 1 << 20
_NONE = Total()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBrief:
    """What the list of runs knows of a job, without reading a point of it."""

    job_id: str
    status: str
    duration_seconds: float | None = None
    is_training: bool = False
    throughput: float | None = None
    gpu_util_percent: float | None = None
    gpu_memory_peak_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTotals:
    """What jobs come to: how many have a figure, and its sum."""

    by_status: Mapping[str, int] = field(default_factory=dict)
    trained: Total = _NONE
    """Seconds of jobs that logged steps."""
    throughput: Total = _NONE
    gpu_util: Total = _NONE
    gpu_memory: Total = _NONE
    fastest: Sequence[JobBrief] = ()

    @property
    def jobs(self) -> int:
        """How many jobs there are."""
        return sum(self.by_status.values())

    def without(self, others: "JobTotals") -> "JobTotals":
        """Take away what some of the jobs brought; the fastest are named anew by whoever knows them."""
        statuses = Counter(self.by_status)
        statuses.subtract(others.by_status)
        return JobTotals(
            by_status={status: count for status, count in statuses.items() if count > 0},
            trained=_less(self.trained, others.trained),
            throughput=_less(self.throughput, others.throughput),
            gpu_util=_less(self.gpu_util, others.gpu_util),
            gpu_memory=_less(self.gpu_memory, others.gpu_memory),
        )

    def with_jobs(self, others: "JobTotals", fastest: Iterable[JobBrief]) -> "JobTotals":
        """Add other jobs, and say which of all may be the fastest."""
        return JobTotals(
            by_status=Counter(self.by_status) + Counter(others.by_status),
            trained=_and(self.trained, others.trained),
            throughput=_and(self.throughput, others.throughput),
            gpu_util=_and(self.gpu_util, others.gpu_util),
            gpu_memory=_and(self.gpu_memory, others.gpu_memory),
            fastest=ranked(fastest),
        )


def of(jobs: Sequence[JobBrief]) -> JobTotals:
    """Add jobs up."""
    return JobTotals(
        by_status=Counter(one.status for one in jobs),
        trained=_sum(one.duration_seconds for one in jobs if one.is_training),
        throughput=_sum(one.throughput for one in jobs),
        gpu_util=_sum(one.gpu_util_percent for one in jobs),
        gpu_memory=_sum(one.gpu_memory_peak_bytes for one in jobs),
        fastest=ranked(jobs),
    )


def ranked(jobs: Iterable[JobBrief]) -> list[JobBrief]:
    """Name the fastest jobs."""
    fast = [one for one in jobs if one.throughput is not None]
    fast.sort(key=lambda one: (-(one.throughput or 0.0), one.job_id))
    return fast[:TOP_JOBS]


def _sum(values: Iterable[float | None]) -> Total:
    known = [value for value in values if value is not None]
    return Total(len(known), float(sum(known)))


def _less(one: Total, other: Total) -> Total:
    count = one.count - other.count
    return Total(count, one.total - other.total) if count > 0 else Total()


def _and(one: Total, other: Total) -> Total:
    return Total(one.count + other.count, one.total + other.total)


def system(totals: JobTotals) -> Record:
    """Render the summary of all jobs."""
    memory = _mean(totals.gpu_memory)
    record: Record = {
        "total_jobs": totals.jobs,
        "jobs_by_status": dict(sorted(totals.by_status.items())),
        "average_training_duration_seconds": _rounded(_mean(totals.trained)),
        "total_training_time_hours": round(totals.trained.total / 3600, 3),
        "average_throughput_samples_per_sec": _rounded(_mean(totals.throughput)),
        "top_performing_jobs": [
            {"job_id": one.job_id, "throughput": _rounded(one.throughput), "duration": one.duration_seconds}
            for one in totals.fastest
        ],
        "resource_trends": {
            "average_gpu_utilization": _rounded(_mean(totals.gpu_util)),
            "average_peak_memory_mb": None if memory is None else _rounded(memory / _MEBI),
        },
    }
    warnings = _warnings(totals)
    return record | ({"warnings": warnings} if warnings else {})


def _mean(total: Total) -> float | None:
    return total.total / total.count if total.count else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _warnings(totals: JobTotals) -> list[str]:
    warnings = []
    if totals.jobs and not totals.trained.count:
        warnings.append("no job logged steps: nothing is known of training")
    if totals.trained.count and not totals.throughput.count:
        warnings.append("no job has a batch size or samples a second: throughput is not known")
    if totals.jobs and not totals.gpu_util.count:
        warnings.append("no job measured a GPU")
    return warnings
