"""Watch one series live: every value is scored by what came before it, never by what comes after.

Two things are looked at: how restless the last values are (their standard deviation), and how far their mean
lies from the mean before them. Each is held against its own past: a score of 1 is as large as one value in a
hundred was so far. What repeats itself soon is not said twice, unless it is much louder.

What can mislead: it learns what it sees, so that a series which is anomalous from its start is normal; a
slow drift stays below it (that is for `leak`); it knows no hours of the day.
"""

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass
from math import sqrt

ALARM = 1.05
"""The score that is worth telling; a little above 1, which is what a perfect rhythm comes to."""
_NOTICED = 0.3
"""A score below this is as if nothing had been; above, it makes what follows soon after less of a surprise."""
_FROM_NOTHING = 10.0
"""The score of a movement where there never was one: no ratio can be taken."""
_ABSURD = 1e100
"""No series reaches so far; squares of less are still numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """All that can be turned, counted in values; one set for every series."""

    restless: int = 10
    level: int = 12
    before: int = 300
    """The values before those of `level` that the mean is held against."""
    learning: int = 100
    """Values to see before anything is said."""
    memory: int = 5000
    """How far back the past reaches."""
    usual: float = 0.99
    """The share of the past that is not above 1."""
    silence: int = 50
    silence_share: float = 0.03
    """After an alarm nothing is said for this many values, or this share of all seen so far."""
    louder: float = 1.5
    """In that time only what is this many times larger is said."""


class Watch:
    """One series, value by value; `floor` is the movement below which nothing matters, in the series' unit."""

    def __init__(self, *, floor: float = 0.0, tuning: Tuning | None = None) -> None:
        self._tuning = tuning = tuning or Tuning()
        self._floor = floor
        self._restless: deque[float] = deque(maxlen=tuning.restless)
        self._level: deque[float] = deque(maxlen=tuning.level)
        self._before: deque[float] = deque(maxlen=tuning.before)
        self._scales = (_Scale(tuning), _Scale(tuning))
        self._seen = 0
        self._peak = 0.0
        self._silent_until = 0

    def update(self, value: float) -> float:
        """Take the next value and score it; 0 while learning, for what is no number, and for repetitions."""
        if not abs(value) < _ABSURD:
            return 0.0
        self._seen += 1
        self._remember(value)
        if not self._before:
            return 0.0
        restless, level = self._scales
        return self._said_once(
            max(restless.score(self._felt(self._restlessness())), level.score(self._felt(self._shift())))
        )

    def _felt(self, movement: float) -> float:
        return movement if movement > self._floor else 0.0

    def _remember(self, value: float) -> None:
        if len(self._level) == self._tuning.level:
            self._before.append(self._level[0])
        self._level.append(value)
        self._restless.append(value)

    def _restlessness(self) -> float:
        values = self._restless
        mean = sum(values) / len(values)
        return sqrt(sum((value - mean) ** 2 for value in values) / len(values))

    def _shift(self) -> float:
        return abs(sum(self._level) / len(self._level) - sum(self._before) / len(self._before))

    def _said_once(self, score: float) -> float:
        if self._seen > self._silent_until:
            self._peak = 0.0
        if score < _NOTICED or score <= self._peak * self._tuning.louder:
            return 0.0
        self._peak = score
        self._silent_until = self._seen + max(
            self._tuning.silence, int(self._tuning.silence_share * self._seen)
        )
        return score


class _Scale:
    """How large a movement is beside its own past."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._past: deque[float] = deque()
        self._sorted: list[float] = []

    def score(self, movement: float) -> float:
        score = self._score(movement)
        self._past.append(movement)
        insort(self._sorted, movement)
        if len(self._past) > self._tuning.memory:
            del self._sorted[bisect_left(self._sorted, self._past.popleft())]
        return score

    def _score(self, movement: float) -> float:
        if len(self._sorted) < self._tuning.learning or movement == 0.0:
            return 0.0
        usual = self._sorted[int(self._tuning.usual * (len(self._sorted) - 1))]
        return movement / usual if usual else _FROM_NOTHING
