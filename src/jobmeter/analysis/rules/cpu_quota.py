"""More cores where a quota held the job back: the work that waited says how many."""

from collections.abc import Iterable
from math import ceil

from jobmeter.analysis import configs
from jobmeter.analysis.case import Case
from jobmeter.analysis.configs import Asked
from jobmeter.model.report import Evidence, Recommendation, Severity

_MUCH = 0.1
_MOST_TIMES = 4.0


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
    more = ceil(cpus * min(_MOST_TIMES, 1 / max(1 - ratio, 1 / _MOST_TIMES)))
    yield Recommendation(
        rule="cpu_quota",
        severity=Severity.WARNING,
        title="Ask for more cores",
        action=f"Set {Asked.CPUS.value if asked is None else asked.path}={more}, or start fewer threads",
        impact=f"The job was held back {ratio:.0%} of the time",
        config_path=None if asked is None else asked.path,
        current_value=cpus,
        recommended_value=more,
        evidence=(Evidence(sentence=throttled.sentence, source=throttled.key or "cpu_throttled"),),
    )
