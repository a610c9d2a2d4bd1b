"""Amounts as people type them: `4GiB`, `500MB`, `90s`, `2h`, `50%`, `2026-11-01`, `-7d`.

What can mislead: `MB` is 10^6 and `MiB` is 2^20 as the standards say, but a bare `M` is 2^20, as in
`--mem=500M`. A bare `m` is minutes. A date without a zone is local time, as `ls` shows it.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from math import isfinite


class Dimension(Enum):
    """What an amount counts; the value is how a person would call it."""

    BYTES = "a size"
    SECONDS = "a span of time"
    PERCENT = "a percentage"
    NUMBER = "a plain number"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount in base units."""

    value: float
    dimension: Dimension


@dataclass(frozen=True, slots=True)
class Moment:
    """What a date covers, in seconds since the epoch, both ends included: a day, a minute, an instant."""

    first: float
    last: float


SPANS = {
    "us": 1e-6, "µs": 1e-6, "ms": 1e-3,
    "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0,
}  # fmt: skip

SIZES = {"b": 1} | {
    f"{prefix}{tail}": base ** (power + 1)
    for power, prefix in enumerate("kmgtpe")
    for tail, base in (("", 1024), ("ib", 1024), ("b", 1000))
    if prefix + tail != "m"  # minutes: `m` of memory is written `M`
}

_NUMBER = re.compile(r"([+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|[+-]?\.[0-9]+)\s*([A-Za-zµ%]*)")
_TICK_SECONDS = 1e-6


def parse_quantity(text: str) -> Quantity | None:
    """Read a number with an optional unit; None where it is not one."""
    match = _NUMBER.fullmatch(text.strip())
    found = None if match is None else _scaled(float(match[1]), match[2])
    return found if found is not None and isfinite(found.value) else None


def _scaled(number: float, unit: str) -> Quantity | None:
    if unit == "":
        return Quantity(number, Dimension.NUMBER)
    if unit == "%":
        return Quantity(number, Dimension.PERCENT)
    if unit in SPANS:
        return Quantity(number * SPANS[unit], Dimension.SECONDS)
    if unit == "M":
        return Quantity(number * 1024**2, Dimension.BYTES)
    if unit.lower() in SIZES:
        return Quantity(number * SIZES[unit.lower()], Dimension.BYTES)
    return None


def parse_moment(text: str, *, now: float) -> Moment | None:
    """Read a date, a date with a time, or a span before now (`-7d`); None where it is none of them."""
    quantity = parse_quantity(text)
    if quantity is not None and quantity.dimension is Dimension.SECONDS and quantity.value <= 0:
        return Moment(now + quantity.value, now + quantity.value)
    if re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is None:
        return None
    try:
        first = datetime.fromisoformat(text)
        last = first + _resolution(text) - timedelta(seconds=_TICK_SECONDS)
        return Moment(first.timestamp(), max(first, last).timestamp())
    except (ValueError, OverflowError):
        return None


def _resolution(text: str) -> timedelta:
    """Say how long the named moment lasts: `2026-11-01` is a day, `2026-11-01T12:30` a minute."""
    if len(text) == len("2026-11-01"):
        return timedelta(days=1)
    seconds_named = text.count(":", 0, len("2026-11-01T12:30:00")) >= 2
    return timedelta(seconds=_TICK_SECONDS) if seconds_named else timedelta(minutes=1)
