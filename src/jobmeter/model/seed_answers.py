"""The JSON that dashboards of trainings and ai-toolkit's page ask for, key for key, as types; see `answers.py`.

What is not known is null, and `warnings` says why. `_gb` is 2^30 bytes, `_mb` 2^20.
"""

from typing import Any, Literal, TypedDict


class Duration(TypedDict):
    """How long a job took."""

    total_seconds: float | None
    training_seconds: float | None
    """From the first step to the last."""
    overhead_seconds: float | None


class Performance(TypedDict):
    """How fast it trained."""

    average_samples_per_second: float | None
    peak_samples_per_second: float | None
    """The best minute."""
    average_iteration_time: float | None
    total_iterations: int | None
    total_samples: int | None


class ResourceUtilization(TypedDict):
    """What its GPUs did."""

    average_gpu_utilization: float | None
    peak_gpu_memory_mb: float | None
    average_gpu_memory_mb: float | None
    average_gpu_temp_celsius: float | None
    peak_gpu_temp_celsius: float | None


class Checkpoints(TypedDict):
    """What it saved."""

    total_checkpoints: int
    checkpoint_frequency_steps: int | None
    best_checkpoint: str | None
    final_checkpoint: str | None


class Losses(TypedDict):
    """What it learned."""

    initial_loss: float | None
    final_loss: float | None
    best_loss: float | None
    loss_reduction_percent: float | None


class Efficiency(TypedDict):
    """Scores from 0 to 100."""

    gpu_utilization_score: float | None
    throughput_score: float | None
    overall_score: float | None


class _JobAnalytics(TypedDict):
    job_id: str
    status: str
    duration: Duration
    performance: Performance
    resource_utilization: ResourceUtilization
    checkpoints: Checkpoints
    losses: Losses
    efficiency: Efficiency


class JobAnalytics(_JobAnalytics, total=False):
    """The figures of one training."""

    warnings: list[str]


class TopJob(TypedDict):
    """A job of many samples a second."""

    job_id: str
    throughput: float | None
    duration: float | None


class SummedJob(TopJob):
    """A job on a page of the summary."""

    status: str


class ResourceTrends(TypedDict):
    """What GPUs did over all jobs."""

    average_gpu_utilization: float | None
    average_peak_memory_mb: float | None


class _SystemAnalytics(TypedDict):
    total_jobs: int
    jobs_by_status: dict[str, int]
    average_training_duration_seconds: float | None
    total_training_time_hours: float
    average_throughput_samples_per_sec: float | None
    top_performing_jobs: list[TopJob]
    resource_trends: ResourceTrends


class SystemAnalytics(_SystemAnalytics, total=False):
    """All jobs summed up; with a page also the jobs on it, newest first."""

    warnings: list[str]
    page: int
    per_page: int
    pages: int
    jobs: list[SummedJob]


class ComparedJob(TypedDict):
    """One job beside others."""

    job_id: str
    duration_seconds: float | None
    throughput: float | None
    final_loss: float | None
    gpu_utilization: float | None


class Winner(TypedDict):
    """Who is best by what."""

    best_throughput: str | None
    best_loss: str | None
    fastest: str | None
    most_efficient: str | None


class _JobsCompared(TypedDict):
    jobs: list[ComparedJob]
    winner: Winner


class JobsCompared(_JobsCompared, total=False):
    """Jobs side by side."""

    warnings: list[str]


class AnalysisSummary(TypedDict):
    """The badge of a job and its peaks; memory is the machine's."""

    health_score: Literal["good", "warning", "critical"]
    peak_memory_gb: float | None
    total_memory_gb: float | None
    training_completed: bool
    steps_completed: int | None
    duration_minutes: float | None


class PanelAdvice(TypedDict):
    """One setting to change."""

    severity: str
    title: str
    action: str
    impact: str
    config_path: str | None
    current_value: Any
    recommended_value: Any


class PanelError(TypedDict):
    """What the log complained of."""

    timestamp: float | None
    level: str
    message: str
    memory_at_time_gb: float | None


class _TimelineSample(TypedDict):
    timestamp: float
    total_memory_gb: float | None
    used_memory_gb: float | None
    available_memory_gb: float | None
    swap_used_gb: float | None
    main_process_memory_gb: float | None
    worker_memory_gb: float | None
    worker_count: int | None
    gpu_memory_used_gb: float | None
    gpu_utilization_percent: float | None
    cpu_utilization_percent: float | None


class TimelineSample(_TimelineSample, total=False):
    """One sample of the machine."""

    events: list[str]
    """What happened since."""


class JobAnalysis(TypedDict):
    """What is known of a job, and what analysis says of it."""

    summary: AnalysisSummary
    recommendations: list[PanelAdvice]
    log_errors: list[PanelError]
    metrics_timeline: list[TimelineSample]


class AppliedAdvice(TypedDict):
    """A setting that was changed."""

    rule: str
    config_path: str | None
    current_value: Any
    recommended_value: Any


class SkippedAdvice(TypedDict):
    """Advice that has no place in the config."""

    rule: str
    config_path: str | None
    reason: str


class ConfigApplied(TypedDict):
    """A config with the advice in it; nothing was written, nothing was started."""

    job_id: str
    config: Any
    """As it was sent: text, or the document that was recorded with the run."""
    applied: list[AppliedAdvice]
    skipped: list[SkippedAdvice]
    diff: str
