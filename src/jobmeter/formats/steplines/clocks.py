"""The clock at the head of a log line, where it is a whole one: a date with its year, and a time.

`04/25 19:16:50`, `W0519 07:53:44`, `09:30:56 PM` are no moments, because no year or no day stands there. Most
clocks name no zone: where the line's arrival is known the zone follows from it, else UTC is assumed.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from jobmeter.formats.steplines import shapes

_LOOKED_AT = 100
_TIME = r"(?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?"
_ZONE = r"\s?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?(?![\w:])"
_YEAR_FIRST = re.compile(
    rf"(?<!\d)(?P<year>(?:19|20)\d{{2}})(?P<mark>[-/.])(?P<month>\d{{2}})(?P=mark)(?P<day>\d{{2}})[T ]\s?{_TIME}{_ZONE}"
)
_YEAR_LAST = re.compile(
    r"(?<!\d)(?P<month>\d{2})(?P<mark>[-/.])(?P<day>\d{2})(?P=mark)(?P<year>(?:19|20)\d{2}),?[T ]\s?"
    rf"{_TIME}{_ZONE}"
)
_CTIME = re.compile(
    r"(?<!\w)[^\W\d_]{2,4}\.? (?P<name>[^\W\d_]{3,4})\.? {1,2}(?P<day>\d{1,2}) "
    rf"{_TIME}(?: (?P<zone>UTC|GMT|Z))? "
    r"(?P<year>(?:19|20)\d{2})(?!\d)"
)
_HAS_TIME = re.compile(r":\d{2}:\d{2}")
_EPOCH = re.compile(r"\s*\[?(?P<epoch>1\d{9}(?:\.\d{1,9})?)\]?(?=[\s:,|])")
_ANY_EPOCH = re.compile(_EPOCH.pattern.replace("1", r"\d", 1))
_ANY_YEAR = tuple(
    re.compile(pattern.pattern.replace("(?:19|20)", r"\d\d")) for pattern in (_YEAR_FIRST, _YEAR_LAST, _CTIME)
)
"""The same of lines in which a zero stands for every digit."""
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan",
            "feb",
            "mar mär mrz",
            "apr",
            "may mai",
            "jun",
            "jul",
            "aug",
            "sep",
            "oct okt",
            "nov",
            "dec dez",
        ),
        start=1,
    )
    for name in names.split()
}
_DECEMBER, _HOURS, _SIXTY = 12, 24, 60
_QUARTER_HOUR = 900.0
_AHEAD_SECONDS = 2.0
_DAY_SECONDS = 86_400.0
_FARTHEST_ZONE = 14 * 3600.0


def read(text: str) -> tuple[float, bool] | None:
    """Read a line's moment as seconds since the epoch, and whether it said its zone."""
    head = text[:_LOOKED_AT]
    if not _may_tell(shapes.zeroed_bytes(head)):
        return None
    found = _EPOCH.match(head)
    if found is not None:
        return float(found["epoch"]), True
    for pattern in (_YEAR_FIRST, _YEAR_LAST, _CTIME):
        found = pattern.search(head)
        if found is not None:
            return _moment(found)
    return None


@lru_cache(maxsize=shapes.MOST)
def _may_tell(shape: bytes) -> bool:
    """Tell whether lines may say a moment whose heads have this shape."""
    head = shape.decode("utf-8", "surrogatepass")
    return bool(_ANY_EPOCH.match(head)) or bool(
        _HAS_TIME.search(head) and any(pattern.search(head) for pattern in _ANY_YEAR)
    )


def _moment(found: re.Match[str]) -> tuple[float, bool] | None:
    parts = found.groupdict()
    month, day = int(parts.get("month") or 0), int(parts["day"])
    if "name" in parts:
        month = _MONTHS.get(parts["name"][:3].lower(), 0)
    if month > _DECEMBER:
        month, day = day, month  # 17/06/2025: the day came first
    hour, minute, second = int(parts["hour"]), int(parts["minute"]), int(parts["second"])
    midnight = _midnight(int(parts["year"]), month, day, parts["zone"])
    if midnight is None or hour >= _HOURS or minute >= _SIXTY or second >= _SIXTY:
        return None  # digits in the shape of a date
    fraction = parts["fraction"]
    moment = midnight + (hour * _SIXTY + minute) * _SIXTY + second
    return moment + (float(f"0.{fraction}") if fraction else 0.0), bool(parts["zone"])


@lru_cache(maxsize=shapes.MOST)
def _midnight(year: int, month: int, day: int, zone: str | None) -> float | None:
    """Say when a day began; None where there is no such day."""
    try:
        return datetime(year, month, day, tzinfo=_zone(zone)).timestamp()
    except ValueError:
        return None


def _zone(name: str | None) -> timezone:
    if name is None or name in ("Z", "UTC", "GMT"):
        return UTC
    hours, minutes = int(name[1:3]), int(name[-2:])
    away = timedelta(hours=hours, minutes=minutes)
    return timezone(-away if name[0] == "-" else away) if away < timedelta(hours=24) else UTC


def zone_seconds(read_as_utc: float, arrived_at: float, known: float | None) -> float:
    """Say how far ahead of UTC a clock is, from when its line arrived.

    Output that was buffered arrives late, so what an earlier line showed stays true while it can be.
    """
    if known is not None and -_AHEAD_SECONDS <= arrived_at - (read_as_utc - known) <= _DAY_SECONDS:
        return known
    ahead = read_as_utc - arrived_at
    # the smallest quarter of an hour that does not put the line after its own arrival
    zone = -((-(ahead - _AHEAD_SECONDS)) // _QUARTER_HOUR) * _QUARTER_HOUR
    return zone if abs(zone) <= _FARTHEST_ZONE else 0.0
