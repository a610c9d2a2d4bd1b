"""All that analysis, plots and exporters may see of a run: pure values, no files, no clocks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from jobmeter.model.rank import RankFacts
from jobmeter.model.report import LogError
from jobmeter.model.run import Run, Value
from jobmeter.model.steps import Step as Step  # noqa: PLC0414  # part of what a view shows
from jobmeter.model.steps import Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The folded readings of one report: what one line of `usage.jsonl` says."""

    timestamp: float
    num_samples: int
    clock: dict[str, tuple[float, float]]
    """Monotonic seconds, per source: when the first and the last reading of the window were taken."""
    values: dict[tuple[str, str], Value | dict[str, int]]
    """By key and instance; the instance of job and host keys is the empty string."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One key of one instance over the run; stores give machine words (`array`), which numpy takes as they are."""

    key: str
    instance: str
    times: Sequence[float]
    """Wall clock seconds since the epoch, rising."""
    values: Sequence[float]
    spans: Sequence[float] | None = None
    """Seconds each counter delta covers, so that a rate is values / spans; None for gauges."""


SEVERE_EVENTS = frozenset(
    ("alert", "gpu_error", "memory_threshold", "oom", "oom_kill", "source_failed", "timeout")
)
"""Types of events that a person looking at a run should not miss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened, with the measurements of that moment."""

    timestamp: float
    type: str
    details: dict[str, object] = field(default_factory=dict)
    config: dict[str, object] = field(default_factory=dict)
    measurements: dict[str, Value] = field(default_factory=dict)
    rank: int | None = None
    """Set where one rank of a distributed job told it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of the job as sampling saw it."""

    instance: str
    pid: int
    command: str | None = None
    first_seen: float | None = None
    last_seen: float | None = None
    cpu_seconds: float | None = None
    peak_rss_bytes: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None
    rank: int | None = None
    """Its rank in a distributed job, by the environment it was started with."""
    role: str | None = None
    """What it does in a training: `main`, `worker` or `other`; None for programs other than Python."""
    world_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run with its series, events and processes."""

    run: Run
    series: dict[tuple[str, str], Series]
    events: tuple[Event, ...] = ()
    processes: tuple[Process, ...] = ()
    siblings: tuple[Run, ...] = ()
    """The other recorders of the same job, newest first, without their definitions and context."""
    steps: Steps = field(default_factory=Steps)
    log_errors: tuple[LogError, ...] = ()
    """What the job's own output complained of, in the order it was said."""
    history: tuple[Run, ...] = ()
    """Earlier runs of the same job, newest first, without definitions; of their context only settings, if that."""
    ranks: tuple[RankFacts, ...] = ()
    """The ranks of the job, whichever of its recorders saw them, in order; none where there is only one."""
