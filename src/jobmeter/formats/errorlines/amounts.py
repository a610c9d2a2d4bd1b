"""Amounts as error messages write them, in base units."""

import re

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
SIZE = r"(?P<{0}>\d+(?:\.\d+)?)\s*(?P<{0}_unit>bytes|[KMGTPkmgtp]?i?[Bb]?)(?![A-Za-z])"
"""A size under a name: format it with one."""


def sized(found: "re.Match[str]", name: str) -> int | None:
    """Read the size a pattern holds under a name; None where that part is missing."""
    number, unit = found[name], found[f"{name}_unit"]
    if number is None:
        return None
    prefix = "" if unit == "bytes" else (unit or "")[:1].lower().replace("b", "")
    return round(float(number) * _UNITS[prefix])


def kilobytes(text: str) -> int:
    """Read the kernel's `9234320kB`."""
    return int(text) << 10


def seconds(text: str, *, milli: bool) -> float:
    """Read a span, given in milliseconds or seconds."""
    return float(text) / 1e3 if milli else float(text)
