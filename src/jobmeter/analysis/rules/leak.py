"""Memory that grows without end: how long the job can live with it, and what to do until it is mended."""

from collections.abc import Iterable

from jobmeter.analysis.case import Case
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Recommendation


def advise(case: Case) -> Iterable[Recommendation]:
    """Say how long the memory lasts."""
    found = next(case.found("leak"), None)
    if found is None:
        return
    yield Recommendation(
        rule="leak",
        severity=found.severity,
        title="Find what keeps memory",
        action="Look for what a loop appends to (losses kept with their graph, caches, histories); "
        "until then save and restart before the limit is reached",
        impact=_impact(found),
        evidence=(Evidence(sentence=found.sentence, source=found.key or "leak", timestamp=found.begin),),
    )


def _impact(found: Finding) -> str:
    low, high = (found.figures.get(f"{end}_bytes_per_second") for end in ("low", "high"))
    left = found.figures.get("seconds_to_limit")
    words = "Memory stays where it is"
    if isinstance(low, int | float) and isinstance(high, int | float):
        rates = [units.format_bytes(3600 * rate) for rate in (low, high)]
        words = f"{words} instead of growing by {rates[0]} to {rates[1]} an hour"
    if isinstance(left, int | float):
        words = f"{words}; the limit is {units.format_seconds(left)} away"
    return words
