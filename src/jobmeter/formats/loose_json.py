"""Values out of JSON that others wrote: each comes out as what was asked for, or as None.

The standard library's parser is used on purpose: foreign files hold lone surrogates and NaN, which strict
parsers refuse and which must not cost the rest of a line.
"""

import json
import math

_LARGEST_WHOLE = 2**63
_MOST_DIGITS = 300
"""A float holds an integer of so many."""


def _sane_whole(digits: str) -> int | float:
    """Give an integer; one of hundreds of digits, which no float holds, is infinite."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


DECODER = json.JSONDecoder(parse_int=_sane_whole)
"""Raises ValueError for what is no JSON, and RecursionError for what is nested without end."""


def parse(text: str) -> object:
    """Parse any JSON; what is none, or is nested without end, is a `ValueError`."""
    try:
        return DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_object(text: str | bytes) -> dict[str, object] | None:
    """Parse one JSON object; None where the text is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def number(value: object) -> int | float | None:
    """Give a finite number; a truth value is none."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < _LARGEST_WHOLE else None


def whole(value: object) -> int | None:
    """Give a number as an integer, as con-duct's draft wrote bytes with a decimal point."""
    given = number(value)
    return None if given is None else round(given)


def text(value: object) -> str | None:
    """Give a text that is not empty, fit for UTF-8; an argument that was not is shown escaped."""
    if not isinstance(value, str) or not value:
        return None
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def mapping(value: object) -> dict[str, object]:
    """Give a mapping, empty where there is none."""
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}
