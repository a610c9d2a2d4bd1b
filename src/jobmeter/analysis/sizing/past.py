"""What earlier runs of a job used, in the order they ran: all a predictor may look at."""

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import NDArray

Amounts = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one run used of one resource."""

    amount: float
    seconds: float = 1.0
    """How long it held it: what was asked for too much was wasted so long."""
    asked: float | None = None
    """What it was given; a run that did not get by with an advice is repeated with this."""
    input_bytes: float | None = None


class Past:
    """The runs so far; grows at its end only."""

    __slots__ = ("_amounts", "_count", "_inputs")

    def __init__(self) -> None:
        self._count = 0
        self._amounts: Amounts = np.empty(16)
        self._inputs: Amounts = np.empty(16)

    def __len__(self) -> int:
        return self._count

    def add(self, usage: Usage) -> None:
        """Take note of one more run."""
        if self._count == len(self._amounts):
            self._amounts = np.concatenate((self._amounts, np.empty(self._count)))
            self._inputs = np.concatenate((self._inputs, np.empty(self._count)))
        self._amounts[self._count] = usage.amount
        self._inputs[self._count] = nan if usage.input_bytes is None else usage.input_bytes
        self._count += 1

    @property
    def amounts(self) -> Amounts:
        """Give what every run used, oldest first."""
        return self._amounts[: self._count]

    @property
    def inputs(self) -> Amounts:
        """Give the size of every run's input, NaN where it is not known."""
        return self._inputs[: self._count]
