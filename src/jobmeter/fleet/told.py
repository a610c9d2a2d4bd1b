"""What a source said of a rank, once: the step it is about, when, and its numbers under the names it used."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from jobmeter.fleet.metrics import QUANTITIES, MetricError, TrainingMetrics, moment, quantity, unworded, whole
from jobmeter.model import metrics, moments

FILE, GPU = "file", "nvsmi"

Number = int | float

_IDENTITY = frozenset(("timestamp", "job_id", "rank", "step"))
_FIELD_OF = {
    metrics.LOSS: "training_loss",
    metrics.LR: "learning_rate",
    metrics.GRAD_NORM: "gradient_norm",
    metrics.TOKENS_PER_SECOND: "throughput_tokens_sec",
}
"""The field of a quantity; the GPU's two have no other spelling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One record of a source."""

    source: str
    metrics: dict[str, Number]
    """As the source spells them."""
    timestamp: float | None = None
    """By the source's own clock; None where it says nothing about time."""
    seen: bool = False
    """Whether the source says nothing about time: then it is dated by the look that found it, or not at all."""
    step: int | None = None
    refused: tuple[str, ...] = ()
    """A sentence for each value that could not be what its name says."""
    extra: dict[str, Number] = field(default_factory=dict)
    """Fields added from another source, which `extra_source` names."""
    extra_source: str = ""

    def fields(self) -> dict[str, Number]:
        """Give the numbers under the names of `TrainingMetrics`."""
        return fields_of(self.metrics)

    def with_extra(self, added: dict[str, Number]) -> "Told":
        """Add fields that the host's GPUs told."""
        return replace(self, extra=added, extra_source=GPU)

    def as_metrics(
        self, *, job_id: str, rank: int, seen_at: float, best_throughput: float | None
    ) -> TrainingMetrics:
        """Build the sample; without a clock of its own it is dated when it was seen."""
        own = self.fields()
        added = {name: value for name, value in self.extra.items() if name not in own}
        at = seen_at if moments.utc(self.timestamp) is None or self.timestamp is None else self.timestamp
        sources = dict.fromkeys(own, self.source) | dict.fromkeys(added, self.extra_source)
        return TrainingMetrics(
            timestamp=moment(at),
            job_id=job_id,
            rank=rank,
            step=None if self.step is None or self.step < 0 else self.step,
            best_throughput=best_throughput,
            sources=sources,
            **own,
            **added,
        )


def fields_of(told: Mapping[str, Number]) -> dict[str, Number]:
    """Pick the six fields out of a source's own names; what a field cannot hold stays under its own name only."""
    chosen = {name: name for name in QUANTITIES if name in told}
    for quantity_name, field_name in _FIELD_OF.items():
        spelled = metrics.pick(told, quantity_name)
        if spelled is not None:
            chosen.setdefault(field_name, spelled)
    found: dict[str, Number] = {}
    for field_name, spelled in chosen.items():
        try:
            kept = quantity(field_name, told[spelled])
        except MetricError:
            continue  # said in `refused` where the record was read
        if kept is not None:
            found[field_name] = kept
    return found


def from_record(record: Mapping[str, object]) -> Told:
    """Read one JSON object of a metrics file; what is not a number is refused by name, the rest is kept."""
    refused: list[str] = []
    told = _numbers(record, refused)
    timestamp, step = record.get("timestamp"), record.get("step")
    at = number = None
    try:
        at = None if timestamp is None else moment(timestamp).timestamp()
        number = None if step is None else whole("step", step)
    except MetricError as error:
        refused.append(str(error))
    return Told(source=FILE, metrics=told, timestamp=at, step=number, refused=tuple(refused))


def _numbers(record: Mapping[str, object], refused: list[str]) -> dict[str, Number]:
    told: dict[str, Number] = {}
    for name, raw in record.items():
        if name in _IDENTITY or raw is None:
            continue
        value = unworded(raw)
        known = name if name in QUANTITIES else _FIELD_OF.get(metrics.canonical(name))
        if known is None and (isinstance(value, bool) or not isinstance(value, int | float)):
            continue  # text, lists and switches of the trainer's own are none of ours
        try:
            quantity(known or name, value)
        except MetricError as error:
            refused.append(str(error))
            continue
        told[name] = value  # type: ignore[assignment]  # quantity() took it for a number
    return told
