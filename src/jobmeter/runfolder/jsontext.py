"""Write JSON without importing `json`, whose decoder costs 8 ms that a recorder never needs."""

from _json import encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

quote = encode_basestring_ascii
"""Encode a string, quotes included."""


def dumps(value: object) -> str:
    """Encode plain values; a float that is not a number becomes null, for JSON has no word for it."""
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return mapping(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join([dumps(item) for item in value]) + "]"
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def mapping(value: "Mapping[str, object]") -> str:
    """Encode one object, key order kept."""
    pairs = [f"{quote(key)}: {item if type(item) is int else dumps(item)}" for key, item in value.items()]
    return "{" + ", ".join(pairs) + "}"


def _number(value: float) -> str:
    if value == 0:
        return "0"  # most deltas are
    if value - value != 0:
        return "null"  # not a number, or infinite
    return repr(round(value, 6))
