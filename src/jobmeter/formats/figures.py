"""Numbers and moments as training tools write them into JSON, CSV and SQLite: kept as they are, or None.

What misleads: a number may be a text (`"0.5"`), NaN may be a word, a truth value is an `int` to Python, and a
moment comes as seconds, as milliseconds or as a date with or without a zone (without one it is taken as UTC).
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_FRACTION = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_ENDLESS = re.compile(r"[+-]?(?:nan|inf|infinity)", re.ASCII | re.IGNORECASE)

_EARLIEST_SECONDS, _LATEST_SECONDS = 5e8, 5e9
"""1985 to 2128: a number outside is a duration or a counter, not a date."""
_MILLISECONDS = 1000


def figure(value: object) -> int | float | None:
    """Give a number of any size, NaN and infinities included; texts that spell one count."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    return _spelled(value.strip()) if isinstance(value, str) else None


def _spelled(word: str) -> int | float | None:
    if _WHOLE.fullmatch(word):
        try:
            return int(word)
        except ValueError:
            return None  # thousands of digits: Python refuses, and no metric has them
    if _FRACTION.fullmatch(word) or _ENDLESS.fullmatch(word):
        return float(word)
    return None


def whole(value: object) -> int | None:
    """Give a whole number, also one written with a decimal point; None for 0.5 and NaN."""
    found = figure(value)
    if isinstance(found, int):
        return found
    return int(found) if found is not None and found.is_integer() else None


def metrics(record: Mapping[str, object], *, without: frozenset[str] = frozenset()) -> dict[str, int | float]:
    """Pick what is a number out of a record, by the names it has there."""
    found = ((name, figure(value)) for name, value in record.items() if name not in without)
    return {name: value for name, value in found if value is not None}


def moment(value: object) -> float | None:
    """Give a date as seconds since the epoch; None for what is no date, a duration for instance."""
    found = figure(value)
    if found is not None:
        return _epoch(found)
    if not isinstance(value, str):
        return None
    try:
        date = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _epoch(number: float) -> float | None:
    for scale in (1, _MILLISECONDS):
        if _EARLIEST_SECONDS * scale <= number <= _LATEST_SECONDS * scale:
            return number / scale
    return None
