"""How the stamps of one file are read: the same way for all its rows, told by its first ones.

A date such as `04-03-2021` is two dates, a stamp without a zone is local time somewhere, a time without a date
stands in 1970: the notes say which of these a file has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from jobmeter.formats import monitorlog, quantity

_LOOKED_AT = 50
_LATE_BEGINNING = 3600
ELAPSED = "the file counts seconds from its beginning and names no date"
NO_DATE = "the file has times without dates: 1970 stands in"
NO_SECONDS = "stamps have no seconds: samples of one minute share a time"


@dataclass(frozen=True, slots=True)
class Clock:
    """A way to read stamps."""

    known: bool
    day_first: bool | None = None
    """Set where dates are numbers whose order had to be told."""
    dated: bool = True
    elapsed: bool = False
    """Stamps are seconds since the log began."""
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> dict[str, str]:
        """Say why the run has no start."""
        if self.known and self.dated:
            return {}
        if self.elapsed:
            return {"started_at": ELAPSED}
        return {"started_at": NO_DATE if self.known else monitorlog.NO_CLOCK}

    @classmethod
    def of(cls, stamps: Sequence[str]) -> "Clock":
        """Look at the first stamps."""
        found = [quantity.moment(stamp) for stamp in stamps[:_LOOKED_AT]]
        if any(found):
            zoned = all(moment.zoned for moment in found if moment is not None)
            return cls(known=True, notes=_notes("" if zoned else monitorlog.NO_ZONE, stamps))
        day_first, certain = quantity.is_day_first(stamps)
        if any(_numeric(stamp, day_first=day_first) is not None for stamp in stamps[:_LOOKED_AT]):
            order = "day, month" if day_first else "month, day"
            doubt = f"{stamps[0].strip().split(' ')[0]} may be two dates: read as {order}; "
            note = monitorlog.NO_ZONE if certain else doubt + "no time zone: read as UTC"
            return cls(known=True, day_first=day_first, notes=_notes(note, stamps))
        if _is_elapsed(stamps[:_LOOKED_AT]):
            return cls(known=True, dated=False, elapsed=True)
        timed = any(quantity.seconds_of_day(stamp) is not None for stamp in stamps[:_LOOKED_AT])
        return cls(known=timed, dated=False)

    def seconds(self, stamp: str) -> float | None:
        """Read one stamp; None where it is none."""
        if self.day_first is not None:
            return _numeric(stamp, day_first=self.day_first)
        if self.elapsed:
            return quantity.number(stamp)
        if not self.dated:
            return quantity.seconds_of_day(stamp)
        found = quantity.moment(stamp)
        return None if found is None else found.seconds


def _is_elapsed(stamps: Sequence[str]) -> bool:
    """Tell numbers that begin low and never go back."""
    numbers = [quantity.number(stamp) for stamp in stamps]
    known = [number for number in numbers if number is not None]
    if not known or len(known) < len(numbers) or known[-1] <= known[0]:
        return False
    return 0 <= known[0] <= _LATE_BEGINNING and all(before <= after for before, after in pairwise(known))


def _notes(note: str, stamps: Sequence[str]) -> dict[str, str]:
    notes = {"started_at": note} if note else {}
    if all(stamp.count(":") == 1 for stamp in stamps[:_LOOKED_AT]):
        notes["timestamps"] = NO_SECONDS
    return notes


def _numeric(stamp: str, *, day_first: bool) -> float | None:
    date, _, time = stamp.strip().replace(",", " ").replace("T", " ").partition(" ")
    midnight = quantity.numeric_date(date, day_first=day_first)
    seconds = quantity.seconds_of_day(time)
    return None if midnight is None or seconds is None else midnight.timestamp() + seconds
