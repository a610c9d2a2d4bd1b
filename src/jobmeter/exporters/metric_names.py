"""What a measurement of ours is called in Prometheus, and which labels its series carry.

`jobmeter_`, the key, its unit, and `_total` for a counter. A key that ends in `_total` is a sum over the job's
processes: there the word means something else, so the sum is said right after the tool (`proc_rss_total` is
`jobmeter_proc_sum_rss_bytes`); one that ends in `_count` says what it counts. Runs and jobs are labelled `run_id`
and `job_id`, because `job` and `instance` belong to Prometheus. Series of single processes are not exported: every
process would leave series behind for ever.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from jobmeter.model import text
from jobmeter.model.measurement import GPU_TOOLS, PROCESS_TOOLS, Kind, Measurement, Scope, Unit
from jobmeter.model.run import Run

PREFIX = "jobmeter_"
MAX_LABEL_LETTERS = 200
"""Of one value: names are other people's text."""
SUM_DIGITS = 6
"""Counters are told to the microsecond: beyond that a sum depends on the order of adding, and must never fall."""
_KEY_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
_LONGEST_KEY = 120

UNITS: dict[Unit, str] = {
    Unit.BYTES: "bytes",
    Unit.BYTES_PER_SECOND: "bytes_per_second",
    Unit.SECONDS: "seconds",
    Unit.PERCENT: "percent",
    Unit.RATIO: "ratio",
    Unit.COUNT: "",
    Unit.JOULES: "joules",
    Unit.WATTS: "watts",
    Unit.CELSIUS: "celsius",
    Unit.HERTZ: "hertz",
    Unit.NONE: "",
}

Labels = tuple[tuple[str, str], ...]
"""Names and values, ordered by name."""


class Type(Enum):
    """How Prometheus takes a family."""

    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"


SUFFIXES: dict[Type, str] = {Type.GAUGE: "", Type.COUNTER: "_total", Type.INFO: "_info"}


@dataclass(frozen=True, slots=True)
class Family:
    """All series of one name."""

    name: str
    """Without what its type adds."""
    type: Type
    about: str

    @property
    def sample_name(self) -> str:
        """Name its series as queries do."""
        return self.name + SUFFIXES[self.type]


def family_of(definition: Measurement) -> Family | None:
    """Name the family of a measurement; None for one of single processes and for a key that is none."""
    if definition.scope is Scope.PROCESS or not _is_key(definition.key):
        return None
    key = definition.key
    if key.endswith("_total"):
        key = definition.stat_key("sum").removesuffix("_total")
    if definition.kind is Kind.LABEL:
        # all labels of a device are one series: which tool named it is in the name
        return Family(f"{PREFIX}{definition.tool}_device", Type.INFO, "what a device is")
    if key.endswith("_count"):
        # the ending belongs to histograms
        key = f"{key.removesuffix('_count')}_{_counted(definition)}"
    unit = UNITS[definition.unit]
    if unit and not key.endswith(f"_{unit}"):
        key = f"{key}_{unit}"
    kind = Type.COUNTER if definition.kind is Kind.COUNTER else Type.GAUGE
    return Family(PREFIX + key, kind, about(definition))


def _counted(definition: Measurement) -> str:
    return (
        "devices"
        if definition.tool in GPU_TOOLS
        else "processes"
        if definition.tool in PROCESS_TOOLS
        else "number"
    )


def about(definition: Measurement) -> str:
    """Say what the series of a measurement mean."""
    sentence = text.clean(definition.about)[:MAX_LABEL_LETTERS]
    if definition.kind is Kind.CATEGORICAL:
        return f"{sentence}: samples of the last report that saw each state"
    return sentence


def _is_key(key: str) -> bool:
    return 0 < len(key) <= _LONGEST_KEY and _KEY_LETTERS.issuperset(key) and "_" in key[1:-1]


def labels_of_run(run: Run) -> Labels:
    """Label what belongs to a run: which it is, its job, and where it ran."""
    found = {"run_id": run.run_id, "job_id": run.job_id, "project": run.project, "host": run.host}
    return labels(found)


def labels_of_instance(definition: Measurement, instance: str, numbers: Mapping[str, str]) -> Labels:
    """Label one of several devices; `numbers` are those of the GPUs that have one on their machine."""
    if not instance:
        return ()
    if definition.key.startswith("fleet_") and instance.isdecimal():
        return (("rank", instance),)
    if definition.tool in GPU_TOOLS:
        return labels({"gpu": numbers.get(instance, instance)})
    return labels({"device": instance})


def labels(found: Mapping[str, str | None]) -> Labels:
    """Order labels; what is not known has none."""
    return tuple(sorted((name, shown(value)) for name, value in found.items() if value))


def joined(*parts: Labels) -> Labels:
    """Put labels together."""
    return tuple(sorted({name: value for part in parts for name, value in part}.items()))


def shown(value: str) -> str:
    """Make somebody else's text fit for a label."""
    return text.clean(value[:MAX_LABEL_LETTERS])


def clashes(definitions: Iterable[Measurement]) -> list[str]:
    """List families that several measurements would share."""
    owners: dict[str, set[str]] = {}
    for one in definitions:
        family = family_of(one)
        if family is not None and family.type is not Type.INFO:
            owners.setdefault(family.name, set()).add(one.key)
    return [f"{name}: {', '.join(sorted(keys))}" for name, keys in owners.items() if len(keys) > 1]
