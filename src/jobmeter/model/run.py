"""A run as people ask for it. Only what was measured is present: absent is None or a missing key."""

from dataclasses import dataclass, field
from enum import Enum

from jobmeter.model.measurement import Measurement
from jobmeter.model.steps import StepSummary

Value = int | float | str
"""One stored value of one instance; a tally is a mapping of state to samples seen."""


class Status(Enum):
    """Where a run stands. `lost` is a run whose recorder vanished without an end record."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"
    CANCELLED = "cancelled"
    LOST = "lost"


LIVE = frozenset((Status.QUEUED, Status.RUNNING, Status.PAUSED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One number of record with its bounds and the keys it came from."""

    value: float
    low: float
    high: float
    keys: tuple[str, ...]
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the job was allowed: the tightest of cgroup, affinity and scheduler request."""

    memory_bytes: int | None = None
    cpus: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """How the numbers came to be: what was selected, what was missing and why, what was dropped."""

    selected: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    inexact: dict[str, str] = field(default_factory=dict)
    origin: str = "jobmeter"
    """The tool that measured: `jobmeter`, or the foreign format the run was imported from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandShare:
    """What the processes of one command name used, as far as sampling saw it."""

    command: str
    cpu_seconds: float | None = None
    peak_rss_bytes: int | None = None
    processes: int | None = None


PROOF_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where one output stream of the job went: `captured` in the folder, or `inherited` as a file."""

    stream: str
    mode: str
    path: str
    offset: int = 0
    """Where in an inherited file the job's first byte stands."""
    end: int | None = None
    """Where in an inherited file the job's last byte ends."""
    crc32: int | None = None
    """Of the job's last bytes before `end`, at most `PROOF_BYTES`: another run may have written the file anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The searchable facts of one recorder's run folder."""

    run_id: str
    job_id: str
    status: Status
    command: tuple[str, ...]
    cwd: str | None = None
    name: str | None = None
    project: str | None = None
    message: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    group: str | None = None
    ranks: tuple[int, ...] = ()
    """The ranks of a distributed job that were seen; empty for a job of one process."""
    world_size: int | None = None
    """How many ranks the job said it has."""
    host: str | None = None
    user: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    started_at: float | None = None
    """Wall clock, seconds since the epoch; rendered as ISO 8601 UTC at the edge."""
    ended_at: float | None = None
    wall_seconds: float | None = None
    """From the monotonic clock, so a clock step does not change it."""
    samples: int | None = None
    headline: dict[str, Headline] = field(default_factory=dict)
    summary: dict[str, Value] = field(default_factory=dict)
    steps: StepSummary | None = None
    results: dict[str, Value] = field(default_factory=dict)
    """What the job itself said it came to: the SDK's `run.summary`."""
    by_command: tuple[CommandShare, ...] = ()
    limits: Limits = Limits()
    provenance: Provenance = Provenance()
    outputs: tuple[Output, ...] = ()
    folder: str | None = None
    disk_bytes: int | None = None
    definitions: dict[str, Measurement] = field(default_factory=dict)
    context: dict[str, object] = field(default_factory=dict)
    """Everything else the recorder knew at the start: host details, git commit, environment, options."""
