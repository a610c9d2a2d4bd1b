"""One comparison of a filter: a field, an operator and a value read as the field's type demands."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import isnan
from typing import assert_never

from jobmeter.errors import UsageError
from jobmeter.model.run import Status
from jobmeter.model.steps import as_json
from jobmeter.service import fields, quantities
from jobmeter.service.fields import Type
from jobmeter.service.quantities import Dimension, Moment

KEYWORDS = frozenset(("and", "or", "not"))
_WORD = re.compile(r"""[^\s()=<>!~"']+""")


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


_ORDERS = (Op.LT, Op.LE, Op.GT, Op.GE)


def quote(text: str) -> str:
    """Write a word so that `parse` reads it back as it is."""
    if _WORD.fullmatch(text) and text.lower() not in KEYWORDS:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class Compare:
    """`field op value`; `span` is the value as a number or a stretch of time, where it is one."""

    field: str
    op: Op
    text: str
    span: Moment | None = None
    percent_of: str | None = None
    """The field that is 100 %, where the value was a percentage of another field."""

    def matches(self, known: Mapping[str, object]) -> bool:
        found = fields.look_up(known, self.field)
        if found is None:
            return False
        if isinstance(found, list):
            # a run of several ranks: one of them is enough, but all must be different
            one = all if self.op in (Op.NE, Op.HAS_NOT) else any
            return one(self._matches_one(value, known) for value in found)
        return self._matches_one(found, known)

    def _matches_one(self, found: object, known: Mapping[str, object]) -> bool:
        if isinstance(found, int | float):
            return self._matches_number(found, known)
        return self._matches_text(str(found))

    def _matches_number(self, found: float, known: Mapping[str, object]) -> bool:
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
                number = _number(found)
                return number is not None and self.span is not None and _holds(number, self.op, self.span)

    def __str__(self) -> str:
        return f"{quote(self.field)}{self.op.value}{quote(self.text)}"


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
        case Op.GE:
            return found >= span.first
        case Op.HAS | Op.HAS_NOT:
            return False


_UNITS: dict[Type, tuple[Dimension, str]] = {
    Type.BYTES: (Dimension.BYTES, "4GiB"),
    Type.SECONDS: (Dimension.SECONDS, "90s"),
    Type.NUMBER: (Dimension.NUMBER, "3"),
}


def compare(field: str, op: Op, text: str, *, now: float) -> Compare:
    """Build `field op text`, with the text read as the field's type demands."""
    field = fields.normal(field)
    kind = fields.type_of(field)
    match kind:
        case None:
            raise UsageError(f"unknown field {field}", hint=fields.nearest(field))
        case Type.TEXT:
            return _text_comparison(field, op, text)
        case Type.MOMENT:
            moment = quantities.parse_moment(text, now=now)
            if moment is None or op in (Op.HAS, Op.HAS_NOT):
                raise UsageError(
                    f"{field} is a time",
                    hint=f"compare it with a date or an age: {field}>2026-11-01, {field}>-7d",
                )
            return Compare(field, op, text, moment)
        case Type.BYTES | Type.SECONDS | Type.NUMBER:
            return _number_comparison(field, op, text, kind)
        case Type.ANY:
            return _any_comparison(field, op, text)
        case Type.METRIC:
            return _metric_comparison(field, op, text)
        case _:
            assert_never(kind)


def _text_comparison(field: str, op: Op, text: str) -> Compare:
    if op in _ORDERS:
        raise UsageError(f"{field} is text and has no order", hint="compare text with = != ~ or !~")
    if op in (Op.HAS, Op.HAS_NOT):
        return Compare(field, op, text)
    if field == "status" and text.lower() not in {status.value for status in Status}:
        raise UsageError(
            f"unknown status {text}", hint=f"use one of {', '.join(status.value for status in Status)}"
        )
    if field == "status":
        return Compare(field, op, text.lower())
    if field == "signal":
        return Compare(field, op, f"SIG{text.upper().removeprefix('SIG')}")
    return Compare(field, op, text)


def _number_comparison(field: str, op: Op, text: str, kind: Type) -> Compare:
    dimension, example = _UNITS[kind]
    quantity = quantities.parse_quantity(text)
    if quantity is None or op in (Op.HAS, Op.HAS_NOT):
        raise UsageError(f"{field} is {kind.value}", hint=f"compare it with a number: {field}>{example}")
    span = Moment(quantity.value, quantity.value)
    if quantity.dimension is Dimension.PERCENT and field in fields.PERCENT_OF:
        return Compare(field, op, text, span, fields.PERCENT_OF[field])
    if quantity.dimension not in (dimension, Dimension.NUMBER):
        raise UsageError(
            f"{field} is {kind.value}, {text} is {quantity.dimension.value}", hint=f"write {field}>{example}"
        )
    return Compare(field, op, text, span)


def _any_comparison(field: str, op: Op, text: str) -> Compare:
    quantity = quantities.parse_quantity(text)
    if quantity is None and op in _ORDERS:
        raise UsageError(
            f"{text} is no number, and only numbers have an order", hint="compare words with = != ~ or !~"
        )
    return Compare(field, op, text, Moment(quantity.value, quantity.value) if quantity else None)


def _metric_comparison(field: str, op: Op, text: str) -> Compare:
    """Compare what a training logged: a number, or the words JSON has for what is not finite."""
    if op in (Op.HAS, Op.HAS_NOT):
        return Compare(field, op, text)
    quantity = quantities.parse_quantity(text)
    if quantity is not None:
        # a metric named in milliseconds or MiB is compared in them; `4GiB` says its unit itself
        unit = 1.0 if quantity.dimension in (Dimension.NUMBER, Dimension.PERCENT) else fields.unit_of(field)
        return Compare(field, op, text, Moment(quantity.value / unit, quantity.value / unit))
    number = _number(text)
    if number is None:
        raise UsageError(f"{field} is a number", hint=f"compare it with one: {field}>3, {field}=NaN")
    if isnan(number) and op in _ORDERS:
        raise UsageError("NaN is neither above nor below anything", hint=f"write {field}=NaN")
    return Compare(field, op, str(as_json(number)), None if isnan(number) else Moment(number, number))


def _number(text: str) -> float | None:
    """Read a number, one that is not finite by its word."""
    quantity = quantities.parse_quantity(text)
    if quantity is not None:
        return quantity.value
    if text.lower().lstrip("+-") not in ("inf", "infinity", "nan"):
        return None
    return float(text)
