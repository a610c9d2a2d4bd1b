"""More DataLoader workers where the training waits for its data at almost every step."""

from collections.abc import Iterable
from math import ceil

import numpy as np

from jobmeter.analysis import advice, configs, loading
from jobmeter.analysis.case import Case
from jobmeter.analysis.fits import Estimate
from jobmeter.analysis.loading import Loading
from jobmeter.model import units
from jobmeter.model.report import Evidence, Recommendation, Severity

_WAITING = 0.15
"""Of a step: less waiting is not worth a process more."""
_STEADY = 0.25
"""Of the mean wait: where the usual one is shorter, few waits are long, which more workers do not mend."""
_WORTH_IT = 0.9
_SLOWER, _FASTER = 1.25, 0.85
_UNKNOWN_CORES = 4.0
_MOST = 64


def advise(case: Case) -> Iterable[Recommendation]:
    """Add workers until loading is no longer what a step waits for."""
    steps = loading.told(case.view)
    if steps is None:
        yield from _starved(case)
        return
    if not is_steady(steps):
        return
    # waiting for a disk or a server costs no core: up to twice as many workers as cores
    most = max(steps.workers + 1, min(_MOST, 2 * ceil(steps.cores or _UNKNOWN_CORES)))
    workers = steps.fewest_workers(most)
    after = steps.with_workers(workers)
    if workers <= steps.workers or after > _WORTH_IT * steps.step_seconds:
        return
    estimate = Estimate(after, after * _FASTER, after * _SLOWER)
    times = [units.format_seconds(one) for one in (steps.step_seconds, after, estimate.low, estimate.high)]
    yield Recommendation(
        rule="more_workers",
        severity=Severity.WARNING,
        title="Load data with more workers",
        action=f"Set num_workers: {workers}",
        impact=f"A step takes {times[1]} instead of {times[0]} ({times[2]} to {times[3]})",
        config_path=_path(case),
        current_value=steps.workers,
        recommended_value=workers,
        evidence=(_evidence(steps),),
        predictions=(advice.seconds_prediction(advice.STEP_SECONDS, steps.step_seconds, estimate),),
    )


def is_steady(steps: Loading) -> bool:
    """Tell whether most steps wait, not a few for long."""
    usual = float(np.median(steps.waits))
    return steps.wait_ratio > _WAITING and usual > _STEADY * steps.wait_seconds


def _path(case: Case) -> str | None:
    found = configs.find(case.view.run, "num_workers")
    return None if found is None else found.path


def _evidence(steps: Loading) -> Evidence:
    share = units.format_percent(100 * steps.wait_ratio)
    wait = units.format_seconds(steps.wait_seconds)
    told = f"a step waits {wait} for its data, {share} of its time, with {steps.workers} workers"
    return Evidence(sentence=told, source="data_seconds", value=float(f"{steps.wait_seconds:.6g}"))


def _starved(case: Case) -> Iterable[Recommendation]:
    """Speak of a GPU that waits for data where the training itself does not say how long."""
    found = configs.find(case.view.run, "num_workers")
    workers = None if found is None else found.count
    cores = case.view.run.limits.cpus
    starved = next(case.found("gpu_starved"), None)
    if found is None or workers is None or workers < 0 or starved is None or not cores or workers >= cores:
        return
    more = min(ceil(min(cores, _MOST)), max(4, 2 * workers))
    yield Recommendation(
        rule="more_workers",
        severity=Severity.WARNING,
        title="Load data with more workers",
        action=f"Set num_workers: {more}",
        impact="The GPU waits less; by how much is not known: the training does not tell how long it waits",
        config_path=found.path,
        current_value=workers,
        recommended_value=more,
        evidence=(Evidence(sentence=starved.sentence, source=starved.key or "gpu_starved"),),
    )
