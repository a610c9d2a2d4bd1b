"""Advice that a later run followed: what it promised beside what came.

A run follows an advice where a setting now has the advised value and had another one when the advice was given. What
can mislead: whatever else changed between the two runs is in the difference too.
"""

import re
from collections.abc import Iterable, Iterator

from jobmeter.analysis import configs, loading
from jobmeter.analysis.configs import Asked
from jobmeter.model.report import Followed, Prediction, Recommendation
from jobmeter.model.run import LIVE, Run
from jobmeter.model.view import RunView

_SAME = 0.02
"""Requests are rounded by those who grant them."""
_ASKED = {
    "--mem": Asked.MEMORY,
    "--memory": Asked.MEMORY,
    "--cpus-per-task": Asked.CPUS,
    "--cpus": Asked.CPUS,
    "--time": Asked.TIME,
    "--timeout": Asked.TIME,
}
_TIME = re.compile(r"(?:(\d+)-)?(\d+):(\d+):(\d+)")
_SIZE = re.compile(r"(\d+)M")


def differs(one: Run, other: Run) -> bool:
    """Tell whether two runs of a job have other settings: only then an advice may have been followed."""
    if any(configs.value_of(one, name) != configs.value_of(other, name) for name in configs.NAMES):
        return True
    return any(_request(one, asked) != _request(other, asked) for asked in Asked)


def followed(view: RunView, earlier: Run, advised: Iterable[Recommendation]) -> tuple[Followed, ...]:
    """Hold the advice on an earlier run against this one."""
    if view.run.status in LIVE:
        return ()
    return tuple(
        Followed(
            rule=advice.rule,
            run_id=earlier.run_id,
            config_path=advice.config_path,
            value=advice.recommended_value,
            predicted=one,
            actual=actual,
        )
        for advice in advised
        if advice.config_path is not None and _is_followed(advice, advice.config_path, earlier, view.run)
        for one, actual in _outcomes(view, advice.predictions)
    )


def _is_followed(advice: Recommendation, path: str, earlier: Run, later: Run) -> bool:
    asked = _ASKED.get(path)
    if asked is not None:
        wanted = _amount(advice.recommended_value)
        return _is_near(_request(later, asked), wanted) and not _is_near(_request(earlier, asked), wanted)
    name = configs.canonical(path)
    if name is None or advice.recommended_value is None:
        return False
    before, now = configs.value_of(earlier, name), configs.value_of(later, name)
    return now == advice.recommended_value != before


def _request(run: Run, asked: Asked) -> float | None:
    found = configs.request(run, asked)
    return None if found is None else found.number


def _amount(value: object) -> float | None:
    """Read an advised request back: mebibytes, a time, a number."""
    if isinstance(value, int | float):
        return float(value)
    text = str(value)
    size, clock = _SIZE.fullmatch(text), _TIME.fullmatch(text)
    if size is not None:
        return float(int(size[1]) << 20)
    if clock is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in clock.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _is_near(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= _SAME * other


def _outcomes(view: RunView, predictions: Iterable[Prediction]) -> Iterator[tuple[Prediction, float]]:
    for one in predictions:
        actual = _actual(view, one.quantity)
        if actual is not None and 0 <= actual < 1e18:
            yield one, actual


def _actual(view: RunView, quantity: str) -> float | None:
    """Find what a predicted number came to; None where this run did not measure it."""
    headline = view.run.headline.get(quantity)
    if headline is not None:
        return headline.value
    if quantity == "wall_seconds":
        return view.run.wall_seconds
    return loading.mean_step(view) if quantity == "step_seconds" else None
