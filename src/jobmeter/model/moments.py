"""Moments as run folders and JSON write them: ISO 8601 in UTC. What is no date is None, never a crash."""

from datetime import UTC, datetime

MILLISECONDS, MICROSECONDS = 3, 6
"""Digits of a second: what jobmeter writes, and what the stamps of other tools hold."""


def utc(seconds: float | None) -> datetime | None:
    """Turn seconds since the epoch into a date; None where they are unknown or no date."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None  # garbage in a file: the year 60,000, or not a number


def iso_time(seconds: float | None, digits: int = MILLISECONDS) -> str | None:
    """Write a wall clock as `2026-11-15T09:50:01.123Z`."""
    moment = None if seconds is None else utc(round(seconds, digits))
    if moment is None:
        return None
    timespec = "milliseconds" if digits == MILLISECONDS else "microseconds"
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")
