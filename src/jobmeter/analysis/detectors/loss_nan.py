"""Loss NaN: a loss that is no number any more, or was none for a while.

From where on to the end no value is a number the training is lost. A stretch that it came back from, or single ones
again and again, is worth a look. One or two are what a loss scaler skips, and gradients that are infinite during
warm-up are its way of finding a scale: both are silent.

What can mislead: trainers that leave NaN out of their mean tell a loss of 0 with a gradient of NaN; several such
rows are taken as NaN. A metric logged as NaN where it was not computed looks the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis import losses
from jobmeter.analysis.losses import Loss
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import LIVE, Status
from jobmeter.model.view import RunView

SEVERAL = 3
"""So many in a row are no skipped step."""
OFTEN = 5
OFTEN_SHARE = 0.02
"""So many single ones, at least that share of all, are more than a loss scaler skips."""


@dataclass(frozen=True, slots=True)
class Lapse:
    """Values that are no numbers."""

    first: int
    last: int
    count: int
    at_end: bool


def detect(view: RunView) -> Iterable[Finding]:
    """Tell since when a loss is no number."""
    ended_well = view.run.status in LIVE | {Status.COMPLETED}
    told: dict[bool, list[tuple[Loss, Lapse]]] = {}
    for loss in losses.told(view.steps):
        lapse = lapse_of(loss, ended_well=ended_well)
        if lapse is not None:
            told.setdefault(loss.is_evaluation, []).append((loss, lapse))
    for found in told.values():
        loss, lapse = min(found, key=lambda one: (not one[1].at_end, one[0].steps[one[1].first], one[0].rank))
        yield _finding(loss, lapse, [one.rank for one, _ in found])


def lapse_of(loss: Loss, *, ended_well: bool = True) -> Lapse | None:
    """Find the values that are no numbers, if they are more than a few skipped steps."""
    bad = ~np.isfinite(loss.values) | _filtered(loss)
    places = np.flatnonzero(bad)
    if not len(places):
        return None
    trailing = len(bad) if bad.all() else int(np.argmin(bad[::-1]))
    # an evaluation is rare: its last value alone says that the model is broken
    enough = 1 if loss.is_evaluation or not ended_well else min(SEVERAL, len(bad))
    if trailing >= enough:
        return Lapse(len(bad) - trailing, len(bad) - 1, trailing, at_end=True)
    first, longest = _longest(places)
    if longest >= SEVERAL:
        return Lapse(first, first + longest - 1, longest, at_end=False)
    if len(places) >= max(OFTEN, OFTEN_SHARE * len(bad)):
        return Lapse(int(places[0]), int(places[-1]), len(places), at_end=False)
    return None


def _filtered(loss: Loss) -> NDArray[np.bool_]:
    """Find zeros that stand for NaN: several in a row without a finite gradient."""
    zero: NDArray[np.bool_] = (loss.values == 0) & loss.hidden
    places = np.flatnonzero(zero)
    if not len(places) or _longest(places)[1] < SEVERAL:
        return np.zeros(len(zero), np.bool_)
    return zero


def _longest(places: NDArray[np.intp]) -> tuple[int, int]:
    """Give where the longest stretch of neighbours begins, and how long it is."""
    cuts = np.flatnonzero(np.diff(places) > 1)
    firsts, lasts = np.append(0, cuts + 1), np.append(cuts, len(places) - 1)
    lengths = lasts - firsts + 1
    at = int(lengths.argmax())
    return int(places[firsts[at]]), int(lengths[at])


def _finding(loss: Loss, lapse: Lapse, ranks: list[int]) -> Finding:
    since, until = int(loss.steps[lapse.first]), int(loss.steps[lapse.last])
    if lapse.at_end:
        what = f"{loss.name} is no number from step {since} on, {lapse.count} of {len(loss.values)} values"
    elif lapse.last - lapse.first + 1 == lapse.count:
        what = f"{loss.name} was no number from step {since} to {until} and came back"
    else:
        what = f"{loss.name} was no number {lapse.count} times between step {since} and {until}"
    before = _before(loss, lapse)
    last_words = "no value before it" if before is None else f"the last value before it was {before:.4g}"
    return Finding(
        detector="loss_nan",
        severity=Severity.CRITICAL if lapse.at_end else Severity.WARNING,
        sentence=f"{what}; {last_words}",
        key=loss.name,
        begin=loss.moment(lapse.first),
        end=loss.moment(lapse.last),
        rank=loss.rank,
        evidence=(
            Evidence(
                sentence=f"{loss.name} at step {since}: {loss.values[lapse.first]:g}",
                source=f"steps of {loss.source}",
                value=since,
                timestamp=loss.moment(lapse.first),
                rank=loss.rank,
            ),
        ),
        figures={
            "step": since,
            "last_step": until,
            "count": lapse.count,
            "at_end": int(lapse.at_end),
            "rank_count": len(ranks),
        },
    )


def _before(loss: Loss, lapse: Lapse) -> float | None:
    earlier = loss.values[: lapse.first]
    known = earlier[np.isfinite(earlier)]
    return float(known[-1]) if len(known) else None
