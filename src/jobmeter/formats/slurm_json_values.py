"""Single values out of Slurm's JSON, whichever release wrapped them how."""

from collections.abc import Iterable

from jobmeter.formats import loose_json, quantity, slurm_keys


def mappings(value: object) -> list[dict[str, object]]:
    """Give the objects of a list."""
    return [loose_json.mapping(item) for item in value] if isinstance(value, list) else []


def number(value: object) -> quantity.Number | None:
    """Give a number; a wrapped one that is not set or infinite is none."""
    if isinstance(value, dict):
        if not value.get("set", True) or value.get("infinite"):
            return None
        value = value.get("number")
    found = loose_json.number(value)
    return None if found is None or slurm_keys.is_no_value(found) else found


def positive(value: object) -> quantity.Number | None:
    """Give a number over zero: 0 stands for never, none and no limit."""
    return number(value) or None


def word(value: object) -> str | None:
    """Give a text; of a list, its words joined (`CANCELLED`, `COMPLETING`)."""
    if isinstance(value, list):
        return "+".join(str(item) for item in value) or None
    return loose_json.text(value)


def seconds(value: object) -> quantity.Number | None:
    """Give CPU time told as seconds and microseconds, which may be over a million."""
    told = loose_json.mapping(value)
    whole, micro = number(told.get("seconds")), number(told.get("microseconds"))
    return None if whole is None else quantity.tidy(whole + (micro or 0) / 1e6)


def resource(value: object, kind: str, name: str = "") -> quantity.Number | None:
    """Find the count of one trackable resource in a list of them."""
    for item in mappings(value):
        if item.get("type") == kind and (not name or item.get("name") == name):
            return number(item.get("count"))
    return None


def total(values: Iterable[quantity.Number | None]) -> quantity.Number | None:
    """Add what is known."""
    known = [value for value in values if value is not None]
    return quantity.tidy(sum(known)) if known else None
