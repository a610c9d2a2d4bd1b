"""How much may come at once: requests of one client, and bytes of all."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

_BURST_SECONDS = 4.0
_REMEMBERED = 4096
"""Clients; the one that was silent longest is forgotten first, which only ever lets somebody in."""


class Buckets:
    """A bucket of requests for every name, filled at a steady rate."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._most = max(1.0, per_second * _BURST_SECONDS)
        self._clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> int:
        """Take one request out; else say after how many whole seconds there will be one."""
        now = self._clock()
        level, at = self._levels.pop(name, (self._most, now))
        level = min(self._most, level + (now - at) * self._per_second)
        allowed = level >= 1.0
        self._levels[name] = (level - 1.0 if allowed else level, now)
        if len(self._levels) > _REMEMBERED:
            self._levels.popitem(last=False)
        return 0 if allowed else max(1, math.ceil((1.0 - level) / self._per_second))


class Budget:
    """Bytes that all requests together may hold."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, wanted: int) -> bool:
        """Set bytes aside; False where there are not so many."""
        if wanted > self._left:
            return False
        self._left -= wanted
        return True

    def give_back(self, held: int) -> None:
        """Free what was set aside."""
        self._left += held
