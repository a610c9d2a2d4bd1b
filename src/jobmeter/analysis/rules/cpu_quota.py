"""More cores where a quota held the job back: the work that waited says how many."""

from collections.abc import Iterable
from math import ceil

from jobmeter.analysis import configs
from jobmeter.analysis.case import Case
from jobmeter.analysis.configs import Asked
from jobmeter.model import units
from jobmeter.model.report import Evidence, Recommendation, Severity

_MUCH = 0.1
"""Of the CPU time the job wanted: a burst that loses less is no reason to ask for cores."""
_LEAST_GRANTED = 0.25
"""Of what it wanted: where it got less, four times the cores are a first step."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Raise the quota by the share of time it held the job back."""
    throttled = next(case.found("cpu_throttled"), None)
    cpus = case.view.run.limits.cpus
    ratio = None if throttled is None else throttled.figures.get("throttled_ratio")
    if throttled is None or cpus is None or not 0 < cpus < 1e6:
        return
    if not isinstance(ratio, int | float) or not ratio > _MUCH:
        return
    asked = configs.request(case.view.run, Asked.CPUS)
    more = ceil(cpus / max(1 - ratio, _LEAST_GRANTED))
    yield Recommendation(
        rule="cpu_quota",
        severity=Severity.WARNING,
        title="Ask for more cores",
        action=f"Set {Asked.CPUS.value if asked is None else asked.path}={more}, or start fewer threads",
        impact=f"The quota withheld {units.format_percent(100 * ratio)} of the CPU time the job wanted",
        config_path=None if asked is None else asked.path,
        current_value=cpus,
        recommended_value=more,
        evidence=(Evidence(sentence=throttled.sentence, source=throttled.key or "cpu_throttled"),),
    )
