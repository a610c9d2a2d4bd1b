"""Time as a parameter: the monotonic clock for durations, the wall clock for display."""

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Clock(Protocol):
        """What recording needs to know of time."""

        def monotonic(self) -> float:
            """Seconds that never jump."""

        def wall(self) -> float:
            """Seconds since the epoch, as the host believes."""


class SystemClock:
    """The machine's own clocks."""

    __slots__ = ()

    def monotonic(self) -> float:
        """Read CLOCK_MONOTONIC."""
        return time.monotonic()

    def wall(self) -> float:
        """Read CLOCK_REALTIME."""
        return time.time()


_EARLY = (0.05, 0.1, 0.2, 0.4, 0.7)
"""Shares of the first interval at which a young job is looked at already: most jobs are short."""

_SOONEST = 0.02


class Cadence:
    """When to sample: early in the first interval, then at fixed multiples of it, without drift."""

    __slots__ = ("_interval", "_start", "_taken")

    def __init__(self, start: float, interval: float) -> None:
        self._start = start
        self._interval = interval
        self._taken = 0

    def due(self) -> float:
        """Give the moment of the next sample."""
        if self._taken < len(_EARLY):
            return self._start + max(_EARLY[self._taken] * self._interval, _SOONEST)
        return self._start + (self._taken - len(_EARLY) + 1) * self._interval

    def taken(self, now: float) -> None:
        """A sample was taken: moments already past are skipped, never made up for."""
        self._taken += 1
        whole_intervals = int((now - self._start) / self._interval)
        if whole_intervals:
            # a recorder that stood still for a month shall not count its way through it
            self._taken = max(self._taken, len(_EARLY) - 1 + whole_intervals)
        while self.due() <= now:
            self._taken += 1


class Timing:
    """The clock of one recording, when it began, and what is due when."""

    __slots__ = ("began", "cadence", "clock", "deadline", "report_interval")

    def __init__(
        self, clock: "Clock", *, sample_interval: float, report_interval: float, timeout: float | None
    ) -> None:
        self.clock = clock
        self.began = clock.monotonic()
        self.cadence = Cadence(self.began, sample_interval)
        self.report_interval = report_interval
        self.deadline = None if timeout is None else self.began + timeout
