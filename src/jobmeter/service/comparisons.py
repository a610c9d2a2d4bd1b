"""One comparison of a filter: a field, an operator and a value read as the field's type demands."""

from math import isnan
from typing import assert_never

from jobmeter.errors import UsageError
from jobmeter.model import quantities, query
from jobmeter.model.quantities import Dimension, Moment
from jobmeter.model.query import Compare, Op
from jobmeter.model.run import Status
from jobmeter.model.steps import as_json
from jobmeter.service import fields
from jobmeter.service.fields import Type

_ORDERS = (Op.LT, Op.LE, Op.GT, Op.GE)


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
            return Compare(fields.ref(field), op, text, moment)
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
        return Compare(fields.ref(field), op, text)
    if field == "status" and text.lower() not in {status.value for status in Status}:
        raise UsageError(
            f"unknown status {text}", hint=f"use one of {', '.join(status.value for status in Status)}"
        )
    if field == "status":
        return Compare(fields.ref(field), op, text.lower())
    if field == "signal":
        return Compare(fields.ref(field), op, f"SIG{text.upper().removeprefix('SIG')}")
    return Compare(fields.ref(field), op, text)


def _number_comparison(field: str, op: Op, text: str, kind: Type) -> Compare:
    dimension, example = _UNITS[kind]
    quantity = quantities.parse_quantity(text)
    if quantity is None or op in (Op.HAS, Op.HAS_NOT):
        raise UsageError(f"{field} is {kind.value}", hint=f"compare it with a number: {field}>{example}")
    span = Moment(quantity.value, quantity.value)
    if quantity.dimension is Dimension.PERCENT and field in fields.PERCENT_OF:
        return Compare(fields.ref(field), op, text, span, fields.PERCENT_OF[field])
    if quantity.dimension not in (dimension, Dimension.NUMBER):
        raise UsageError(
            f"{field} is {kind.value}, {text} is {quantity.dimension.value}", hint=f"write {field}>{example}"
        )
    return Compare(fields.ref(field), op, text, span)


def _any_comparison(field: str, op: Op, text: str) -> Compare:
    quantity = quantities.parse_quantity(text)
    if quantity is None and op in _ORDERS:
        raise UsageError(
            f"{text} is no number, and only numbers have an order", hint="compare words with = != ~ or !~"
        )
    return Compare(fields.ref(field), op, text, Moment(quantity.value, quantity.value) if quantity else None)


def _metric_comparison(field: str, op: Op, text: str) -> Compare:
    """Compare what a training logged: a number, or the words JSON has for what is not finite."""
    if op in (Op.HAS, Op.HAS_NOT):
        return Compare(fields.ref(field), op, text)
    quantity = quantities.parse_quantity(text)
    if quantity is not None:
        # a metric named in milliseconds or MiB is compared in them; `4GiB` says its unit itself
        unit = 1.0 if quantity.dimension in (Dimension.NUMBER, Dimension.PERCENT) else fields.unit_of(field)
        return Compare(fields.ref(field), op, text, Moment(quantity.value / unit, quantity.value / unit))
    number = query.number_in(text)
    if number is None:
        raise UsageError(f"{field} is a number", hint=f"compare it with one: {field}>3, {field}=NaN")
    if isnan(number) and op in _ORDERS:
        raise UsageError("NaN is neither above nor below anything", hint=f"write {field}=NaN")
    return Compare(
        fields.ref(field), op, str(as_json(number)), None if isnan(number) else Moment(number, number)
    )
