"""Numbers as tools print them for people: sizes, durations, moments. What is none comes out as None.

What misleads: `M` is 1,048,576 for schedulers and 1,000,000 for docker's network; `00:04.410` is four seconds,
not four minutes; a date without a zone is local time somewhere.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from jobmeter.probes import pstext

Number = int | float

_ABSENT = frozenset(
    ("", "-", "--", "n/a", "na", "nan", "none", "null", "(null)", "unknown", "invalid", "not supported", "?")
)
_DEPRECATED = "requested functionality has been deprecated"
_SIZE = re.compile(r"([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([kmgtpe]?)(i?)(?:b|bytes?)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
_SPANS = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|us|ns|d|h|m|s)")
_SPAN_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_EPOCH = re.compile(r"\d{9,10}(?:\.\d+)?|\d{13}|\d{16}|\d{19}")
_EPOCH_SCALES = {13: 1e3, 16: 1e6, 19: 1e9}
_LARGEST_WHOLE = 2**63


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time, and whether the text named its zone; where it did not, UTC is assumed."""

    seconds: float
    zoned: bool


def is_absent(text: str) -> bool:
    """Tell the many words for no value."""
    word = text.strip().lower()
    return word.strip("[]") in _ABSENT or word.startswith(("[", _DEPRECATED))


def number(text: str) -> Number | None:
    """Read a decimal number exactly: a whole one stays whole, an endless one is none."""
    word = text.strip()
    if word.lstrip("+-").isdecimal():
        whole = int(word)
        return whole if abs(whole) < _LARGEST_WHOLE else None
    try:
        found = float(word)
    except ValueError:
        return None
    # Python reads 1_000, no tool writes it
    return found if math.isfinite(found) and "_" not in word else None


def tidy(value: float, digits: int = 6) -> Number:
    """Write what is whole as a whole number, the rest without the dust of binary fractions."""
    rounded = round(value, digits)
    return int(rounded) if float(rounded).is_integer() else rounded


def percent(text: str) -> Number | None:
    """Read `84.0%` or `84.0`."""
    return None if is_absent(text) else number(text.strip().removesuffix("%"))


def size_bytes(text: str, *, bare: int = 1, thousand: int = 1024) -> int | None:
    """Read `13.1 MB`, `3840M`, `1.2GiB`; `bare` is worth of a number without unit, `thousand` of a plain k."""
    found = None if is_absent(text) else _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    digits, prefix, binary = found.groups()
    unitless = not prefix and not text.strip()[-1:].isalpha()
    value = number(digits)
    factor = bare if unitless else (1024 if binary else thousand) ** _POWERS[prefix.lower()]
    return None if value is None else round(value * factor)


def clock_seconds(text: str) -> Number | None:
    """Read `[D-][HH:]MM:SS[.mmm]`, as schedulers and `time` print durations."""
    found = pstext.parse_time(text.strip())
    return None if found is None else tidy(found)


def span_seconds(text: str) -> Number | None:
    """Read `1m 23s`, `219ms`, `2d 3h`."""
    word = text.strip()
    parts = _SPANS.findall(word)
    if not parts or _SPANS.sub("", word).strip():
        return None
    return tidy(math.fsum(float(count) * _SPAN_SECONDS[unit] for count, unit in parts), 9)


@lru_cache(maxsize=256)
def moment(text: str) -> Moment | None:
    """Read a date in one of the ways that leave no doubt: ISO, year first with slashes, epoch, `date`'s own."""
    word = text.strip()
    if is_absent(word):
        return None
    if _EPOCH.fullmatch(word):
        return Moment(float(word) / _EPOCH_SCALES.get(len(word.partition(".")[0]), 1), zoned=True)
    return _iso(word) or _spelled(word)


def _iso(word: str) -> Moment | None:
    if not word[:4].isdecimal():
        return None
    plain = word.replace("/", "-", 2).replace(",", ".")
    try:
        return at(datetime.fromisoformat(plain))
    except ValueError:
        return None


_ZONES = re.compile(r"\s(?:[A-Z]{3,5}|[+-]\d\d)(?=\s|$)")
_SPELLED = ("%a %b %d %H:%M:%S %Y", "%d %b %Y %H:%M:%S", "%a %b %d %I:%M:%S %p %Y", "%a %d %b %Y %H:%M:%S")


def _spelled(word: str) -> Moment | None:
    """Read what `date` prints; a zone is known by name only where it is UTC."""
    half = re.search(r"\s[AP]M\b", word)
    zone = None if half else _ZONES.search(word)
    shortened = word
    if half:
        rest = word[half.end() :]
        zone = _ZONES.search(rest)
        shortened = word[: half.end()] + _ZONES.sub("", rest)
    elif zone:
        shortened = _ZONES.sub("", word)
    for pattern in _SPELLED:
        try:
            found = datetime.strptime(shortened, pattern).replace(tzinfo=UTC)
        except ValueError:
            continue
        return Moment(found.timestamp(), zoned=zone is not None and zone.group().strip() in ("UTC", "GMT"))
    return None


def at(found: datetime) -> Moment:
    """Place a date on the time line; one without a zone is read as UTC."""
    zoned = found.tzinfo is not None
    return Moment((found if zoned else found.replace(tzinfo=UTC)).timestamp(), zoned=zoned)


_NUMERIC_DATE = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)")
_LAST_MONTH = 12


def is_day_first(dates: Iterable[str]) -> tuple[bool, bool]:
    """Say whether dates such as `04-03-2021` begin with the day, and whether that is certain.

    A number over 12 settles it. Otherwise a slash is read the American way, anything else as day and month.
    """
    slashed = True
    for date in dates:
        found = _NUMERIC_DATE.match(date.strip())
        if found is None:
            continue
        first, separator, second, _ = found.groups()
        slashed = separator == "/"
        if int(first) > _LAST_MONTH or int(second) > _LAST_MONTH:
            return int(first) > _LAST_MONTH, True
    return not slashed, False


def numeric_date(text: str, *, day_first: bool) -> datetime | None:
    """Read `04-03-2021` or `11/25/15`; the hour is midnight."""
    found = _NUMERIC_DATE.fullmatch(text.strip())
    if found is None:
        return None
    first, _, second, year = found.groups()
    day, month = (first, second) if day_first else (second, first)
    try:
        return datetime(int(year) + (2000 if len(year) == 2 else 0), int(month), int(day), tzinfo=UTC)
    except ValueError:
        return None


_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d+)?))?\s*([AaPp][Mm])?")
_NOON = 12


def seconds_of_day(text: str) -> float | None:
    """Read `09:30:56 PM` or `13:32:39` as seconds since midnight."""
    found = _TIME_OF_DAY.fullmatch(text.strip())
    if found is None:
        return None
    hours, minutes, seconds, half = found.groups()
    hour = int(hours) % _NOON + (_NOON if half[0] in "Pp" else 0) if half else int(hours)
    return hour * 3600 + int(minutes) * 60 + float(seconds or 0)
