"""Moments in local time, as people read a clock; `?` is garbage in a run folder that is no date at all."""

import time

UNKNOWN = "?"


def whole(seconds: float) -> str:
    """Write date and time to the second."""
    moment = _local(seconds)
    return UNKNOWN if moment is None else time.strftime("%Y-%m-%d %H:%M:%S", moment)


def short(seconds: float, now: float) -> str:
    """Write a moment as `ls -l` does: the hour if it is of this year, else the year."""
    moment = _local(seconds)
    if moment is None:
        return UNKNOWN
    same_year = moment.tm_year == time.localtime(now).tm_year
    return time.strftime("%m-%d %H:%M" if same_year else "%Y-%m-%d", moment)


def _local(seconds: float) -> time.struct_time | None:
    try:
        return time.localtime(seconds)
    except (OverflowError, OSError, ValueError):
        return None
