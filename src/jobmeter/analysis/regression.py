"""Whether a job became worse: a change point test over its runs, quiet on noise, the same answer every time.

The last five runs are held against all before them. Both are cut at fences around the middle half, so that single
outliers weigh little; the mean of the five must be higher than that of 99 of 100 draws of five from the runs
before, higher than `LEAST_SHARE`, and four of the five above the usual value. Two or three runs suffice where all
of them lie where hardly a run ever was. After a change the runs since are the new normal; a return is told.

What can mislead: a slow creep below the least effect is never claimed; nothing is said within the first `FEWEST`
runs, nor for as many after a change unless it goes back.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWEST = 8
"""Runs that must lie before a change: fewer do not show what is usual."""
WINDOW = 5
LEAST_SHARE = 0.03
"""Of the usual value: less is no change anybody acts on."""
_DRAWS = 2000
_WORSE_QUANTILE, _BETTER_QUANTILE = 0.99, 0.995
"""An improvement that is none would make the next usual run look worse: it must be surer."""
_FEW = 6.0
_MOST_LIKENESS = 0.8
_NEAR_FENCE, _FAR_FENCE = 1.1, 3.0
"""In heights of the middle half, from its edges."""
_LEAST_HEIGHT_SHARE = 0.01
_SHARP = ((2, _FAR_FENCE), (3, _NEAR_FENCE))
"""So many runs in a row beyond that fence are no chance, unless runs were often there before."""
_CHANCE = 0.002


class Told(Enum):
    """What there is to say after a run."""

    NOT_ENOUGH = "not_enough_history"
    STEADY = "steady"
    WORSE = "worse"
    BETTER = "better"
    STILL_WORSE = "still_worse"
    """It was told before, and nothing changed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What the last run of a history says."""

    told: Told
    usual: float | None = None
    """The middle value of the runs it was held against."""
    now: float | None = None
    """The middle value of the runs since the change, or of the last ones."""
    since: int | None = None
    """The first run of the change, by its place in the history."""
    runs: int = 0
    """How many runs the usual value is of."""

    @property
    def share(self) -> float | None:
        """How much more it is than usual, in parts of that; None where that is 0 or not known."""
        if self.usual is None or self.now is None or self.usual == 0:
            return None
        return (self.now - self.usual) / abs(self.usual)


@dataclass(slots=True)
class _Moved:
    """The level changed and is watched: does it go back, or is it the new normal?"""

    since: int
    """Its first run, by its place in the history."""
    begin: int
    """The same, by its place among the runs that are normal."""
    level: float
    rose: bool

    def went_back(self, normal: Sequence[float]) -> bool:
        if len(normal) - self.begin <= WINDOW:
            return False
        last = float(np.median(normal[-WINDOW:]))
        middle = (float(np.median(normal[: self.begin])) + self.level) / 2
        return last < middle if self.rose else last > middle

    def is_left_behind(self, normal: Sequence[float], count: int) -> bool:
        """Tell that the last runs are not just this rise once more, but half as much again."""
        usual = float(np.median(normal[: self.begin]))
        return not self.rose or float(np.median(normal[-count:])) > self.level + (self.level - usual) / 2


def judge(values: Sequence[float], *, more_is_worse: bool = True, least: float = LEAST_SHARE) -> Ruling:
    """Walk a history, oldest first, and say what its last run means."""
    ruling = Ruling(told=Told.NOT_ENOUGH)
    for ruling in rulings(values, more_is_worse=more_is_worse, least=least):  # noqa: B007  # the last one counts
        continue
    return ruling


def rulings(
    values: Iterable[float], *, more_is_worse: bool = True, least: float = LEAST_SHARE
) -> Iterator[Ruling]:
    """Walk a history, oldest first, and say after every run what it means."""
    sign = 1.0 if more_is_worse else -1.0
    walk = _Walk(least)
    for place, value in enumerate(values):
        told = walk.step(place, sign * value)
        usual, now = (None if level is None else sign * level for level in (told.usual, told.now))
        yield Ruling(told=told.told, usual=usual, now=now, since=told.since, runs=told.runs)


class _Walk:
    def __init__(self, least: float) -> None:
        self._least = least
        self._normal: list[float] = []
        self._moved: _Moved | None = None

    def step(self, place: int, value: float) -> Ruling:
        self._normal.append(value)
        if len(self._normal) <= FEWEST:
            return Ruling(told=Told.NOT_ENOUGH, runs=len(self._normal) - 1)
        back = None if self._moved is None else self._watch(place, self._moved)
        if back is not None:
            return back
        return self._claim(place) or self._known()

    def _claim(self, place: int) -> Ruling | None:
        runs = np.array(self._normal)
        ways = [(True, 1.0, _WORSE_QUANTILE)]
        if self._moved is None:
            ways.append((False, -1.0, _BETTER_QUANTILE))
        for rose, sign, quantile in ways:
            count = _rise(sign * runs, self._least, quantile)
            if count and (self._moved is None or self._moved.is_left_behind(self._normal, count)):
                return self._move(place, count, rose=rose)
        return None

    def _move(self, place: int, count: int, *, rose: bool) -> Ruling:
        before, after = self._normal[:-count], self._normal[-count:]
        since = place + 1 - count
        self._moved = _Moved(since=since, begin=len(before), level=float(np.median(after)), rose=rose)
        return _ruling(Told.WORSE if rose else Told.BETTER, before, after, since)

    def _watch(self, place: int, moved: _Moved) -> Ruling | None:
        """Tell a return; take a level that stays for the new normal."""
        if moved.went_back(self._normal):
            # the runs between stay: should it have been chance, leaving them out would narrow what is usual
            self._moved = None
            if moved.rose:
                high, last = self._normal[moved.begin : -WINDOW], self._normal[-WINDOW:]
                return _ruling(Told.BETTER, high, last, place + 1 - WINDOW)
        elif len(self._normal) - moved.begin > FEWEST + WINDOW:
            self._normal, self._moved = self._normal[moved.begin :], None
        return None

    def _known(self) -> Ruling:
        moved = self._moved
        if moved is not None and moved.rose:
            before, after = self._normal[: moved.begin], self._normal[moved.begin :]
            return _ruling(Told.STILL_WORSE, before, after, moved.since)
        return _ruling(Told.STEADY, self._normal[:-1], self._normal[-1:], None)


def _ruling(told: Told, before: Sequence[float], after: Sequence[float], since: int | None) -> Ruling:
    usual, now = float(np.median(before)), float(np.median(after))
    return Ruling(told=told, usual=usual, now=now, since=since, runs=len(before))


def _rise(runs: Floats, least: float, quantile: float) -> int:
    """Say how many of the last runs are a rise over those before; 0 where there is none."""
    for count, fence in _SHARP:
        if len(runs) - count >= FEWEST and _is_sharp(runs[:-count], runs[-count:], fence, least):
            return count
    if len(runs) - WINDOW < FEWEST:
        return 0
    return WINDOW if _is_rise(runs[:-WINDOW], runs[-WINDOW:], least, quantile) else 0


def _is_sharp(before: Floats, last: Floats, fence: float, least: float) -> bool:
    _, middle, high = _fences(before, fence)
    if last.min() <= high or last.mean() - middle <= least * abs(middle):
        return False
    beyond = (int((before > high).sum()) + 1) / (len(before) + 1)
    return bool(beyond ** len(last) <= _CHANCE)


def _is_rise(before: Floats, last: Floats, least: float, quantile: float) -> bool:
    low, middle, high = _fences(before, _NEAR_FENCE)
    if int((last > middle).sum()) < len(last) - 1:
        return False
    mean = float(np.clip(last, low, high).mean())
    if mean - middle <= least * abs(middle):
        return False
    cut = np.clip(before, low, high)
    drawn = cut[(_draws() * len(cut)).astype(np.intp)].mean(axis=1)
    usual = float(cut.mean())
    # the runs before are a sample too: their own mean is not certain, and few of them show too little scatter
    wider = sqrt(1 + len(last) / len(before)) * (1 + _FEW / len(before) ** 2) * _drift(cut)
    return mean > usual + (float(np.quantile(drawn, quantile)) - usual) * wider


def _drift(runs: Floats) -> float:
    """Say how much wider means scatter where neighbours are alike, as under a load that comes and goes."""
    away = runs - runs.mean()
    squares = float((away**2).sum())
    likeness = float((away[1:] * away[:-1]).sum()) / squares if squares else 0.0
    # as much shows by chance
    sure = min(max(0.0, likeness - 1 / sqrt(len(runs))), _MOST_LIKENESS)
    return sqrt((1 + sure) / (1 - sure))


def _fences(before: Floats, heights: float) -> tuple[float, float, float]:
    first, middle, third = (float(edge) for edge in np.quantile(before, (0.25, 0.5, 0.75)))
    height = max(third - first, _LEAST_HEIGHT_SHARE * abs(middle))
    return first - heights * height, middle, third + heights * height


@lru_cache(maxsize=1)
def _draws() -> Floats:
    """Give the same draws to everybody."""
    return np.random.default_rng(0).random((_DRAWS, WINDOW))
