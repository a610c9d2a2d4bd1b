"""Numbers and `name: value` pairs out of text, as training tools print them.

A unit glued to a value goes into the name (`time 263.68ms` is `time_ms`), so that the number stays the one
that was printed. A time that is `nan` was not measured, whatever the tool printed; a loss that is `nan` is one.
"""

import math
import re
from collections.abc import Iterable

from jobmeter.formats.steplines.row import Number

NUMBER = (
    r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?"
    r"|(?:nan|inf(?:inity)?)(?![A-Za-z]))"
)
UNIT = (
    r"(?:%|[mu]?s/(?:it|step|iter|batch|img|token)\b"
    r"|(?:it|iter|steps?|samples?|tok(?:ens?)?|imgs?|images?)/s(?:ec)?\b|ms\b|us\b|s\b|sec\b|[GM]i?B?\b)"
)
_SUFFIX = {"%": "_percent", "s": "_s", "sec": "_s", "ms": "_ms", "us": "_us"}
_SPEEDS = frozenset(("throughput", "speed", "rate", "perf", "ips"))
_WHOLE = re.compile(r"[-+]?\d{1,300}")
_FLOAT_TEXT = re.compile(NUMBER, re.IGNORECASE)
_LONGEST = 4_000
"""Nobody prints that many metrics; longer texts cost more than they hold."""
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

_PAIR = re.compile(
    rf"(?<![\w./])(?P<name>[A-Za-z_@][\w@./-]*(?:[ ][A-Za-z_@(][\w@./()-]*){{0,3}})\s*[:=]\s*"
    rf"(?P<value>{NUMBER})\s?(?P<unit>{UNIT})?(?![\w.]*[\w]|,\d)",
    re.IGNORECASE,
)


def number(text: object) -> Number | None:
    """Read a number; whole ones stay whole, and what is none is None."""
    if isinstance(text, bool):
        return None
    if isinstance(text, int | float):
        return text
    if not isinstance(text, str):
        return None
    word = text.strip()
    if "," in word and _FLOAT_TEXT.fullmatch(word):
        word = word.replace(",", "")
    if _WHOLE.fullmatch(word):
        return int(word)
    return float(word) if _FLOAT_TEXT.fullmatch(word) else None


def whole(text: object) -> int | None:
    """Read a whole number, also one written with thousands separators or a decimal point."""
    given = number(text.replace(",", "") if isinstance(text, str) else text)
    if given is None or not math.isfinite(given) or given != int(given):
        return None
    return int(given)


def scaled(text: str) -> int | None:
    """Read a count as bars shorten it: `1.02k`, `170M`."""
    factor = _SCALES.get(text[-1:])
    given = number(text[:-1] if factor else text)
    if given is None or not math.isfinite(given):
        return None
    return round(given * (factor or 1))


def with_unit(name: str, unit: str | None) -> str:
    """Say a value's unit in its name."""
    if not unit:
        return name
    if "/" in unit and name.lower().split()[-1] in _SPEEDS:
        return unit
    return name + _SUFFIX.get(unit, f"_{unit}")


def is_unmeasured(name: str, value: Number) -> bool:
    """Tell a duration that is no number: nothing was measured yet."""
    return math.isnan(value) and name.endswith(("_ms", "_s", "_us", "_percent"))


def pairs(text: str) -> dict[str, Number]:
    """Find every `name: value` and `name=value`; of a name given twice the last one counts."""
    found: dict[str, Number] = {}
    for match in _PAIR.finditer(text[:_LONGEST]):
        value = number(match["value"])
        name = with_unit(match["name"].strip(), match["unit"])
        if value is not None and not is_unmeasured(name, value):
            found[name] = value
    return found


def numeric(items: Iterable[tuple[object, object]]) -> dict[str, Number]:
    """Keep what is a number, or a text that is one, under its name."""
    found: dict[str, Number] = {}
    for name, given in items:
        value = number(given)
        if value is not None:
            found[str(name)] = value
    return found
