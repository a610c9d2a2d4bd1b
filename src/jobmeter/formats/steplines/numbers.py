"""Numbers and `name: value` pairs out of text, as training tools print them.

A unit glued to a value goes into the name (`time 263.68ms` is `time_ms`), so that the number stays the one
that was printed. A time that is `nan` was not measured, whatever the tool printed; a loss that is `nan` is one.
"""

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from jobmeter.formats.steplines import shapes
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
_MOST_DIGITS = 300
_SPELLED = re.compile(NUMBER, re.IGNORECASE)
_FRACTION = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=e))(?:e[-+]?[0-9]+)?", re.IGNORECASE)
LONGEST = 4_000
"""Nobody prints that many metrics; longer texts cost more than they hold."""
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

PAIR = re.compile(
    rf"(?<![\w./])(?P<name>[A-Za-z_@][\w@./-]*(?:[ ][A-Za-z_@(][\w@./()-]*){{0,3}})\s*[:=]\s*"
    rf"(?P<value>{NUMBER})\s?(?P<unit>{UNIT})?(?![\w.]*[\w]|[,:]\d)",
    re.IGNORECASE,
)


Spelled = tuple[str, int, int, Callable[[str], "Number | None"]]
"""A metric's name, where its value stands, and what reads a value that is written so."""


def number(text: object) -> Number | None:
    """Read a number; whole ones stay whole, and what is none is None."""
    if isinstance(text, str):
        return _spelled(text.strip())
    if isinstance(text, bool):
        return None
    return text if isinstance(text, int | float) else None


def _spelled(word: str) -> Number | None:
    if "." in word and "," not in word and "_" not in word:
        try:
            return float(word)
        except ValueError:
            return None
    digits = word[1:] if word.startswith(("-", "+")) else word
    if digits.isdecimal() and len(digits) <= _MOST_DIGITS:
        return int(word)
    if "," in word and _SPELLED.fullmatch(word):
        return _spelled(word.replace(",", ""))
    if "_" in word:
        return None  # Python's own way to part digits; nobody prints it
    try:
        return float(word)
    except ValueError:
        return None


def whole(text: object) -> int | None:
    """Read a whole number, also one written with thousands separators or a decimal point."""
    if isinstance(text, str) and text.isdecimal() and len(text) <= _MOST_DIGITS:
        return int(text)
    given = number(text.replace(",", "") if isinstance(text, str) else text)
    if given is None or not math.isfinite(given) or given != int(given):
        return None
    return int(given)


def scaled(text: str) -> int | None:
    """Read a count as bars shorten it: `1.02k`, `170M`."""
    if text.isdecimal():
        return int(text)
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
    return matched(PAIR, text[:LONGEST])


def matched(pattern: re.Pattern[str], text: str) -> dict[str, Number]:
    """Read all that a pattern finds: groups `name` and `value`, and `unit` where it has one."""
    found, is_certain = _found(pattern, shapes.of(text))
    return values(text, found if is_certain else _found.__wrapped__(pattern, text)[0])


def values(text: str, places: Iterable[Spelled]) -> dict[str, Number]:
    """Read the values that stand in a text."""
    found: dict[str, Number] = {}
    for name, start, stop, read in places:
        value = read(text[start:stop])
        if value is not None:
            found[name] = value
    return found


def reader_of(shape: str) -> Callable[[str], Number | None]:
    """Choose what reads all numbers that are written in one way, the quickest first."""
    word = shape.strip()
    if word.isascii() and word.removeprefix("-").isdecimal() and len(word) <= _MOST_DIGITS:
        return int
    return float if _FRACTION.fullmatch(word) else number


@lru_cache(maxsize=shapes.MOST)
def _found(pattern: re.Pattern[str], shape: str) -> tuple[tuple[Spelled, ...], bool]:
    """Find the names that a pattern matches, and where their values stand; whether that holds for all of a shape."""
    matches = list(pattern.finditer(shape))
    has_unit = "unit" in pattern.groupindex
    places: list[Spelled] = []
    for match in matches:
        name = with_unit(match["name"].strip(), match["unit"] if has_unit else None)
        value = number(match["value"])
        if value is not None and not is_unmeasured(name, value):
            places.append((name, *match.span("value"), reader_of(match["value"])))
    return tuple(places), all(shapes.is_name(shape, match.span("name")) for match in matches)


def numeric(items: Iterable[tuple[object, object]]) -> dict[str, Number]:
    """Keep what is a number, or a text that is one, under its name."""
    found: dict[str, Number] = {}
    for name, given in items:
        value = number(given)
        if value is not None:
            found[str(name)] = value
    return found
