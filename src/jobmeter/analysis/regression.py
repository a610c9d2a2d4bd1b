"""Whether a job became worse: a change point test over its runs, quiet on noise, the same answer every time.

The last five runs are held against all before them: how much likelier are they if the job moved by what they seem
to have moved than if it did not? Likely is where runs were seen before, in whatever shape they lie: five runs in
the gap between two modes tell more than their mean does, and an outlier, which is unlikely both ways, tells little.
The five must be likelier moved than 99.2 % of draws of five from the runs before, moved by more than `LEAST_SHARE`,
and four of them, the last one among these, above the usual value. Two or three runs suffice where all of them lie
where hardly a run ever was. After a change the runs since are the new normal; a return is told.

Where runs scatter widely, the machine's speed moves more than the job does, for several runs on end: there it takes
the last `_LONG` runs to tell a rise, and one to about where an earlier one had been is not told again.

What can mislead: a slow creep below the least effect is never claimed; nothing is said within the first `FEWEST`
runs, nor for as many after a change unless it goes back; a widely scattering job is guarded only against what is
large and stays.
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
_LONG = 12
_WIDE_SHARE = 0.12
"""Runs scatter widely whose middle half is higher than so much of the usual value."""
_DRAWS = 2000
_WORSE_QUANTILE, _BETTER_QUANTILE = 0.992, 0.995
"""An improvement that is none would make the next usual run look worse: it must be surer."""
_FEW = 6.0
_MOST_LIKENESS = 0.8
_NEAR_FENCE, _FAR_FENCE = 1.1, 3.0
"""In heights of the middle half, from its edges."""
_LEAST_HEIGHT_SHARE = 0.01
_BLUR, _BLUR_POWER = 1.5, -0.2
"""How far a run speaks for its neighbourhood, in heights of the middle half: the more runs, the less far. Little
depends on it: with two thirds or five thirds of it at most 4 in 100 steps more are missed."""
_MOST_BLURS = 1e6
"""Further away is not less likely, lest numbers overflow."""
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

    def top(self, normal: Sequence[float]) -> float:
        """Say where the upper runs lay since."""
        return _middle_half(np.array(normal[self.begin :]))[1]

    def is_left_behind(self, normal: Sequence[float], count: int) -> bool:
        """Tell that the last runs are not just this rise once more, but half as much again."""
        if len(normal) - self.begin < 2 * WINDOW:
            return False  # how high this one is does not show yet
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
        self._told_top: float | None = None
        """Where the upper runs lay while a rise was told."""

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
            if count and (not rose or self._is_news(count)):
                return self._move(place, count, rose=rose)
        return None

    def _is_news(self, count: int) -> bool:
        """Tell that the last runs rose beyond what was told before."""
        if self._moved is not None and not self._moved.is_left_behind(self._normal, count):
            return False
        told = self._told_top
        if count != _LONG or told is None:
            return True
        return float(np.median(self._normal[-count:])) > told + _WIDE_SHARE * abs(told)

    def _move(self, place: int, count: int, *, rose: bool) -> Ruling:
        before, after = self._normal[:-count], self._normal[-count:]
        since = place + 1 - count
        self._moved = _Moved(since=since, begin=len(before), level=float(np.median(after)), rose=rose)
        return _ruling(Told.WORSE if rose else Told.BETTER, before, after, since)

    def _watch(self, place: int, moved: _Moved) -> Ruling | None:
        """Tell a return; take a level that stays for the new normal."""
        if moved.rose:
            top = moved.top(self._normal)
            self._told_top = top if self._told_top is None else max(self._told_top, top)
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
    # whatever those before it did, a run is not called worse that is not itself above the usual value
    if 2 * np.count_nonzero(runs[:-WINDOW] < runs[-1]) < len(runs) - WINDOW:
        return 0
    if _is_wide(runs[:-WINDOW]):
        return _LONG if _is_rise(runs[:-_LONG], runs[-_LONG:], least, quantile) else 0
    for count, fence in _SHARP:
        if len(runs) - count >= FEWEST and _is_sharp(runs[:-count], runs[-count:], fence, least):
            return count
    return WINDOW if _is_rise(runs[:-WINDOW], runs[-WINDOW:], least, quantile) else 0


def _is_wide(before: Floats) -> bool:
    """Tell runs that scatter widely, all of them or of late."""
    if len(before) < FEWEST:
        return False
    for runs in (before, before[-_LONG:]):
        middle, _, height = _middle_half(runs)
        if height > _WIDE_SHARE * abs(middle):
            return True
    return False


def _is_sharp(before: Floats, last: Floats, fence: float, least: float) -> bool:
    middle, top, height = _middle_half(before)
    high = top + fence * height
    if last.min() <= high or last.mean() - middle <= least * abs(middle):
        return False
    beyond = (int((before > high).sum()) + 1) / (len(before) + 1)
    return bool(beyond ** len(last) <= _CHANCE)


def _is_rise(before: Floats, last: Floats, least: float, quantile: float) -> bool:
    if len(before) < FEWEST:
        return False
    middle, _, height = _middle_half(before)
    if int((last > middle).sum()) < len(last) - 1:
        return False
    shift = float(np.median(np.subtract.outer(last, before)))
    if shift <= least * abs(middle):
        return False
    blur = _BLUR * (height or shift) * len(before) ** _BLUR_POWER
    # a run of before must not speak for itself, as none of the last does
    known = _likelier_moved(before, before, shift, blur, is_same=True)
    drawn = known[(_draws(len(last)) * len(known)).astype(np.intp)].mean(axis=1)
    usual = float(known.mean())
    # the runs before are a sample too: their own mean is not certain, and few of them show too little scatter
    wider = sqrt(1 + len(last) / len(before)) * (1 + _FEW / len(before) ** 2) * _drift(known)
    seen = float(_likelier_moved(last, before, shift, blur).mean())
    return seen > usual + (float(np.quantile(drawn, quantile)) - usual) * wider


def _likelier_moved(
    runs: Floats, before: Floats, shift: float, blur: float, *, is_same: bool = False
) -> Floats:
    """Say of every run how much likelier it is after such a shift than without one, as a logarithm."""
    moved, stayed = (_density(at, before, blur, is_same=is_same) for at in (runs - shift, runs))
    return np.log(moved / stayed)


def _density(at: Floats, before: Floats, blur: float, *, is_same: bool) -> Floats:
    """Say how likely runs are there, up to a factor: heavy tails, because outliers come from anywhere."""
    away = np.minimum(np.abs(np.subtract.outer(at, before)) / blur, _MOST_BLURS)
    near = 1 / (1 + away**2)
    if is_same:
        np.fill_diagonal(near, 0)
    summed: Floats = near.sum(axis=1)
    return summed


def _drift(runs: Floats) -> float:
    """Say how much wider means scatter where neighbours are alike, as under a load that comes and goes."""
    away = runs - runs.mean()
    squares = float((away**2).sum())
    likeness = float((away[1:] * away[:-1]).sum()) / squares if squares else 0.0
    # as much shows by chance
    sure = min(max(0.0, likeness - 1 / sqrt(len(runs))), _MOST_LIKENESS)
    return sqrt((1 + sure) / (1 - sure))


def _middle_half(before: Floats) -> tuple[float, float, float]:
    """Give the usual value, and the top and the height of the middle half of the runs."""
    last = len(before) - 1
    places = (0.25 * last, 0.5 * last, 0.75 * last)
    # np.quantile says the same in ten times the time
    bottom, middle, top = np.interp(places, np.arange(len(before)), np.sort(before)).tolist()
    return middle, top, max(top - bottom, _LEAST_HEIGHT_SHARE * abs(middle))


@lru_cache(maxsize=2)
def _draws(count: int) -> Floats:
    """Give the same draws to everybody."""
    return np.random.default_rng(0).random((_DRAWS, count))
