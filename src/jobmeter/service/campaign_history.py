"""How the builds of a region went one after another: times, steadiness, cost, success, and where it got worse.

A change is told by the test that guards jobs (`analysis/regression.py`), over the times that successful builds
worked; it is marked at its first build. What can mislead: only builds that are kept are looked at, the last 100 of a
region.
"""

from collections.abc import Iterable, Sequence

from jobmeter.analysis import buildstats, regression
from jobmeter.analysis.regression import Ruling, Told
from jobmeter.model.moments import iso_time
from jobmeter.service.campaign_book import CANCELLED, FAILURE, SUCCESS, Record, amount, outcome

RECENT_BUILDS = 20
"""Those that the line of a region shows one by one."""
_RATE_BUILDS = 10
_WORDS = {SUCCESS: "success", FAILURE: "failure", CANCELLED: "cancelled", None: "pending"}
_CHANGES = {Told.WORSE: "slower", Told.BETTER: "faster"}


def points(builds: Sequence[Record]) -> list[Record]:
    """Lay builds out for charts, oldest first as they are given; what is not known is left out."""
    rates, changes = _success_rates(builds), _changes(builds)
    return [_point(build, rates[place], changes.get(place)) for place, build in enumerate(builds)]


def brief(builds: Sequence[Record]) -> Record:
    """Say how the last builds ended, and how often the region became slower."""
    slower = [one for one in _changes(builds).values() if one.told is Told.WORSE]
    return {
        "recent_outcomes": [_WORDS[outcome(build)] for build in builds[-RECENT_BUILDS:]],
        "regressions": len(slower),
    }


def seconds(build: Record) -> float:
    """Say how long a build worked, or took where that is all that is known; 0 where nothing is."""
    return amount(build, "working_seconds") or amount(build, "duration_seconds")


def _point(build: Record, rate: float | None, change: Ruling | None) -> Record:
    sampled = bool(amount(build, "sample_count"))
    anomalies, score = build.get("anomalies"), build.get("consistency_score")
    known: Record = {
        "build_id": build.get("build_id"),
        "timestamp": iso_time(buildstats.number(build.get("timestamp"))),
        "outcome": _WORDS[outcome(build)],
        "queue_seconds": buildstats.number(build.get("queue_wait_seconds")),
        "working_seconds": seconds(build) or None,
        "cost_usd": buildstats.number(build.get("cost_estimated_usd")),
        "success_rate": rate,
        "error": build.get("error") or None,
    }
    if sampled and isinstance(anomalies, dict):
        known |= {kind: len(anomalies.get(kind) or ()) for kind in ("spikes", "troughs")}
    if sampled and isinstance(score, dict):
        known["consistency"] = buildstats.number(score.get("overall"))
    if change is not None and change.share is not None:
        known |= {"change": _CHANGES[change.told], "change_percent": round(100 * change.share, 1)}
    return {name: value for name, value in known.items() if value is not None}


def _success_rates(builds: Iterable[Record]) -> list[float | None]:
    """Give the percentage of the last builds that ended well, as it stood after each."""
    ended: list[bool] = []
    rates: list[float | None] = []
    for build in builds:
        if outcome(build) in (SUCCESS, FAILURE):
            ended.append(outcome(build) == SUCCESS)
        last = ended[-_RATE_BUILDS:]
        rates.append(round(100 * sum(last) / len(last), 1) if last else None)
    return rates


def _changes(builds: Sequence[Record]) -> dict[int, Ruling]:
    """Find where builds became slower or faster, by the place of the first that was."""
    timed = [place for place, build in enumerate(builds) if outcome(build) == SUCCESS and seconds(build) > 0]
    found: dict[int, Ruling] = {}
    for ruling in regression.rulings([seconds(builds[place]) for place in timed]):
        if ruling.told in _CHANGES and ruling.since is not None:
            found[timed[ruling.since]] = ruling
    return found
