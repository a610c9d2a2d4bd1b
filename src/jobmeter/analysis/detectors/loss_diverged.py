"""Loss diverged: it had come down, went up again and stayed there; or it never came down and grew.

The loss is taken in parts by their middle values, so that single spikes do not count. It diverged when its end lies
half of what it had gained above its best, clearly above the noise, and every part of the last tenth does.

What can mislead: losses that are not meant to fall (of adversaries, of reinforcement learning), data that become
harder by intention. Losses of evaluations are not judged: they rise by over-fitting.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jobmeter.analysis import losses
from jobmeter.analysis.losses import Loss, Parts
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Value
from jobmeter.model.view import RunView

FEWEST_VALUES = 12
GIVEN_BACK = 0.5
"""Of the way from the start to the best: this much of it lost again."""
ABOVE_BEST = 1.5
"""Times the best: less is weather, however little was gained before."""
CLEAR_DEVIATIONS = 6.0
EXPLODED = 2.0
"""Times the start: nothing was learned, and what was there is lost."""
_END_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Divergence:
    """How a loss went."""

    start: float
    best: float
    last: float
    best_place: int
    since_place: int

    @property
    def exploded(self) -> bool:
        """Worse than in the beginning by far."""
        return self.last > max(EXPLODED * self.start, self.start)


def detect(view: RunView) -> Iterable[Finding]:
    """Tell whether the loss went up for good."""
    loss = losses.of_training(view.steps)
    cut = None if loss is None else losses.parts(loss, FEWEST_VALUES)
    found = None if cut is None else diverging(cut)
    if loss is not None and found is not None:
        yield _finding(loss, found)


def diverging(cut: Parts) -> Divergence | None:
    """Find where a loss left its best and never came back."""
    levels = cut.levels
    ending = max(1, round(_END_SHARE * len(levels)))
    at_best = int(np.argmin(levels))
    start, best, low_end = float(levels[0]), float(levels[at_best]), float(levels[-ending:].min())
    last = float(np.median(levels[-ending:]))
    least = max(GIVEN_BACK * (start - best), CLEAR_DEVIATIONS * cut.noise)
    if low_end - best <= least or low_end <= ABOVE_BEST * best:
        return None
    # the last part that was still nearer to the best than to where it ended
    near = np.flatnonzero(levels <= best + GIVEN_BACK * (last - best))
    since = int(cut.firsts[min(int(near[-1]) + 1, len(levels) - 1)])
    return Divergence(start, best, last, int(cut.firsts[at_best]), since)


def _shown(value: float) -> str:
    return units.format_metric(value) if value < losses.HUGE else "infinity"


def _finding(loss: Loss, found: Divergence) -> Finding:
    best_step, since = int(loss.steps[found.best_place]), int(loss.steps[found.since_place])
    best, last, start = map(_shown, (found.best, found.last, found.start))
    figures: dict[str, Value] = {
        "step": since,
        "best_step": best_step,
        "best": found.best,
        "first": found.start,
    }
    if found.last < losses.HUGE:
        figures["last"] = found.last
    return Finding(
        detector="loss_diverged",
        severity=Severity.CRITICAL if found.exploded else Severity.WARNING,
        sentence=f"{loss.name} began at {start}, was {best} at its best near step {best_step}, rose from step {since} "
        f"on and ended at {last}",
        key=loss.name,
        begin=loss.moment(found.since_place),
        end=loss.moment(len(loss.values) - 1),
        rank=loss.rank,
        evidence=(
            Evidence(
                sentence=f"the middle of the last tenth is {last}, of the best part {best}",
                source=f"steps of {loss.source}",
                rank=loss.rank,
            ),
        ),
        figures=figures,
    )
