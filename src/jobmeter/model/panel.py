"""What a plot shows, before anything is drawn: panels of named lines, limits, peaks and marks.

Times are seconds since the run began, or, where a training's steps have no times, steps. A line says which key it
came from, so that two methods of measuring the same thing can stand in one panel without being taken for each
other.
"""

from dataclasses import dataclass
from enum import Enum


class Quantity(Enum):
    """What the vertical axis of a panel counts."""

    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes/s"
    CORES = "cores"
    COUNT = "count"
    COUNT_PER_SECOND = "count/s"
    PERCENT = "percent"
    RATIO = "ratio"
    SECONDS = "seconds"
    SECONDS_PER_SECOND = "seconds/s"
    JOULES = "joules"
    WATTS = "watts"
    CELSIUS = "celsius"
    HERTZ = "hertz"
    METRIC = "metric"
    """What a training logged: its unit is known to whoever named it."""
    PLAIN = "plain"
    PLAIN_PER_SECOND = "1/s"


class Role(Enum):
    """How a line is to be read."""

    MAIN = "main"
    OTHER = "other"
    """The same question answered by another method, or a second thing of equal weight."""
    FAINT = "faint"
    """Context: true, but not what the panel is about (memory with the page cache in it)."""
    PEER = "peer"
    """The same of another rank or device: pale in the colour of the first line, and named together."""
    STACKED = "stacked"
    """One layer of who used it; layers are drawn on top of one another, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The largest value of a line, or one known to lie between two samples."""

    value: float
    seconds: float | None
    """None where only the value is known, not the moment."""
    label: str
    key: str
    sampled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One key of one instance over time; None in `values` breaks the line."""

    label: str
    key: str
    instance: str = ""
    source: str = ""
    """Who told a metric of a training: `sdk`, `log:hf`; empty for what was measured."""
    about: str = ""
    """What the key means, in the words of the run's own definition."""
    figure: str = ""
    """A number that says more of the line than its largest value does: `mean 95 %`."""
    role: Role = Role.MAIN
    step: bool = False
    """A rate: values[i] holds from times[i-1] to times[i]. Otherwise a gauge, read at times[i]."""
    times: tuple[float, ...]
    values: tuple[float | None, ...]
    low: tuple[float | None, ...] | None = None
    """Set where many samples were folded into one point: `values` are means, these the extremes."""
    high: tuple[float | None, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A horizontal line that must not be crossed."""

    label: str
    value: float
    source: str = ""
    """Who set it: `cgroup`, `affinity`, `slurm`; empty where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that happened at one moment."""

    seconds: float
    label: str
    type: str
    severe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A stretch of the run with a name: stopped by a signal, or without samples."""

    start: float
    end: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Lines that share an axis."""

    name: str
    title: str
    quantity: Quantity
    lines: tuple[Line, ...]
    top: float
    """Where the axis ends: limits far above the lines are named, but do not flatten them."""
    bottom: float = 0.0
    """Where it begins: above 0 only for metrics, whose changes may be small beside their size."""
    logarithmic: bool = False
    limits: tuple[Limit, ...] = ()
    peaks: tuple[Peak, ...] = ()
    peers: str = ""
    """The name that the lines of other ranks or devices share: `ranks 1-63`."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """All of one plot."""

    run_id: str
    title: str
    status: str
    facts: tuple[str, ...]
    started_at: float | None
    seconds: float
    """How long the axis is; of steps where it counts these."""
    first_step: int | None = None
    """Set where the axis counts steps instead of time: the step at its left end."""
    panels: tuple[Panel, ...]
    marks: tuple[Mark, ...] = ()
    phases: tuple[Phase, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences: what was left out, and why."""
