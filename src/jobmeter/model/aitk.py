"""The rows of ai-toolkit's monitoring tables. What was not measured is None, which the database keeps as NULL."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One row of MetricsSample."""

    timestamp: float
    total_memory_gb: float | None = None
    used_memory_gb: float | None = None
    available_memory_gb: float | None = None
    swap_used_gb: float | None = None
    main_process_memory_gb: float | None = None
    worker_memory_gb: float | None = None
    worker_count: int | None = None
    gpu_memory_used_gb: float | None = None
    gpu_utilization_percent: float | None = None
    cpu_utilization_percent: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One row of TrainingEvent; the sample is named by its place among the samples."""

    timestamp: float
    event_type: str
    details: str
    sample: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One row of StepMetric."""

    step: int
    timestamp: float
    loss: float | None = None
    batch_size: int | None = None
    gradient_norm: float | None = None
    learning_rate: float | None = None
    step_time_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The row of AnalysisReport."""

    created_at: float
    summary: str
    recommendations: str
    log_errors: str | None
    peak_memory_gb: float | None
    health_score: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """All rows of one run of a job."""

    job_id: str
    begin: float
    """The rows of the job between these two moments are this run's; a job that was resumed has others."""
    end: float
    samples: list[Sample]
    events: list[EventRow]
    steps: list[StepRow]
    report: Report
