"""How evenly the ranks of one job run, step by step.

Ranks are laid side by side by step, never by clock: hosts disagree about the time by more than a step takes.
What is compared is how long each rank took for the same step by its own clock. Ranks that wait for one
another at every step take equally long, whoever was slow: there a straggler shows in `behind`, in its memory
or in its GPU, not here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isnan
from statistics import median

MARKED_SLOW = 1.1
"""A rank that takes this much longer than the middle one for the same steps is a straggler."""
MOST_RANKS = 100_000
"""A job that claims more has its first ranks looked for."""
_FEW_STEPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """One rank beside the others; None where too little is known."""

    rank: int
    last_step: int
    behind: int
    """How many steps the foremost rank is ahead."""
    step_seconds: float | None = None
    """The middle time per step, by the rank's own clock."""
    relative: float | None = None
    """The middle, over the steps all ranks took, of its time against the middle rank's."""
    slowest_share: float | None = None
    """In how many of those steps it was the slowest of all."""

    @property
    def is_straggler(self) -> bool:
        """Slower than the others over the steps they all took."""
        return self.relative is not None and self.relative >= MARKED_SLOW


@dataclass(frozen=True, slots=True)
class Life:
    """What one rank told from a start to an end: steps and when, in the order of writing."""

    steps: Sequence[int]
    timestamps: Sequence[float] | None


def paces(ranks: Mapping[int, Sequence[Life]]) -> tuple[Pace, ...]:
    """Compare the ranks of one job, in order of rank; a rank that was started again has several lives."""
    lived = {rank: kept for rank, lives in ranks.items() if (kept := [life for life in lives if life.steps])}
    taken = {rank: _durations(lives) for rank, lives in lived.items()}
    reached = {rank: lives[-1].steps[-1] for rank, lives in lived.items()}
    front = max(reached.values(), default=0)
    relative, slowest = _beside({rank: steps for rank, steps in taken.items() if steps})
    return tuple(
        Pace(
            rank=rank,
            last_step=last_step,
            behind=front - last_step,
            step_seconds=median(taken[rank].values()) if taken[rank] else None,
            relative=relative.get(rank),
            slowest_share=slowest.get(rank),
        )
        for rank, last_step in sorted(reached.items())
    )


def _durations(lives: Sequence[Life]) -> dict[int, float]:
    """Give the seconds each step took; a step that was taken twice counts as it was taken last."""
    found: dict[int, float] = {}
    for life in lives:
        moments = life.timestamps or ()
        known = [(step, at) for step, at in zip(life.steps, moments, strict=False) if not isnan(at)]
        for (before, at), (steps, then) in pairwise(_together(known)):
            following = steps[-1]
            if following > before[-1] and then > at:
                # what arrived together was not taken together: it shares the time since the arrival before
                found |= dict.fromkeys(steps, (then - at) / (following - before[-1]))
    return found


def _together(known: Sequence[tuple[int, float]]) -> list[tuple[list[int], float]]:
    """Gather the steps of one moment; a step that goes back begins anew."""
    found: list[tuple[list[int], float]] = []
    for step, at in known:
        if found and found[-1][1] == at and step > found[-1][0][-1]:
            found[-1][0].append(step)
        else:
            found.append(([step], at))
    return found


def _beside(taken: Mapping[int, Mapping[int, float]]) -> tuple[dict[int, float], dict[int, float]]:
    """Compare over the steps that every rank with a clock took."""
    shared = set.intersection(*(set(steps) for steps in taken.values())) if len(taken) > 1 else set()
    if len(shared) < _FEW_STEPS:
        return {}, {}
    middle = {step: median(steps[step] for steps in taken.values()) for step in shared}
    relative = {rank: median(steps[step] / middle[step] for step in shared) for rank, steps in taken.items()}
    last = Counter(max(taken, key=lambda rank: taken[rank][step]) for step in sorted(shared))
    return relative, {rank: last[rank] / len(shared) for rank in taken}


def missing(seen: Iterable[int], world_size: int | None) -> tuple[int, ...]:
    """Name the ranks that never appeared; none where nobody said how many there should be."""
    return tuple(sorted(set(range(min(world_size or 0, MOST_RANKS))) - set(seen)))


def imbalance(sizes: Mapping[int, float]) -> float | None:
    """Say how much more than the mean the largest rank uses; None below two ranks."""
    if len(sizes) < 2 or not sum(sizes.values()):
        return None
    return max(sizes.values()) * len(sizes) / sum(sizes.values()) - 1
