"""Steps of a training loop: one by one as sources tell them, and as columns, which is how they are read.

Rows stand in the order they were written. A loop that resumed goes back to an earlier step: both lives are
kept, and `latest` tells which rows the later one replaced. A metric that a step does not have is absent
from its column; one that was logged as NaN is NaN.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite, isnan
from operator import lt

Number = int | float

_EXACT_INT = 2**53
_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
"""How JSON, which has no word for them, holds numbers that are not finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a training loop."""

    timestamp: float | None
    """None where the source says nothing about time."""
    step: int
    rank: int
    source: str
    """Who told: `sdk`, `log:<parser>`, or the name of an imported format."""
    metrics: dict[str, Number]


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one metric and the rows that have them; None is every row."""

    rows: Sequence[int] | None
    values: Sequence[Number]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTable:
    """What one writer told of one rank, in the order it was written."""

    writer: str
    """The file of the run folder, or the stream of output, it was read from."""
    source: str
    rank: int
    steps: Sequence[int]
    timestamps: Sequence[float] | None
    """NaN where a row has none; None where no row has one."""
    columns: dict[str, Column]

    def __len__(self) -> int:
        return len(self.steps)

    def rows(self) -> Iterator[Step]:
        """Walk the table row by row."""
        moments = self.timestamps or (None,) * len(self)
        for step, moment, metrics in zip(self.steps, moments, self._cells(), strict=True):
            known = None if moment is None or isnan(moment) else moment
            yield Step(timestamp=known, step=step, rank=self.rank, source=self.source, metrics=metrics)

    def _cells(self) -> Iterable[dict[str, Number]]:
        if self.columns and all(column.rows is None for column in self.columns.values()):
            # one by one: a million dicts at once cost memory and the collector's time
            names = tuple(self.columns)
            values = zip(*[column.values for column in self.columns.values()], strict=True)
            return (dict(zip(names, row, strict=True)) for row in values)
        cells: list[dict[str, Number]] = [{} for _ in self.steps]
        for name, column in self.columns.items():
            places = range(len(cells)) if column.rows is None else column.rows
            for place, value in zip(places, column.values, strict=True):
                cells[place][name] = value
        return cells


@dataclass(frozen=True, slots=True)
class Steps:
    """All steps of a run: iterate for single ones, or take the tables."""

    tables: tuple[StepTable, ...] = ()

    def __iter__(self) -> Iterator[Step]:
        for table in self.tables:
            yield from table.rows()

    def __len__(self) -> int:
        return sum(map(len, self.tables))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSeries:
    """One metric over the steps of one rank, what a resumed loop replaced left out."""

    metric: str
    source: str
    rank: int
    steps: tuple[int, ...]
    """Rising."""
    values: tuple[Number, ...]
    timestamps: tuple[float | None, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """One metric over the run; a first or last value that is not finite is the word JSON has for it."""

    first: int | float | str
    last: int | float | str
    low: Number | None = None
    """The least finite value; None where no value is finite."""
    high: Number | None = None
    not_finite: int = 0
    """How many values were NaN or infinite."""
    source: str = ""
    """Who told, where that is not the source of the whole summary."""

    def as_record(self) -> dict[str, object]:
        """Render as `show --json` does."""
        record = {"first": self.first, "last": self.last, "min": self.low, "max": self.high}
        more = {"not_finite": self.not_finite or None, "source": self.source or None}
        return {key: value for key, value in (record | more).items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSummary:
    """What a run's steps come to, told by its best source for its lowest rank."""

    count: int
    last_step: int
    """The step of the last record: after a resume that is not the highest."""
    source: str = ""
    rank: int = 0
    steps_per_second: float | None = None
    """While steps went forward; None where the source says nothing about time."""
    metrics: dict[str, MetricSummary] = field(default_factory=dict)

    def as_record(self) -> dict[str, object]:
        """Render as `show --json` does; a metric names its source only where that is another one."""
        record: dict[str, object] = {"count": self.count, "last_step": self.last_step, "source": self.source}
        if self.steps_per_second is not None:
            record["steps_per_second"] = self.steps_per_second
        record["metrics"] = {name: found.as_record() for name, found in self.metrics.items()}
        return record


SEEN = ":seen"
"""Ends the name of a source that has no clock: its steps are dated by the look that found them, not when they were."""


SDK, _LOG = "sdk", "log:"
"""What the job itself tells, and what begins the name of a log that was read."""


def trust(source: str) -> int:
    """Order sources: the job's own word, then files of other tools, then what a log was understood to say."""
    return 0 if source == SDK else 2 if source.startswith(_LOG) else 1


def as_json(value: Number) -> int | float | str:
    """Write a metric so that JSON stays strict: what is not finite becomes its word."""
    if isinstance(value, int) or isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


def from_json(raw: object) -> Number | None:
    """Read a metric back; None for what is no number."""
    if isinstance(raw, str):
        return _WORDS.get(raw)
    return raw if isinstance(raw, int | float) and not isinstance(raw, bool) else None


def packed(values: Sequence[Number]) -> Sequence[Number]:
    """Hold numbers as machine words where these are exact; whole numbers too large for that stay a list."""
    kinds = set(map(type, values))
    try:
        if kinds <= {int}:
            return array("q", values)
    except OverflowError:
        return list(values)
    if int in kinds and any(type(value) is int and abs(value) > _EXACT_INT for value in values):
        return list(values)
    return array("d", values)


def latest(steps: Sequence[int]) -> Sequence[int]:
    """Name the rows that no later row goes back behind or repeats."""
    if all(map(lt, steps, islice(steps, 1, None))):
        return range(len(steps))
    kept: list[int] = []
    least: int | None = None
    for place in range(len(steps) - 1, -1, -1):
        if least is None or steps[place] < least:
            kept.append(place)
            least = steps[place]
    kept.reverse()
    return kept
