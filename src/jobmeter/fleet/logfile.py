"""A rank's log, read as it grows: the line parsers of `formats.steplines` find the steps in it.

A line that was there at the first look came at a time nobody knows; later ones came between two looks.
"""

from bisect import bisect_left
from dataclasses import dataclass

from jobmeter.fleet.tail import LOG_PIECE, Found, Got, Tail, Wanted
from jobmeter.fleet.told import Told
from jobmeter.formats.steplines import LogReader
from jobmeter.model.view import Event

_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class LogLook:
    """What one look at a log gave."""

    present: bool
    new: tuple[Told, ...] = ()
    events: tuple[Event, ...] = ()
    problem: str = ""
    more: bool = False


class LogFile:
    """Reads the log of one rank."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._tail = Tail(paths, LOG_PIECE)
        self._reader = LogReader()
        self._caught_up = False
        self._end = 0
        self._ends: list[int] = []
        self._walls: list[float | None] = []

    def wanted(self) -> Wanted:
        """Ask for what was added."""
        return self._tail.wanted()

    def take(self, got: Got, wall: float) -> LogLook:
        """Find the steps and events in what was added."""
        if got.found is Found.UNREADABLE:
            return LogLook(present=True, problem=f"{got.path}: {got.reason or 'permission denied'}")
        piece = self._tail.take(got)
        if piece is None:
            return LogLook(present=got.found is Found.UNCHANGED)
        if piece.restarted:
            self._reader, self._ends, self._walls = LogReader(), [], []
        self._note(piece.offset + len(piece.data), wall if self._caught_up else None)
        self._caught_up = self._caught_up or not piece.more
        self._reader.feed(piece.data, self._arrived_at, piece.offset)
        self._end = piece.offset + len(piece.data)
        return self._found(more=piece.more)

    def finish(self) -> LogLook:
        """Find what was held back until the log ends: nothing follows its last line."""
        self._reader.feed(b"", self._arrived_at, self._end, final=True)
        return self._found(more=False)

    def _found(self, *, more: bool) -> LogLook:
        steps, events = self._reader.take()
        new = tuple(
            Told(
                source=step.source,
                metrics=dict(step.metrics),
                timestamp=step.timestamp,
                seen=step.timestamp is None or step.timestamp in self._walls,
                step=step.step,
            )
            for step in steps
        )
        return LogLook(present=True, new=new, events=tuple(events), more=more)

    def _note(self, end: int, wall: float | None) -> None:
        if self._ends and end <= self._ends[-1]:
            return
        self._ends.append(end)
        self._walls.append(wall)
        if len(self._ends) > _REMEMBERED:
            del self._ends[0], self._walls[0]

    def _arrived_at(self, offset: int) -> float | None:
        """Say when everything up to an offset had come; None for what was there before we looked."""
        place = bisect_left(self._ends, offset)
        return self._walls[place] if place < len(self._walls) else None
