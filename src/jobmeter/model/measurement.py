"""What a number is: its kind, unit, scope, how readings of it fold, and which statistics a run keeps.

The recorder imports this module while the job runs, so it is written without dataclasses and
`enum` (their imports cost more than recording `true` does).
"""

from jobmeter.model.words import Enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Kind(Enum):
    """How a value behaves over time."""

    GAUGE = "gauge"
    COUNTER = "counter"
    LABEL = "label"
    CATEGORICAL = "categorical"


class Unit(Enum):
    """Base units only; scaling to GiB or minutes is presentation."""

    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes_per_second"
    SECONDS = "seconds"
    PERCENT = "percent"
    RATIO = "ratio"
    COUNT = "count"
    JOULES = "joules"
    WATTS = "watts"
    CELSIUS = "celsius"
    HERTZ = "hertz"
    NONE = "none"


class Scope(Enum):
    """What one instance of the value belongs to."""

    PROCESS = "process"
    JOB = "job"
    DEVICE = "device"
    HOST = "host"


class Reduce(Enum):
    """How the readings of one window become one value."""

    MAX = "max"
    MEAN = "mean"
    MIN = "min"
    LAST = "last"
    DELTA = "delta"
    TALLY = "tally"


class Stat(Enum):
    """A statistic over the whole run; the word stands right after the tool in the summary key."""

    PEAK = "peak"
    MEAN = "mean"
    LOW = "low"
    LAST = "last"
    TOTAL = "total"


LEGAL: dict[Kind, frozenset[Reduce]] = {
    Kind.GAUGE: frozenset((Reduce.MAX, Reduce.MEAN, Reduce.MIN, Reduce.LAST)),
    Kind.COUNTER: frozenset((Reduce.DELTA, Reduce.LAST)),
    Kind.LABEL: frozenset((Reduce.LAST,)),
    Kind.CATEGORICAL: frozenset((Reduce.TALLY,)),
}

IMPORTED_TOOLS = frozenset(
    (
        *(
            "buildstats",
            "codecarbon",
            "condor",
            "dcgm",
            "docker",
            "dstat",
            "intel",
            "iostat",
            "lsf",
            "mpstat",
        ),
        *("nextflow", "pbs", "pidstat", "power", "raplcsv", "sar", "seff", "sge", "tegra", "time", "vmstat"),
    )
)
"""Tools that jobmeter reads only in files they left."""

TOOLS = IMPORTED_TOOLS | frozenset(
    (
        *("apple", "nvml", "nvsmi", "rocm"),
        *("cgroup", "host", "netns", "proc", "ps", "psi", "psutil", "rapl", "wait"),
        *("fleet", "slurm", "step"),
    )
)

PROCESS_TOOLS = ("proc", "psutil", "ps")
"""Tools that measure single processes, in order of trust; where several did, one must not be added to another."""
GPU_TOOLS = ("nvml", "nvsmi", "rocm", "dcgm", "apple", "tegra", "fleet")
"""Tools that measure GPUs, in order of trust."""


class Measurement:
    """The definition of one key; travels with every run that recorded it."""

    __slots__ = ("about", "key", "kind", "reduce", "scope", "summary", "unit")

    def __init__(  # noqa: PLR0913  # a definition has seven parts; tables of them read best without names
        self,
        key: str,
        kind: Kind,
        unit: Unit,
        scope: Scope,
        reduce: tuple[Reduce, ...],
        summary: tuple[Stat, ...],
        about: str,
    ) -> None:
        self.key = key
        self.kind = kind
        self.unit = unit
        self.scope = scope
        self.reduce = reduce
        self.summary = summary
        self.about = about

    @property
    def tool(self) -> str:
        return self.key.partition("_")[0]

    def stat_key(self, word: str) -> str:
        """Name a statistic of this key: `proc_rss_total` and `peak` give `proc_peak_rss_total`."""
        tool, _, quantity = self.key.partition("_")
        return f"{tool}_{word}_{quantity}"

    def as_record(self) -> dict[str, object]:
        """Render the definition as it is stored in `run.jsonl`."""
        return {
            "key": self.key,
            "kind": self.kind.value,
            "unit": self.unit.value,
            "scope": self.scope.value,
            "reduce": [reduce.value for reduce in self.reduce],
            "summary": [stat.value for stat in self.summary],
            "about": self.about,
        }

    def __repr__(self) -> str:
        return f"Measurement({self.key!r}, {self.kind.value}, {self.unit.value}, {self.scope.value})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measurement) and self.as_record() == other.as_record()

    def __hash__(self) -> int:
        return hash(self.key)


def from_record(record: dict[str, object]) -> Measurement | None:
    """Read a stored definition back; None where a newer schema uses words unknown here."""
    reduce, summary = record.get("reduce"), record.get("summary")
    if not isinstance(reduce, list) or not isinstance(summary, list):
        return None
    try:
        return Measurement(
            str(record["key"]),
            Kind(record["kind"]),
            Unit(record["unit"]),
            Scope(record["scope"]),
            tuple(Reduce(word) for word in reduce),
            tuple(Stat(word) for word in summary),
            str(record.get("about", "")),
        )
    except (KeyError, ValueError):
        return None


def problems(measurements: "Iterable[Measurement]") -> list[str]:
    """List what is wrong with a set of definitions: illegal reduce, bad key, a key defined twice."""
    found: list[str] = []
    seen: set[str] = set()
    for m in measurements:
        if m.key in seen:
            found.append(f"{m.key}: defined twice")
        seen.add(m.key)
        found += _problems_of(m)
    return found


def _problems_of(m: Measurement) -> list[str]:
    found = [
        f"{m.key}: {r.value} is not legal for a {m.kind.value}" for r in m.reduce if r not in LEGAL[m.kind]
    ]
    if not m.reduce:
        found.append(f"{m.key}: no reduce")
    if m.tool not in TOOLS:
        found.append(f"{m.key}: unknown tool {m.tool}")
    if not all(part.isalnum() and part == part.lower() for part in m.key.split("_")):
        found.append(f"{m.key}: not lower-case words joined by _")
    if not m.about:
        found.append(f"{m.key}: no meaning given")
    return found
