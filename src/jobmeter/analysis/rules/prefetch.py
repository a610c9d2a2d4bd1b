"""A longer queue of batches where few steps wait, but long: a slow file, a new shard, a busy disk.

Each batch more that stands ready covers one step of such a wait. It does nothing for workers that are too slow on
average, and every batch in the queue is held in memory.
"""

from collections.abc import Iterable

import numpy as np

from jobmeter.analysis import advice, configs, loading
from jobmeter.analysis.case import Case
from jobmeter.analysis.fits import Estimate
from jobmeter.analysis.loading import DEFAULT_PREFETCH, Loading
from jobmeter.analysis.rules.more_workers import is_steady
from jobmeter.model import units
from jobmeter.model.report import Evidence, Recommendation, Severity

_WAITING = 0.1
_TRIED = (4, 8, 16, 32)
_NO_GAIN, _WORTH_IT = 1.05, 0.95
_SLOWER, _FASTER = 1.15, 0.9


def advise(case: Case) -> Iterable[Recommendation]:
    """Lengthen the queue where that covers long waits."""
    steps = loading.told(case.view)
    if steps is None or steps.workers == 0 or steps.wait_ratio <= _WAITING or is_steady(steps):
        return
    told = configs.find(case.view.run, "prefetch_factor")
    now = DEFAULT_PREFETCH if told is None or told.count is None else told.count
    tried = [factor for factor in _TRIED if factor > now]
    if now < 1 or not tried:
        return
    times = {factor: steps.with_queue(now * steps.workers, factor * steps.workers) for factor in tried}
    factor = next(one for one in tried if times[one] <= _NO_GAIN * times[tried[-1]])
    after = times[factor]
    if after > _WORTH_IT * steps.step_seconds:
        return
    estimate = Estimate(after, after * _FASTER, after * _SLOWER)
    words = [units.format_seconds(one) for one in (steps.step_seconds, after, estimate.low, estimate.high)]
    yield Recommendation(
        rule="prefetch",
        severity=Severity.INFO,
        title="Hold more batches ready",
        action=f"Set prefetch_factor: {factor}",
        impact=f"A step takes {words[1]} instead of {words[0]} on average ({words[2]} to {words[3]})",
        config_path=None if told is None else told.path,
        current_value=now,
        recommended_value=factor,
        evidence=(_evidence(steps),),
        predictions=(advice.seconds_prediction(advice.STEP_SECONDS, steps.step_seconds, estimate),),
    )


def _evidence(steps: Loading) -> Evidence:
    usual, longest = float(np.median(steps.waits)), float(steps.waits.max())
    told = (
        f"most steps wait {units.format_seconds(usual)} for their data, the longest "
        f"{units.format_seconds(longest)}, all together {units.format_percent(100 * steps.wait_ratio)} of the time"
    )
    return Evidence(sentence=told, source="data_seconds", value=float(f"{longest:.6g}"))
