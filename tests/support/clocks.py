"""A clock for tests that do not sleep."""


class FakeClock:
    """A clock that stands until it is told to go on."""

    def __init__(self, *, wall: float = 1_700_001_000.0) -> None:
        self.now = 1000.0
        self._behind = wall - self.now

    def monotonic(self) -> float:
        """Give the seconds since the machine started."""
        return self.now

    def wall(self) -> float:
        """Give the seconds since the epoch."""
        return self.now + self._behind
