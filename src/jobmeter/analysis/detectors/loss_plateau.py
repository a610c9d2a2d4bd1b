"""Loss plateau: the loss came down and has not moved since for a good part of the steps.

It is no complaint: a training that has converged looks like that, and one whose learning rate is too low as well.
It tells how many of the steps bought nothing.

What can mislead: a loss that falls by less than its noise; metrics that go on improving while the loss stands.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jobmeter.analysis import losses
from jobmeter.analysis.detectors import loss_diverged
from jobmeter.analysis.losses import Loss
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.view import RunView

FEWEST_VALUES = 100
LEAST_SHARE = 0.4
"""Of the steps: a shorter stretch is a pause."""
NO_GAIN = 0.02
"""Of what was gained before: less is nothing."""
_CLEAR_GAIN = 6.0
"""Deviations of the middle of a part: a loss that never came down further has no plateau."""
_NOISE_OF_MIDDLE = 1.25
"""How much more restless a median is than a mean."""


@dataclass(frozen=True, slots=True)
class Plateau:
    """Where a loss stood still."""

    start: float
    level: float
    since_place: int


def detect(view: RunView) -> Iterable[Finding]:
    """Tell since when the loss does not fall any more."""
    loss = losses.of_training(view.steps)
    found = None if loss is None else flat(loss)
    if loss is not None and found is not None:
        yield _finding(loss, found)


def flat(loss: Loss) -> Plateau | None:
    """Find the stretch to the end over which a loss, without NaN, gained nothing."""
    cut = losses.parts(loss, FEWEST_VALUES)
    if cut is None or loss_diverged.diverging(cut) is not None:
        return None
    levels = cut.levels
    deviation = _NOISE_OF_MIDDLE * cut.noise / np.sqrt(len(loss.values) / len(levels))
    start, level = float(levels[0]), float(np.median(levels[-max(2, len(levels) // 10) :]))
    gained = start - level
    if gained <= _CLEAR_GAIN * deviation or gained <= 0:
        return None
    # the last part that lay clearly above the end
    above = np.flatnonzero(levels > level + max(NO_GAIN * gained, 2 * deviation))
    since = int(cut.firsts[int(above[-1]) + 1]) if above[-1] + 1 < len(levels) else len(loss.values)
    still = 1 - since / len(loss.values)
    return Plateau(start, level, since) if still >= LEAST_SHARE else None


def _finding(loss: Loss, found: Plateau) -> Finding:
    since, last = int(loss.steps[found.since_place]), int(loss.steps[-1])
    share = (last - since) / (last - int(loss.steps[0]))
    start, level = units.format_metric(found.start), units.format_metric(found.level)
    return Finding(
        detector="loss_plateau",
        severity=Severity.INFO,
        sentence=f"{loss.name} fell from {start} to {level} and stands there since step {since}: the last "
        f"{units.format_percent(100 * share)} of the steps gained nothing",
        key=loss.name,
        begin=loss.moment(found.since_place),
        end=loss.moment(len(loss.values) - 1),
        rank=loss.rank,
        evidence=(
            Evidence(
                sentence=f"the middle of the last tenth is {level}",
                source=f"steps of {loss.source}",
                value=found.level,
                rank=loss.rank,
            ),
        ),
        figures={"step": since, "level": found.level, "first": found.start, "still_ratio": round(share, 4)},
    )
