"""When a costly reading is worth it. Proportional sizes walk the page tables: 7 to 10 ms per GB of small pages."""

_PSS_SECONDS, _SETTLE_SECONDS, _AHEAD_SECONDS = 30.0, 3.0, 10.0
_SHARE_OF_A_CORE, GROWTH, _WORTH_WAITING_BYTES = 0.005, 1.02, 64 << 20

_SECONDS_PER_BYTE = 0.01 / (1 << 30)


class PssBudget:
    """Decides when proportional sizes are read: on a new high of the resident sum, else every 30 s.

    Never more than 0.5 % of a core over time; 50 ms are granted ahead, so that a short job gets a reading.
    """

    __slots__ = ("_next", "_on_highs", "_previous", "_read_at", "_read_rss", "_wanted_at")

    def __init__(self, now: float, *, on_highs: bool = True) -> None:
        self._next = now - _AHEAD_SECONDS
        self._on_highs = on_highs
        """False where a cgroup of the job's own tells what its memory adds up to."""
        self._read_at = float("-inf") if on_highs else now
        self._read_rss = 0
        self._previous = 0
        self._wanted_at: float | None = None

    def due(self, now: float, rss_total: int) -> bool:
        """Say whether to read now; a sum that still grows is given time to settle."""
        growing = 0 < self._previous * GROWTH < rss_total
        self._previous = rss_total
        risen = self._on_highs and rss_total > self._read_rss * GROWTH
        wanted = risen or now - self._read_at >= _PSS_SECONDS
        # what it would cost beyond the grant has to be saved up first: the reading itself holds the process up
        dear_seconds = max(0.0, rss_total * _SECONDS_PER_BYTE - _AHEAD_SECONDS * _SHARE_OF_A_CORE)
        if not wanted or now < self._next + dear_seconds / _SHARE_OF_A_CORE:
            return False
        if self._wanted_at is None:
            self._wanted_at = now
        settling = growing and rss_total > _WORTH_WAITING_BYTES
        return not settling or now - self._wanted_at >= _SETTLE_SECONDS

    def spent(self, now: float, seconds: float) -> None:
        """Account for the cost of one reading."""
        self._next = max(self._next, now - _AHEAD_SECONDS) + seconds / _SHARE_OF_A_CORE

    def kept(self, now: float, rss_total: int) -> None:
        """The reading was good: the next is due on a new high, or after a while."""
        self._read_at = now
        self._read_rss = max(rss_total, self._read_rss)
        self._wanted_at = None
