"""What to ask for of each resource, from the facts of a job's runs in the order they ran."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from jobmeter.analysis.sizing.facts import RunFacts
from jobmeter.analysis.sizing.ledger import LEAST_RUNS, Ledger, Offer, Prices, wilson_high
from jobmeter.analysis.sizing.past import Usage
from jobmeter.model.sizing import Advice, Confidence, JobSizing, Resource

MIB = 1 << 20
_LEAST_MEMORY_BYTES = 64 * MIB
"""Less than this no runtime starts in."""
_OOM_FACTOR, _OOM_BYTES = 1.2, 100 * MIB
"""A run that was killed for memory needed more by this factor, or by this much."""
_TIMEOUT_FACTOR = 1.2
_BETWEEN_SAMPLES = 1.25
"""Cores beyond the mean where only the mean is known."""
_TIME_PRICES = Prices(failure=20.0)
"""A run that is cut off at its time limit is lost whole, and a limit that is too long costs little."""
_FEW, _MANY = 5, 20
_UNSURE, _SURE = 0.25, 0.03
_KEPT = 0.9
"""The share of runs that must not take longer with fewer cores."""


def size(job: str, runs: Sequence[RunFacts], *, input_bytes: float | None = None) -> JobSizing:
    """Advise on every resource that enough runs tell of."""
    advice: dict[Resource, Advice] = {}
    missing: dict[Resource, str] = {}
    found: dict[Resource, Advice | str] = {
        Resource.MEMORY: _memory(runs, input_bytes),
        Resource.CPUS: _cpus(runs),
        Resource.TIME: _time(runs, input_bytes),
        Resource.GPUS: _gpus(runs),
    }
    for resource, one in found.items():
        if isinstance(one, Advice):
            advice[resource] = one
        else:
            missing[resource] = one
    return JobSizing(job=job, runs=len(runs), advice=advice, missing=missing, input_bytes=input_bytes)


def _memory(runs: Sequence[RunFacts], input_bytes: float | None) -> Advice | str:
    usages = [
        Usage(
            amount=amount,
            seconds=run.wall_seconds or 1.0,
            asked=run.asked_memory_bytes,
            input_bytes=run.input_bytes,
        )
        for run, amount in _amounts(runs, Resource.MEMORY, lambda run: run.memory_bytes, _after_oom)
    ]
    asked = _newest(run.asked_memory_bytes for run in runs)
    return _by_ledger(Resource.MEMORY, usages, asked, Prices(), input_bytes)


def _time(runs: Sequence[RunFacts], input_bytes: float | None) -> Advice | str:
    usages = [
        Usage(amount=amount, asked=run.asked_seconds, input_bytes=run.input_bytes)
        for run, amount in _amounts(
            runs, Resource.TIME, lambda run: run.wall_seconds, lambda seconds: seconds * _TIMEOUT_FACTOR
        )
    ]
    asked = _newest(run.asked_seconds for run in runs)
    return _by_ledger(Resource.TIME, usages, asked, _TIME_PRICES, input_bytes)


def _after_oom(amount: float) -> float:
    return max(amount * _OOM_FACTOR, amount + _OOM_BYTES)


def _amounts(
    runs: Sequence[RunFacts],
    resource: Resource,
    amount_of: Callable[[RunFacts], float | None],
    more: Callable[[float], float],
) -> Iterator[tuple[RunFacts, float]]:
    """Go through the runs that tell how much the job needs; one that ran out of it needed more."""
    for run in runs:
        amount = amount_of(run)
        if amount is None or amount <= 0:
            continue
        if run.ran_out_of is resource:
            yield run, more(amount)
        elif run.ended_well:
            yield run, amount


def _newest(asked: Iterator[float | None]) -> float | None:
    known = [one for one in asked if one is not None]
    return known[-1] if known else None


def _by_ledger(
    resource: Resource,
    usages: Sequence[Usage],
    asked: float | None,
    prices: Prices,
    input_bytes: float | None,
) -> Advice | str:
    ledger = Ledger(prices, with_inputs=input_bytes is not None)
    amounts = [usage.amount for usage in usages]
    # what was always enough is enough
    ceiling = asked if asked is not None and max(amounts, default=0.0) <= asked else None
    offer = ledger.replay(usages).advise(input_bytes, ceiling=ceiling)
    if offer is None:
        return _too_few(len(usages))
    advised = min(_rounded(resource, offer.amount), ceiling or math.inf)
    return Advice(
        resource=resource,
        advised=advised,
        runs=offer.runs,
        typical=float(np.median(amounts)),
        largest=max(amounts),
        low=offer.low,
        high=offer.high,
        failure_probability=offer.failure_probability,
        failure_high=offer.failure_high,
        confidence=_confidence(offer),
        method=f"{offer.predictor} x {offer.margin:.3g}",
        asked=asked,
    )


def _too_few(known: int) -> str:
    return f"not enough data: {known} of at least {LEAST_RUNS} runs that ended well tell of it"


def _confidence(offer: Offer) -> Confidence:
    if offer.runs < _FEW or offer.failure_high > _UNSURE:
        return Confidence.LOW
    return (
        Confidence.HIGH if offer.runs >= _MANY and offer.failure_probability <= _SURE else Confidence.MEDIUM
    )


def _rounded(resource: Resource, amount: float) -> float:
    """Round up to what people write: about one part in fifty, whole mebibytes or whole minutes."""
    if resource is Resource.MEMORY:
        amount, step = max(amount, _LEAST_MEMORY_BYTES), MIB
    else:
        step = 60
    while step * 64 < amount:
        step *= 2
    return float(math.ceil(amount / step) * step)


def _cpus(runs: Sequence[RunFacts]) -> Advice | str:
    told = [(run, run.cores) for run in runs if run.ended_well and run.cores is not None]
    if len(told) < LEAST_RUNS:
        return _too_few(len(told))
    sampled = [run.is_sampled for run, _ in told]
    needs = [cores if run.is_sampled else cores * _BETWEEN_SAMPLES for run, cores in told]
    asked = _newest(run.asked_cpus for run in runs)
    # a mean of 0.99 cores is one busy core, not two
    advised = float(max(math.ceil(float(np.quantile(needs, _KEPT, method="higher")) - 0.05), 1))
    if asked is not None:
        advised = min(advised, max(asked, 1.0))
    over = sum(need > advised + 0.05 for need in needs)
    method = "cores used over time" if all(sampled) else "mean cores used x 1.25"
    return _counted(Resource.CPUS, [cores for _, cores in told], advised, over, asked, method)


def _gpus(runs: Sequence[RunFacts]) -> Advice | str:
    used = [float(run.gpus) for run in runs if run.ended_well and run.gpus is not None]
    if not used:
        return "no GPU was seen"
    if len(used) < LEAST_RUNS:
        return _too_few(len(used))
    asked = _newest(run.asked_gpus for run in runs)
    return _counted(Resource.GPUS, used, max(used), 0, asked, "GPUs with work on them")


def _counted(
    resource: Resource, amounts: Sequence[float], advised: float, over: int, asked: float | None, method: str
) -> Advice:
    """State the chance by counting the runs it would not have been enough for."""
    chance = (over + 0.5) / (len(amounts) + 1)
    return Advice(
        resource=resource,
        advised=advised,
        runs=len(amounts),
        typical=float(np.median(amounts)),
        largest=max(amounts),
        low=min(amounts),
        high=max(amounts),
        failure_probability=chance,
        failure_high=wilson_high(chance, len(amounts) + 1),
        confidence=Confidence.LOW if len(amounts) < _FEW else Confidence.MEDIUM,
        method=method,
        asked=asked,
    )
