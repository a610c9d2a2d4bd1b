"""Leave a target alone that fails again and again; look once in a while whether it came back.

Closed: every look is allowed. Open: none, for a while that doubles with each failed trial. Half open: one look,
the trial, and no other until that one has ended.
"""

from collections.abc import Callable
from enum import Enum

from jobmeter.fleet.settings import BreakerPolicy

_SPREAD = 0.1
"""Pauses vary by a tenth, so that the ranks of a host that fell over do not come back in one rush."""


class State(Enum):
    """Where a breaker stands."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreaker:
    """Counts the failures of one target in a row."""

    def __init__(
        self, policy: BreakerPolicy, clock: Callable[[], float], chance: Callable[[], float]
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._chance = chance
        self._pause_seconds = policy.open_seconds
        self.state = State.CLOSED
        self.failures = 0
        """In a row."""
        self.opened = 0
        """How often it opened from closed."""
        self.trial_due: float | None = None
        """On the monotonic clock: when an open breaker allows its trial."""
        self.last_error: str | None = None

    def is_open(self) -> bool:
        """Say whether looks are refused at present."""
        return self.state is State.OPEN

    def allows(self) -> bool:
        """Say whether to look now; a yes of an open breaker is its one trial and must be answered."""
        if self.state is State.CLOSED:
            return True
        if self.state is State.HALF_OPEN or self.trial_due is None or self._clock() < self.trial_due:
            return False
        self.state = State.HALF_OPEN
        return True

    def succeeded(self) -> bool:
        """Count a look that worked; True if that closed the breaker."""
        was_closed = self.state is State.CLOSED
        self.state = State.CLOSED
        self.failures = 0
        self.trial_due = None
        self._pause_seconds = self._policy.open_seconds
        return not was_closed

    def failed(self, error: str) -> bool:
        """Count a look that failed; True if that opened a closed breaker."""
        self.failures += 1
        self.last_error = error
        if self.state is State.CLOSED:
            if self.failures < self._policy.failures:
                return False
            self._open()
            self.opened += 1
            return True
        self._pause_seconds = min(self._pause_seconds * 2, self._policy.longest_seconds)
        self._open()
        return False

    def _open(self) -> None:
        self.state = State.OPEN
        self.trial_due = self._clock() + self._pause_seconds * (1 + _SPREAD * self._chance())
