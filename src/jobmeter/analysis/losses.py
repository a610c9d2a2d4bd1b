"""The losses a training told, as arrays: of every rank by its best source, what a resumed loop replaced left out.

Other than `progress`, steps without a clock count too. What can mislead: several names for one loss, of which only
the known one, or a lone one, is the training's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis import progress, robust
from jobmeter.analysis.series import Floats
from jobmeter.model import metrics
from jobmeter.model.steps import Steps, StepTable

MOST_PARTS = 40
HUGE = 1e150
"""No loss is larger; twice as much is still a number."""


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    """One loss of one rank over its steps; values may be NaN or infinite."""

    name: str
    rank: int
    source: str
    is_evaluation: bool
    steps: NDArray[np.int64]
    times: Floats
    """NaN where a step has no clock."""
    values: Floats
    hidden: NDArray[np.bool_]
    """Steps whose gradient was not finite: a loss of 0 there is what trainers tell that leave NaN out."""

    def moment(self, place: int) -> float | None:
        """Give the time of a step; None where it has no clock."""
        found = float(self.times[place])
        return found if np.isfinite(found) else None

    def numbers(self) -> "Loss":
        """Give the same without what is not a number; what is infinite becomes `HUGE`."""
        kept = ~np.isnan(self.values)
        return Loss(
            self.name, self.rank, self.source, self.is_evaluation,
            self.steps[kept], self.times[kept], np.clip(self.values[kept], -HUGE, HUGE), self.hidden[kept],
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A loss in parts of about as many steps each."""

    levels: Floats
    """The middle of each."""
    firsts: NDArray[np.intp]
    """Where each begins."""
    noise: float
    """How far single values lie from the middle of their part, as a robust deviation."""


def told(steps: Steps) -> Iterator[Loss]:
    """Go through the losses of all ranks, the lowest first, the training's before those of evaluations."""
    seen: set[tuple[int, str]] = set()
    for table in progress.by_rank(steps):
        for name in _names(table):
            quantity = metrics.EVAL_LOSS if metrics.is_evaluation(name) else metrics.LOSS
            loss = _loss(table, name) if (table.rank, quantity) not in seen else None
            if loss is not None:
                seen.add((table.rank, quantity))
                yield loss


def of_training(steps: Steps) -> Loss | None:
    """Give the training's own loss, of the lowest rank, without what is not a number."""
    own = next((loss for loss in told(steps) if not loss.is_evaluation), None)
    return None if own is None else own.numbers()


def parts(loss: Loss, least: int) -> Parts | None:
    """Cut a loss that has enough values into parts."""
    count = len(loss.values)
    if count < least:
        return None
    cuts = np.linspace(0, count, min(MOST_PARTS, max(5, count // 4)) + 1).astype(int)
    pieces = [loss.values[begin:end] for begin, end in pairwise(cuts.tolist())]
    levels = np.array([np.median(piece) for piece in pieces])
    away = np.concatenate([np.abs(piece - level) for piece, level in zip(pieces, levels, strict=True)])
    return Parts(levels, cuts[:-1], robust.AS_DEVIATION * float(np.median(away)))


def _names(table: StepTable) -> list[str]:
    names = sorted(table.columns)
    found = [metrics.pick(names, metrics.LOSS), metrics.pick(names, metrics.EVAL_LOSS)]
    return [name for name in found if name is not None]


def _loss(table: StepTable, name: str) -> Loss | None:
    steps = np.asarray(table.steps, np.int64)
    rows = _rows(table, name)
    chosen = progress.latest(steps)[rows]
    if not chosen.any():
        return None
    rows = rows[chosen]
    times = np.full(len(table), np.nan) if table.timestamps is None else np.asarray(table.timestamps, float)
    return Loss(
        name=name,
        rank=table.rank,
        source=table.source,
        is_evaluation=metrics.is_evaluation(name),
        steps=steps[rows],
        times=times[rows],
        values=np.asarray(table.columns[name].values, float)[chosen],
        hidden=_hidden(table)[rows],
    )


def _rows(table: StepTable, name: str) -> NDArray[np.intp]:
    rows = table.columns[name].rows
    return np.arange(len(table)) if rows is None else np.asarray(rows, np.intp)


def _hidden(table: StepTable) -> NDArray[np.bool_]:
    found = np.zeros(len(table), np.bool_)
    name = metrics.pick(sorted(table.columns), metrics.GRAD_NORM)
    if name is not None:
        found[_rows(table, name)] = ~np.isfinite(np.asarray(table.columns[name].values, float))
    return found
