"""The JSON that leaves jobmeter, by `--json` and by its API, as types: what each key is, and which may be absent.

A key that is absent was not measured or does not apply; times are ISO 8601 UTC, sizes bytes, durations seconds. These
are no classes to build things with: the functions that lay out the documents are `service/shapes.py` and `as_record`.
"""

from typing import Any, Literal, TypedDict

Figure = float | str
"""A number, or the word for one that is not finite."""


class Problem(TypedDict, total=False):
    """Why a request was not answered (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    """One sentence of fact."""
    hint: str
    """What to do about it."""


class HeadlineNumber(TypedDict):
    """One number of record with its bounds."""

    value: float
    low: float
    high: float
    keys: list[str]
    """The measurements it came from."""
    exact: bool


class StepFigures(TypedDict, total=False):
    """One metric over a run."""

    first: Figure
    last: Figure
    min: float
    max: float
    not_finite: int
    """How many values were NaN or infinite."""
    source: str


class StepFacts(TypedDict, total=False):
    """What a run's steps come to."""

    count: int
    last_step: int
    source: str
    steps_per_second: float
    metrics: dict[str, StepFigures]


class RunLimits(TypedDict, total=False):
    """What the job was allowed."""

    memory_bytes: int
    cpus: float


class Sources(TypedDict, total=False):
    """How the numbers came to be."""

    selected: list[str]
    missing: dict[str, str]
    """By source: why it could not be read."""
    dropped: dict[str, int]
    inexact: dict[str, str]
    sources: Any
    origin: str


class RunListed(TypedDict, total=False):
    """A run as lists show it: as `jobmeter ls --json`."""

    run_id: str
    job_id: str
    ranks: list[int]
    world_size: int
    group: str
    name: str
    project: str
    status: Literal["queued", "running", "paused", "completed", "failed", "killed", "cancelled", "lost"]
    exit_code: int
    signal: str
    command: list[str]
    cwd: str
    host: str
    started_at: str
    ended_at: str
    wall_seconds: float
    headline: dict[str, HeadlineNumber]
    """`cpu_seconds`, `memory_peak_bytes`, `io_read_bytes`, `gpu_util_percent` and others, as far as measured."""
    limits: RunLimits
    provenance: Sources
    user: str
    message: str
    tags: dict[str, str]
    notes: list[str]
    samples: int
    folder: str
    disk_bytes: int
    steps: StepFacts
    results: dict[str, Figure]
    """What the job itself said it came to."""


class CommandUse(TypedDict, total=False):
    """What the processes of one command name used, as far as sampling saw it."""

    command: str
    cpu_seconds: float
    peak_rss_bytes: int
    processes: int


class RoleUse(TypedDict, total=False):
    """What the processes of one role in a training used."""

    processes: int
    cpu_seconds: float
    memory_peak_bytes: int


class EventTold(TypedDict, total=False):
    """Something that happened, with the measurements of that moment."""

    timestamp: str
    type: str
    details: dict[str, Any]
    config: dict[str, Any]
    measurements: dict[str, Figure | None]
    rank: int


class EvidenceTold(TypedDict, total=False):
    """One fact and where it stands."""

    sentence: str
    source: str
    value: Figure
    timestamp: str
    rank: int
    quote: str
    """The line itself, as the job wrote it."""
    offset: int
    """The byte of the stream the quote begins at."""


class VerdictTold(TypedDict):
    """Why the run ended."""

    cause: str
    sentence: str
    confidence: float
    evidence: list[EvidenceTold]


class MemoryZones(TypedDict):
    """Shares of the memory limit from which on the job's own config calls memory worrying, and critical."""

    warning: float
    critical: float


class RunShown(RunListed, total=False):
    """All that is known of a run without its series: as `jobmeter show --json`."""

    summary: dict[str, Figure]
    energy: dict[str, Any]
    by_command: list[CommandUse]
    roles: dict[str, RoleUse]
    siblings: list[str]
    """Ids of the other recorders of the same job."""
    events: list[EventTold]
    memory_zones: MemoryZones
    """Absent where the config says nothing: 0.85 and 0.95 then."""
    verdict: VerdictTold


class RunsPage(TypedDict):
    """Some runs in the order that was asked for."""

    runs: list[RunListed]
    next: str | None
    """What to send as `cursor` for the next page; null on the last."""
    total: int
    """How many runs match, on all pages."""


class FacetValue(TypedDict):
    """One value and how many runs have it."""

    value: str
    count: int


class Facets(TypedDict):
    """Values by field, the most frequent first."""

    facets: dict[str, list[FacetValue]]


class Events(TypedDict):
    """What happened in a run, in order of time."""

    run_id: str
    events: list[EventTold]


class ProcessTold(TypedDict, total=False):
    """One process as sampling saw it."""

    instance: str
    pid: int
    command: str
    first_seen: str
    last_seen: str
    cpu_seconds: float
    peak_rss_bytes: int
    read_bytes: int
    write_bytes: int
    rank: int
    role: str


class Processes(TypedDict):
    """Who used it."""

    run_id: str
    processes: list[ProcessTold]
    total: int
    """How many processes were seen; the list holds those that used most CPU time."""
    by_command: list[CommandUse]
    roles: dict[str, RoleUse]


class Deleted(TypedDict):
    """What became of a run that was deleted."""

    run_id: str
    purged: bool
    """Destroyed; else it lies in the bin."""
    freed_bytes: int


class Restored(TypedDict):
    """A run that was taken out of the bin."""

    run_id: str


class Binned(TypedDict):
    """A run in the bin."""

    run_id: str
    removed_at: str | None
    disk_bytes: int


class Bin(TypedDict):
    """What was deleted and can be restored."""

    runs: list[Binned]


class MeasurementTold(TypedDict, total=False):
    """What can be measured on the server's machine."""

    key: str
    kind: str
    unit: str
    scope: str
    reduce: list[str]
    summary: list[str]
    about: str
    collector: str
    available: bool
    default: bool
    missing: str
    untested: bool


class Catalogue(TypedDict):
    """Every measurement there is."""

    measurements: list[MeasurementTold]


class RegionTold(TypedDict, total=False):
    """How one region of a campaign does."""

    region: str
    builds: int
    pending: int
    successes: int
    failures: int
    cancelled: int
    success_rate: float
    streak: int
    queue_seconds: float
    working_seconds: float
    cost_usd: float
    spikes: int
    troughs: int
    sampled: int
    consistency: float
    consistency_band: str
    trend_percent: float
    last_error: str
    last_used: str
    recent_outcomes: list[Literal["success", "failure", "cancelled", "pending"]]
    """Of the last 20 builds, oldest first."""
    regressions: int
    """How often the builds that are kept became slower, by the test of `jobmeter check --against history`."""


class CampaignTold(TypedDict):
    """How all regions do."""

    campaign_start: str | None
    last_updated: str | None
    total_builds_all_regions: int
    regions: list[RegionTold]


class BuildPoint(TypedDict, total=False):
    """One build among those before and after it."""

    build_id: str
    timestamp: str
    outcome: Literal["success", "failure", "cancelled", "pending"]
    queue_seconds: float
    working_seconds: float
    cost_usd: float
    success_rate: float
    """Of the last 10 builds that had ended, in percent."""
    error: str
    spikes: int
    troughs: int
    consistency: float
    change: Literal["slower", "faster"]
    """The first build of a change of how long builds work."""
    change_percent: float


class RegionBuilds(TypedDict):
    """One region with the builds that are kept of it."""

    region: RegionTold
    builds: list[dict[str, Any]]
    """The latest first."""
    history: list[BuildPoint]
    """The same builds for charts, the oldest first."""


class AdviceTold(TypedDict, total=False):
    """What to ask for of one resource, in base units."""

    unit: str
    asked: float
    """What the newest run was given; absent where nothing limited it."""
    typical: float
    largest: float
    advised: float
    low: float
    high: float
    failure_probability: float
    failure_probability_high: float
    confidence: Literal["low", "medium", "high"]
    runs: int
    method: str
    expected_saving: float
    """The share of what is asked for now that is no longer held."""


class JobSized(TypedDict, total=False):
    """Advice on one job, and why there is none on some resources."""

    job: str
    runs: int
    input_bytes: float
    advice: dict[str, AdviceTold]
    missing: dict[str, str]
    lines: list[str]
    """Of the scheduler that was asked for."""


class Sized(TypedDict):
    """Jobs, the largest saving first."""

    jobs: list[JobSized]
