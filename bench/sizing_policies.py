"""Ways to ask for memory that jobmeter's own is held against; each learns online, one object per process.

They are what people do and what others published: the users' own requests, the largest seen with and without a
margin, a percentile, the Vertical Pod Autoscaler's histogram (half-life 50 runs), and Tovar's first allocation.
"""

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from jobmeter.analysis.sizing import peaks
from jobmeter.analysis.sizing.ledger import Ledger, Prices
from jobmeter.analysis.sizing.past import Past, Usage

VPA_BASE, VPA_FIRST = 1.05, 10e6
LEAST_RUNS = 2


class Policy(Protocol):
    """What the scorer asks."""

    failure_probability: float | None

    def ask(self, input_bytes: float | None, /) -> float | None:
        """Say how much to ask for; None is the user's own request."""

    def learn(self, usage: Usage, /) -> None:
        """See what the task used."""


class UserRequest:
    """What the user asked for."""

    failure_probability: float | None = None

    def ask(self, _: float | None) -> float | None:
        return None

    def learn(self, _: Usage) -> None:
        return None


class Formula:
    """A formula over all tasks so far."""

    failure_probability: float | None = None

    def __init__(self, formula: Callable[[Past, list[float]], float]) -> None:
        self.formula = formula
        self.past = Past()
        self.seconds: list[float] = []

    def ask(self, _: float | None) -> float | None:
        return self.formula(self.past, self.seconds) if len(self.past) >= LEAST_RUNS else None

    def learn(self, usage: Usage) -> None:
        self.past.add(usage)
        self.seconds.append(usage.seconds)


class Jobmeter:
    """The ledger of predictors."""

    def __init__(self, prices: Prices, *, with_inputs: bool) -> None:
        self.ledger = Ledger(prices, with_inputs=with_inputs)
        self.failure_probability: float | None = None

    def ask(self, input_bytes: float | None) -> float | None:
        offer = self.ledger.advise(input_bytes)
        self.failure_probability = None if offer is None else offer.failure_probability
        return None if offer is None else offer.amount

    def learn(self, usage: Usage) -> None:
        self.ledger.learn(usage)


def vpa(past: Past, _: list[float]) -> float:
    """Take the upper end of the bucket of the decayed 90th percentile, and 15 % more."""
    bucket = math.floor(math.log(peaks.decaying(past) * (VPA_BASE - 1) / VPA_FIRST + 1) / math.log(VPA_BASE))
    return 1.15 * VPA_FIRST * (VPA_BASE ** (bucket + 1) - 1) / (VPA_BASE - 1)


def tovar(past: Past, seconds: list[float]) -> float:
    """Choose the first allocation with the least expected waste when failures are repeated at the largest seen."""
    amounts, spans = past.amounts, np.array(seconds)
    tried = np.unique(amounts)[:, None]
    enough = amounts[None, :] <= tried
    wasted = np.where(enough, tried - amounts, tried + amounts.max() - amounts) * spans
    return 1.1 * float(tried[int(np.argmin(wasted.sum(axis=1))), 0])


BASELINES: dict[str, Callable[[], Policy]] = {
    "user request": UserRequest,
    "largest seen": lambda: Formula(lambda past, _: peaks.largest(past)),
    "largest seen x 1.15": lambda: Formula(lambda past, _: 1.15 * peaks.largest(past)),
    "95th percentile x 1.2": lambda: Formula(lambda past, _: 1.2 * peaks.nearly_all(past)),
    "VPA": lambda: Formula(vpa),
    "Tovar x 1.1": lambda: Formula(tovar),
}
