"""The account of every predictor and margin over the runs of one job; the cheapest gives the next advice.

Before each run every candidate (a predictor times a margin) says what it would ask for, after it the ledger
writes down what that would have cost: never the other way round. The expected cost of a candidate is what it
held too much so far, and its failure probability times what a failure costs. That probability is the stated
one: failures counted, drawn towards what is known of jobs in general as long as there are few runs
(`docs/sizing.md` has the figures). Among those that should fail rarely enough the cheapest is taken; with few runs
that scatter none may be, and the safest asks for so much that the user's own request is what remains. What can
mislead: a job that changes today fails whatever its past says.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np

from jobmeter.analysis import sizing
from jobmeter.analysis.sizing import inputs
from jobmeter.analysis.sizing.past import Amounts, Past, Usage

LEAST_RUNS = 2
MARGINS: Amounts = np.array([1.0, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0])
_LITTLE, _SHARE_OF_SPREAD = 0.04, 0.4
"""By how much, in logarithms, a run exceeds a prediction: at least a little, more where predictions scatter."""
_LEAST_SPREAD = 5
"""Runs it takes to know how predictions scatter; before, they scatter as the runs themselves do."""
_FEW_RUNS = 2.0
"""How much wider than two runs scatter the next may lie: twice as far more, and ever less with more runs."""
_TWO_RUNS_REACH = 1.3
_JOB_CHANGED = 0.003
"""However much is known of a job, so often it turns into another one."""
_NINETEEN_OF_TWENTY = 1.645
_TAIL = 0.05
_LEAST = 1e-9
_ROUNDING = 1 + 1e-6
"""What lies on a line does not exceed it, whatever the last digit says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What counts besides memory and time, and how much general knowledge counts."""

    failure: float = 6.0
    """A failed run costs this many times what the run itself needed, besides what it held in vain."""
    tolerated: float = 0.025
    """Nothing is advised that should fail more often than this, as long as anything else would do."""
    prior_runs: float = 5.0
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

    predicted: Amounts
    """How many runs each predictor had something to say of; one that says nothing is not charged."""
    failures: Amounts
    held_in_vain: Amounts
    failure_costs: Amounts
    needed: Amounts
    log_sums: Amounts
    log_squares: Amounts
    ratios: list[Amounts]
    """What was used, as a share of what each predictor said."""


def _empty_account(predictors: int) -> _Account:
    cells = np.zeros((predictors, len(MARGINS)))
    row = np.zeros(predictors)
    return _Account(
        predicted=row.copy(),
        failures=cells.copy(),
        held_in_vain=cells.copy(),
        failure_costs=cells.copy(),
        needed=row.copy(),
        log_sums=row.copy(),
        log_squares=row.copy(),
        ratios=[],
    )


class Ledger:
    """One job's history, and the choice it comes to."""

    __slots__ = ("_account", "_names", "_past", "_pending", "_prices", "_with_inputs")

    def __init__(self, prices: Prices | None = None, *, with_inputs: bool = False) -> None:
        self._prices = prices or Prices()
        self._with_inputs = with_inputs
        self._names = [*sizing.PREDICTORS, *(sizing.INPUT_PREDICTORS if with_inputs else ())]
        self._account = _empty_account(len(self._names))
        self._past = Past()
        self._pending: Amounts | None = None

    def replay(self, usages: Iterable[Usage]) -> "Ledger":
        """Go through earlier runs in their order, as if each had been advised; gives itself back."""
        for usage in usages:
            self._ask(usage.input_bytes)
            self.learn(usage)
        return self

    def advise(self, input_bytes: float | None = None, *, ceiling: float | None = None) -> Offer | None:
        """Say what to ask for next, at most the ceiling; None with fewer than two runs."""
        said = self._ask(input_bytes)
        if said is None:
            return None
        chances = self._chances(said)
        predictor, margin = self._cheapest(said, chances)
        amount = float(said[predictor] * MARGINS[margin])
        if ceiling is not None and ceiling < amount:
            # it fails no more often than the next smaller margin would
            margin = max(int(np.searchsorted(MARGINS * said[predictor], ceiling, side="right")) - 1, 0)
            amount = ceiling
        low, high = self._interval(predictor, float(said[predictor]))
        runs = float(self._account.predicted[predictor]) + self._prices.prior_runs
        chance = min(float(chances[predictor, margin]) + _JOB_CHANGED, 1.0)
        return Offer(
            amount=amount,
            failure_probability=chance,
            failure_high=wilson_high(chance, runs),
            low=low,
            high=high,
            runs=len(self._past),
            predictor=self._names[predictor],
            margin=amount / max(float(said[predictor]), _LEAST),
        )

    def learn(self, usage: Usage) -> None:
        """Write down what the run used, and what every candidate asked before it would have cost."""
        if self._pending is not None:
            self._charge(self._pending, usage)
            self._pending = None
        self._past.add(usage)

    def _ask(self, input_bytes: float | None) -> Amounts | None:
        """Ask every predictor before a run; what they say is held against them when it ended."""
        self._pending = None if len(self._past) < LEAST_RUNS else self._said(input_bytes)
        return self._pending

    def _said(self, input_bytes: float | None) -> Amounts:
        said = [predict(self._past) for predict in sizing.PREDICTORS.values()]
        if self._with_inputs:
            said += [
                nan if input_bytes is None else predict(self._past, input_bytes)
                for predict in sizing.INPUT_PREDICTORS.values()
            ]
        return np.array(said) * _ROUNDING

    def _charge(self, said: Amounts, usage: Usage) -> None:
        account = self._account
        candidates = said[:, None] * MARGINS[None, :]
        if usage.asked is not None and usage.asked >= usage.amount:
            # nobody is advised to ask for more than what was enough
            candidates = np.minimum(candidates, usage.asked)
        failed = candidates < usage.amount
        # where nobody asked for anything, a failed run is repeated with twice of what it needed
        repeated = 2 * usage.amount if usage.asked is None else max(usage.asked, usage.amount)
        spoke = ~np.isnan(said)
        ratios = usage.amount / np.maximum(said, _LEAST)
        logarithms = np.where(spoke, np.log(np.maximum(ratios, _LEAST)), 0.0)
        held = np.where(failed, 0.0, (candidates - usage.amount) * usage.seconds)
        account.predicted += spoke
        account.failures += failed
        account.held_in_vain += np.nan_to_num(held)
        account.failure_costs += np.nan_to_num((candidates + repeated - usage.amount) * usage.seconds)
        account.needed += spoke * usage.amount * usage.seconds
        account.log_sums += logarithms
        account.log_squares += logarithms * logarithms
        account.ratios.append(ratios)

    def _chances(self, said: Amounts) -> Amounts:
        """Estimate how often each candidate fails: its own failures, and those of predictions in general."""
        account, prior, runs = self._account, self._prices.prior_runs, self._account.predicted[:, None]
        # of three runs in any order the last is the largest one time in three
        excess = beyond(MARGINS[None, :], self._spreads()[:, None])
        untried = 1 / (len(self._past) + 1)
        exceeded = np.where(runs == 0, untried, (account.failures[:, :1] + 1) / (runs + 2))
        chances = (account.failures + prior * excess * exceeded) / (runs + prior)
        anywhere = self._exchangeable(said[:, None] * MARGINS[None, :])
        # a run with a larger input says nothing of this one, unless the input says nothing
        anywhere[len(sizing.PREDICTORS) :] *= inputs.doubt(self._past)
        return np.asarray(np.fmax(chances, anywhere))

    def _exchangeable(self, candidates: Amounts) -> Amounts:
        """Say how often a run would need more if the next one could have come at any place among the others.

        However long ago it was, what was needed once may be needed again.
        """
        rising = np.sort(self._past.amounts)
        larger = len(rising) - np.searchsorted(rising, candidates, side="right")
        above = np.maximum(candidates / max(float(rising[-1]), _LEAST), 1.0)
        scatter = widened(np.log(np.maximum(rising, _LEAST)).std(), np.array(len(rising)))
        return np.asarray((larger + beyond(above, scatter)) / (len(rising) + 1))

    def _spreads(self) -> Amounts:
        """Say how far the logarithms of amounts scatter around each prediction."""
        account = self._account
        runs = np.maximum(account.predicted, 1.0)
        mean = account.log_sums / runs
        own = np.sqrt(np.maximum(account.log_squares / runs - mean * mean, 0.0))
        amounts = np.log(np.maximum(self._past.amounts, _LEAST))
        return np.where(
            account.predicted < _LEAST_SPREAD,
            widened(amounts.std(), np.array(len(amounts))),
            widened(own, np.maximum(runs, LEAST_RUNS)),
        )

    def _cheapest(self, said: Amounts, chances: Amounts) -> tuple[int, int]:
        account = self._account
        needed = np.maximum(account.needed, _LEAST)[:, None]
        costs = account.held_in_vain / needed + chances * (
            account.failure_costs / needed + self._prices.failure
        )
        # nothing speaks for a predictor that was never tried, but for the first of all
        untried = account.needed <= 0
        untried[0] = False
        costs[np.isnan(said) | untried] = np.inf
        if account.needed[0] <= 0:
            costs[0] = MARGINS
        possible = np.isfinite(costs)
        allowed = max(self._prices.tolerated - _JOB_CHANGED, float(chances[possible].min()))
        costs[chances > allowed] = np.inf
        place = int(np.argmin(costs))
        return place // len(MARGINS), place % len(MARGINS)

    def _interval(self, predictor: int, said: float) -> tuple[float, float]:
        found = np.array([ratio[predictor] for ratio in self._account.ratios])
        ratios = found[~np.isnan(found)]
        if len(ratios) < LEAST_RUNS:
            amounts = self._past.amounts
            return float(amounts.min()), float(amounts.max() * _TWO_RUNS_REACH)
        low, high = np.quantile(ratios, (_TAIL, 1 - _TAIL))
        # quantiles of few values are too near to one another
        slack = 1 + 1 / len(ratios)
        return float(said * low / slack), float(said * high * slack)


def beyond(margins: Amounts, spreads: Amounts) -> Amounts:
    """Say how many of the runs that exceed a prediction do so by a margin: most by little, some by any factor."""
    little = np.maximum(_LITTLE, _SHARE_OF_SPREAD * spreads)
    return np.asarray(0.85 * margins ** (-1 / little) + 0.15 * margins**-2.0)


def widened(spreads: Amounts, runs: Amounts) -> Amounts:
    """Say how far the next run may scatter where few are known, much as Student's distribution does."""
    return np.asarray(spreads * np.sqrt(runs / (runs - 1)) * (1 + _FEW_RUNS / (runs - 1)))


def wilson_high(share: float, runs: float) -> float:
    """Give the upper end of Wilson's interval, one-sided 95 %."""
    squared = _NINETEEN_OF_TWENTY**2
    middle = share + squared / (2 * runs)
    reach = _NINETEEN_OF_TWENTY * sqrt(share * (1 - share) / runs + squared / (4 * runs * runs))
    return min((middle + reach) / (1 + squared / runs), 1.0)
