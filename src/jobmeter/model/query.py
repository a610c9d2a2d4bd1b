"""A question about many runs, as data: which, in what order, how many, and from where on.

Every store answers it alike; `matches`, `Field.of` and `Place.is_after` say what the answer is. What can mislead: a
field the run does not have matches no comparison, not even `!=`, because unmeasured is not different.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from jobmeter.model import quantities
from jobmeter.model.quantities import Moment
from jobmeter.model.run import Run

KEYWORDS = frozenset(("and", "or", "not"))
SEARCHED = ("command", "name")
"""What a bare word looks into."""
TAG = "tag."
TAGS = "tag"
"""A facet: every tag of a run, as `key=value`."""
_WORD = re.compile(r"""[^\s()=<>!~"']+""")

Known = Mapping[str, object]
"""The fields of one run, its summary's keys among them."""


class Op(Enum):
    """A comparison; `~` is "contains", without regard to case."""

    EQ = "="
    NE = "!="
    LE = "<="
    LT = "<"
    GE = ">="
    GT = ">"
    HAS = "~"
    HAS_NOT = "!~"


@dataclass(frozen=True, slots=True)
class Field:
    """A field by its name; a metric may be kept under the name of its quantity, in the unit of that."""

    name: str
    also: str | None = None
    unit: float = 1.0
    """How many of `also` make one of `name`."""

    def of(self, known: Known) -> object:
        """Find the field of a run; None where the run does not have it."""
        found = known.get(self.name)
        if found is not None or self.also is None:
            return found
        found = known.get(self.also)
        return found / self.unit if isinstance(found, int | float) and self.unit != 1.0 else found


STARTED = Field("started")


def quote(text: str) -> str:
    """Write a word so that a filter is read back as it is."""
    if _WORD.fullmatch(text) and text.lower() not in KEYWORDS:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class Compare:
    """`field op value`; `span` is the value as a number or a stretch of time, where it is one."""

    field: Field
    op: Op
    text: str
    span: Moment | None = None
    percent_of: str | None = None
    """The field that is 100 %, where the value was a percentage of another field."""

    def matches(self, known: Known) -> bool:
        found = self.field.of(known)
        if found is None:
            return False
        if isinstance(found, list):
            # a run of several ranks: one of them is enough, but all must be different
            one = all if self.op in (Op.NE, Op.HAS_NOT) else any
            return one(self._matches_one(value, known) for value in found)
        return self._matches_one(found, known)

    def _matches_one(self, found: object, known: Known) -> bool:
        if isinstance(found, int | float):
            return self._matches_number(found, known)
        return self._matches_text(str(found))

    def _matches_number(self, found: float, known: Known) -> bool:
        if self.op in (Op.HAS, Op.HAS_NOT):
            return self._matches_text(str(found))
        if self.span is None:
            return self.op is Op.NE
        if self.percent_of is not None:
            whole = known.get(self.percent_of)
            if not isinstance(whole, int | float) or whole <= 0:
                return False
            found = 100 * found / whole
        return _holds(found, self.op, self.span)

    def _matches_text(self, found: str) -> bool:
        match self.op:
            case Op.EQ:
                return found == self.text
            case Op.NE:
                return found != self.text
            case Op.HAS:
                return self.text.lower() in found.lower()
            case Op.HAS_NOT:
                return self.text.lower() not in found.lower()
            case Op.LT | Op.LE | Op.GT | Op.GE:
                number = number_in(found)
                return number is not None and self.span is not None and _holds(number, self.op, self.span)
            case _:
                assert_never(self.op)

    def __str__(self) -> str:
        return f"{quote(self.field.name)}{self.op.value}{quote(self.text)}"


def number_in(text: str) -> float | None:
    """Read a number with an optional unit, one that is not finite by its word."""
    quantity = quantities.parse_quantity(text)
    if quantity is not None:
        return quantity.value
    if text.lower().lstrip("+-") not in ("inf", "infinity", "nan"):
        return None
    return float(text)


def _holds(found: float, op: Op, span: Moment) -> bool:
    match op:
        case Op.EQ:
            return span.first <= found <= span.last
        case Op.NE:
            return not span.first <= found <= span.last
        case Op.LT:
            return found < span.first
        case Op.LE:
            return found <= span.last
        case Op.GT:
            return found > span.last
        case Op.GE | Op.HAS | Op.HAS_NOT:
            # what contains a text never comes here
            return found >= span.first
        case _:
            assert_never(op)


@dataclass(frozen=True, slots=True)
class Word:
    """A bare word: its text occurs in the command or the name."""

    text: str

    def matches(self, known: Known) -> bool:
        wanted = self.text.lower()
        return any(wanted in str(known[field]).lower() for field in SEARCHED if known.get(field) is not None)

    def __str__(self) -> str:
        return quote(self.text)


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    part: "Filter"

    def matches(self, known: Known) -> bool:
        return not self.part.matches(known)

    def __str__(self) -> str:
        return f"not {self.part}" if isinstance(self.part, Compare | Word | Not) else f"not ({self.part})"


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: tuple["Filter", ...]

    def matches(self, known: Known) -> bool:
        return all(part.matches(known) for part in self.parts)

    def __str__(self) -> str:
        return " and ".join(
            f"({part})" if isinstance(part, All | Either) else str(part) for part in self.parts
        )


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part holds."""

    parts: tuple["Filter", ...]

    def matches(self, known: Known) -> bool:
        return any(part.matches(known) for part in self.parts)

    def __str__(self) -> str:
        return " or ".join(f"({part})" if isinstance(part, Either) else str(part) for part in self.parts)


Filter = Compare | Word | Not | All | Either


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a run stands in an order: what a page ended with, so that the next one begins behind it."""

    value: int | float | str | None
    """What it is sorted by; text without regard to case."""
    started_at: float | None
    run_id: str

    def is_after(self, other: "Place", *, reverse: bool) -> bool:
        """Tell whether this one comes later: large before small, A before B, what has no value last.

        `reverse` turns values around. Equal ones stand newest first in any case.
        """
        mine, others = _kind(self.value), _kind(other.value)
        if mine != others:
            return mine > others
        if isinstance(self.value, str) and isinstance(other.value, str):
            one, two = self.value.lower(), other.value.lower()
            return self._is_older(other) if one == two else (one > two) != reverse
        if isinstance(self.value, int | float) and isinstance(other.value, int | float):
            return (
                self._is_older(other) if self.value == other.value else (self.value < other.value) != reverse
            )
        return self._is_older(other)

    def _is_older(self, other: "Place") -> bool:
        if self.started_at == other.started_at:
            return self.run_id < other.run_id
        if self.started_at is None or other.started_at is None:
            return self.started_at is None
        return self.started_at < other.started_at


def _kind(value: object) -> int:
    return 0 if isinstance(value, int | float) else 1 if isinstance(value, str) else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Which runs, and in what order; `Place.is_after` defines it."""

    where: Filter | None = None
    sort: Field = STARTED
    reverse: bool = False
    limit: int | None = None
    after: Place | None = None
    """Only what comes behind this place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """Some runs as lists show them, in order."""

    runs: list[Run]
    next: Place | None
    """Where the next page begins; None on the last one."""
    total: int
    """How many runs match, on all pages together."""


@dataclass(frozen=True, slots=True)
class Facet:
    """One value of a field, and how many runs have it."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class Total:
    """How many runs have a number in a field, and what these come to."""

    count: int = 0
    total: float = 0.0
