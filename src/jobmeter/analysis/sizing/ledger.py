"""The account of every predictor and margin over the runs of one job; the cheapest gives the next advice.

Before each run every candidate (a predictor times a margin) says what it would ask for, after it the ledger
writes down what that would have cost: never the other way round. The expected cost of a candidate is what it
held too much so far, and its failure probability times what a failure costs. That probability is the stated
one: failures counted, drawn towards what is known of jobs in general as long as there are few runs
(`docs/sizing.md` has the figures). What can mislead: a job that changes today fails whatever its past says.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from jobmeter.analysis import sizing
from jobmeter.analysis.sizing.past import Amounts, Past, Usage

LEAST_RUNS = 2
MARGINS: Amounts = np.array([1.0, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0])
FIRST_MARGIN = 1.3
"""What the largest of two runs is multiplied by: nothing is known of any candidate yet."""
EXCEEDING: Amounts = 0.85 * MARGINS ** (-1 / 0.04) + 0.15 * MARGINS**-2.0
"""Of runs that exceed a prediction, how many exceed it by a margin: most by little, some by any factor."""
_JOB_CHANGED = 0.003
"""However much is known of a job, so often it turns into another one."""
_NINETEEN_OF_TWENTY = 1.645
_TAIL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What counts besides memory and time, and how much general knowledge counts."""

    failure: float = 8.0
    """A failed run costs this many times what the run itself needed, besides what it held in vain."""
    prior_runs: float = 10.0
    """General knowledge counts as much as this many runs of the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What to ask for, and how sure that is."""

    amount: float
    failure_probability: float
    failure_high: float
    """The failure probability is below this in 19 cases of 20."""
    low: float
    high: float
    """The next run should use something in between, nine times of ten; with few runs it is wider than that."""
    runs: int
    predictor: str
    margin: float


@dataclass(slots=True)
class _Account:
    """Sums over the runs that were predicted, one cell for each predictor and margin."""

    predicted: int
    failures: Amounts
    held_in_vain: Amounts
    failure_costs: Amounts
    needed: float
    ratios: list[Amounts]
    """What was used, as a share of what each predictor said."""


class Ledger:
    """One job's history, and the choice it comes to."""

    __slots__ = ("_account", "_names", "_past", "_pending", "_prices", "_with_inputs")

    def __init__(self, prices: Prices | None = None, *, with_inputs: bool = False) -> None:
        self._prices = prices or Prices()
        self._with_inputs = with_inputs
        self._names = [*sizing.PREDICTORS, *(sizing.INPUT_PREDICTORS if with_inputs else ())]
        shape = (len(self._names), len(MARGINS))
        self._account = _Account(0, np.zeros(shape), np.zeros(shape), np.zeros(shape), 0.0, [])
        self._past = Past()
        self._pending: Amounts | None = None

    def replay(self, usages: Iterable[Usage]) -> "Ledger":
        """Go through earlier runs in their order, as if each had been advised; gives itself back."""
        for usage in usages:
            self.advise(usage.input_bytes)
            self.learn(usage)
        return self

    def advise(self, input_bytes: float | None = None, *, ceiling: float | None = None) -> Offer | None:
        """Say what to ask for next, at most the ceiling; None with fewer than two runs."""
        self._pending = None
        if len(self._past) < LEAST_RUNS:
            return None
        said = self._said(input_bytes)
        self._pending = said
        chances = self._chances()
        predictor, margin = self._cheapest(chances)
        amount = float(said[predictor] * MARGINS[margin])
        if ceiling is not None and ceiling < amount:
            # it fails no more often than the next smaller margin would
            margin = max(int(np.searchsorted(MARGINS * said[predictor], ceiling, side="right")) - 1, 0)
            amount = ceiling
        low, high = self._interval(predictor, float(said[predictor]))
        chance = min(float(chances[predictor, margin]) + _JOB_CHANGED, 1.0)
        return Offer(
            amount=amount,
            failure_probability=chance,
            failure_high=wilson_high(chance, self._account.predicted + self._prices.prior_runs),
            low=low,
            high=high,
            runs=len(self._past),
            predictor=self._names[predictor],
            margin=amount / max(float(said[predictor]), 1e-9),
        )

    def learn(self, usage: Usage) -> None:
        """Write down what the run used, and what every candidate asked before it would have cost."""
        if self._pending is not None:
            self._charge(self._pending, usage)
            self._pending = None
        self._past.add(usage)

    def _said(self, input_bytes: float | None) -> Amounts:
        said = [predict(self._past) for predict in sizing.PREDICTORS.values()]
        if self._with_inputs and input_bytes is None:
            said += [said[0]] * len(sizing.INPUT_PREDICTORS)
        elif self._with_inputs and input_bytes is not None:
            said += [predict(self._past, input_bytes) for predict in sizing.INPUT_PREDICTORS.values()]
        return np.array(said)

    def _charge(self, said: Amounts, usage: Usage) -> None:
        account = self._account
        candidates = said[:, None] * MARGINS[None, :]
        if usage.asked is not None and usage.asked >= usage.amount:
            # nobody is advised to ask for more than what was enough
            candidates = np.minimum(candidates, usage.asked)
        failed = candidates < usage.amount
        # where nobody asked for anything, a failed run is repeated with twice of what it needed
        repeated = 2 * usage.amount if usage.asked is None else max(usage.asked, usage.amount)
        account.predicted += 1
        account.failures += failed
        account.held_in_vain += np.where(failed, 0.0, (candidates - usage.amount) * usage.seconds)
        account.failure_costs += (candidates + repeated - usage.amount) * usage.seconds
        account.needed += usage.amount * usage.seconds
        account.ratios.append(usage.amount / np.maximum(said, 1e-9))

    def _chances(self) -> Amounts:
        """Estimate how often each candidate fails: its own failures, and those of predictions in general."""
        account, prior = self._account, self._prices.prior_runs
        if account.predicted == 0:
            # of three runs in any order the last is the largest one time in three
            return np.tile(EXCEEDING / (len(self._past) + 1), (len(self._names), 1))
        exceeded = (account.failures[:, :1] + 1) / (account.predicted + 2)
        return np.asarray((account.failures + prior * EXCEEDING * exceeded) / (account.predicted + prior))

    def _cheapest(self, chances: Amounts) -> tuple[int, int]:
        account = self._account
        if account.needed <= 0:
            return 0, int(np.searchsorted(MARGINS, FIRST_MARGIN))
        failure = account.failure_costs / account.needed + self._prices.failure
        costs = account.held_in_vain / account.needed + chances * failure
        place = int(np.argmin(costs))
        return place // len(MARGINS), place % len(MARGINS)

    def _interval(self, predictor: int, said: float) -> tuple[float, float]:
        ratios = np.array([ratio[predictor] for ratio in self._account.ratios])
        if len(ratios) < LEAST_RUNS:
            amounts = self._past.amounts
            return float(amounts.min()), float(amounts.max() * FIRST_MARGIN)
        low, high = np.quantile(ratios, (_TAIL, 1 - _TAIL))
        # quantiles of few values are too near to one another
        slack = 1 + 1 / len(ratios)
        return float(said * low / slack), float(said * high * slack)


def wilson_high(share: float, runs: float) -> float:
    """Give the upper end of Wilson's interval, one-sided 95 %."""
    squared = _NINETEEN_OF_TWENTY**2
    middle = share + squared / (2 * runs)
    reach = _NINETEEN_OF_TWENTY * sqrt(share * (1 - share) / runs + squared / (4 * runs * runs))
    return min((middle + reach) / (1 + squared / runs), 1.0)
