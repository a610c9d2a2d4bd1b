"""How the regions of a campaign do, as `campaign show` tells: sums over all builds, the rest over the latest.

A figure that no build told is absent. A trend compares the latest builds that ended well with those before them.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from jobmeter.analysis import buildstats
from jobmeter.errors import UnknownError
from jobmeter.model.moments import iso_time
from jobmeter.service import campaign, campaign_book, campaign_history
from jobmeter.service.campaign_book import FAILURE, SUCCESS, Record, amount, outcome

_DAY_SECONDS = 86400
_TREND_BUILDS, _FEWEST_BUILDS = 5, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One region on one line; None is not known."""

    name: str
    builds: int
    pending: int
    successes: int
    failures: int
    cancelled: int
    success_rate: float | None
    streak: int
    queue_seconds: float | None
    working_seconds: float | None
    cost_usd: float | None
    spikes: int | None
    """Of the latest builds that were sampled, all together."""
    troughs: int | None
    sampled: int
    consistency: float | None
    trend_percent: float | None
    """By how much longer the latest builds work than those before; negative is faster."""
    last_error: str | None
    last_used: float | None

    def as_record(self) -> Record:
        """Render for JSON; what is not known is left out."""
        names = [name for name in self.__slots__ if name not in ("name", "last_used")]
        known = {"region": self.name} | {name: getattr(self, name) for name in names}
        if self.consistency is not None:
            known["consistency_band"] = buildstats.score_band(self.consistency)
        known["last_used"] = iso_time(self.last_used)
        return {name: value for name, value in known.items() if value is not None}


def regions(document: Record, *, since: float | None = None) -> list[Region]:
    """Sum the regions up, by name; `since` looks at builds after a moment only, as far as they are kept."""
    found = campaign_book.regions(document).items()
    return [_region(name, stats, since) for name, stats in sorted(found)]


def told(home: str) -> Record:
    """Lay out the campaign of a home as `campaign show --json` does."""
    document = campaign.load(campaign.file_of(home))
    return laid_out(document, regions(document))


def laid_out(document: Record, shown: Sequence[Region]) -> Record:
    """Lay out some regions of a campaign."""
    return {
        "campaign_start": _iso(document, "campaign_start"),
        "last_updated": _iso(document, "last_updated"),
        "total_builds_all_regions": int(amount(document, "total_builds_all_regions")),
        "regions": [one.as_record() | _recent(document, one.name) for one in shown],
    }


def region_told(home: str, name: str) -> Record:
    """Lay out one region with the builds that are kept of it, the latest first."""
    document = campaign.load(campaign.file_of(home))
    found = next((one for one in regions(document) if one.name == name), None)
    if found is None:
        raise UnknownError("there is no such region", hint="GET /api/v1/campaigns lists them")
    builds = campaign_book.builds_of(campaign_book.region_of(document, name))
    return {
        "region": found.as_record() | campaign_history.brief(builds),
        "builds": list(reversed(builds)),
        "history": campaign_history.points(builds),
    }


def _recent(document: Record, name: str) -> Record:
    return campaign_history.brief(campaign_book.builds_of(campaign_book.region_of(document, name)))


def _iso(document: Record, key: str) -> str | None:
    moment = document.get(key)
    return iso_time(moment) if isinstance(moment, int | float) else None


def days_ago(days: float, now: float) -> float:
    """Give the moment so many days before now."""
    return now - days * _DAY_SECONDS


def _region(name: str, stats: Record, since: float | None) -> Region:
    kept = campaign_book.builds_of(stats)
    builds = [build for build in kept if since is None or amount(build, "timestamp") >= since]
    ended = [build for build in builds if outcome(build) in (SUCCESS, FAILURE)]
    sampled = [build for build in builds if amount(build, "sample_count")]
    if since is not None:
        stats = stats | _sums(builds, ended)
    decided = amount(stats, "successes") + amount(stats, "failures")
    error = stats.get("last_error")
    return Region(
        name=name,
        builds=int(amount(stats, "total_builds")),
        pending=sum(1 for build in builds if outcome(build) is None),
        successes=int(amount(stats, "successes")),
        failures=int(amount(stats, "failures")),
        cancelled=int(amount(stats, "cancelled")),
        success_rate=round(100 * amount(stats, "successes") / decided, 1) if decided else None,
        streak=int(amount(stats, "current_streak")),
        queue_seconds=_mean(stats, "total_queue_wait_minutes", "queue_wait_count", 60),
        working_seconds=_mean(stats, "total_working_seconds", "working_count", 1),
        cost_usd=round(amount(stats, "total_cost_usd"), 2) if amount(stats, "cost_count") else None,
        spikes=_anomalies(sampled, "spikes") if sampled else None,
        troughs=_anomalies(sampled, "troughs") if sampled else None,
        sampled=len(sampled),
        consistency=_consistency(sampled),
        trend_percent=_trend(ended),
        last_error=error if isinstance(error, str) else None,
        last_used=buildstats.number(stats.get("last_used")),
    )


def _sums(builds: Sequence[Record], ended: Sequence[Record]) -> Record:
    """Count a part of the builds as a region counts all of them."""
    part: Record = {"regions": {}}
    for build in builds:
        campaign_book.settle(part, "part", {**build, "build_id": None}, 0.0)
    stats = campaign_book.region_of(part, "part") if builds else {}
    errors = [build["error"] for build in ended if outcome(build) == FAILURE and build.get("error")]
    empty = dict.fromkeys(("total_builds", "successes", "failures", "cancelled", "current_streak"), 0)
    return {**empty, "queue_wait_count": 0, "working_count": 0, "cost_count": 0} | {
        **stats,
        "last_error": errors[-1] if errors else None,
    }


def _mean(stats: Record, total: str, count: str, factor: float) -> float | None:
    of = amount(stats, count)
    return round(factor * amount(stats, total) / of, 1) if of else None


def _anomalies(sampled: Sequence[Record], kind: str) -> int:
    found = [build.get("anomalies") for build in sampled]
    return sum(len(one.get(kind) or ()) for one in found if isinstance(one, dict))


def _consistency(sampled: Sequence[Record]) -> float | None:
    """Give the mean score of builds with samples enough for one."""
    scores = [score for build in sampled if isinstance(score := build.get("consistency_score"), dict)]
    overall = [amount(score, "overall") for score in scores if _is_scored(score)]
    return round(statistics.mean(overall), 2) if overall else None


def _is_scored(score: Record) -> bool:
    """Tell a bad score from none: fewer than two values have neither score nor variation."""
    parts = [part for part in score.values() if isinstance(part, dict)]
    return any(amount(part, "score") or amount(part, "cv") for part in parts)


def _trend(ended: Sequence[Record]) -> float | None:
    worked = [campaign_history.seconds(build) for build in ended if outcome(build) == SUCCESS]
    times = [seconds for seconds in worked if seconds > 0]
    latest, before = times[-_TREND_BUILDS:], times[:-_TREND_BUILDS][-_TREND_BUILDS:]
    if len(before) < _FEWEST_BUILDS:
        return None
    was = statistics.median(before)
    return round(100 * (statistics.median(latest) - was) / was, 1)
