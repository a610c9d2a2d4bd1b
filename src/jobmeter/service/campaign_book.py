"""The bookkeeping of a build campaign: pure, on the one document that `campaign_stats.json` holds.

Whether a build is announced, completed or recorded at once, `settle` is the one way in: the record it finds is taken
out of the sums, changed, and counted again. So saying the same twice changes nothing, sums never shrink when old
builds leave the list, a build that still waits is neither success nor failure, and a rate is always a percentage of
those that ended.
"""

from collections.abc import Iterator, Mapping

from jobmeter.analysis import buildstats
from jobmeter.config import redaction
from jobmeter.service.campaign_text import concise

Record = dict[str, object]

SCHEMA = 1
MAX_RECENT_BUILDS = 100
PENDING_ID = "pending"
SUCCESS, FAILURE, CANCELLED = "SUCCESS", "FAILURE", "CANCELLED"
PENDING = frozenset(("PENDING", "QUEUED", "WORKING", "RUNNING", "STATUS_UNKNOWN"))
_ERROR_LETTERS, _FATIGUE_LETTERS = 80, 60
REASON_CODES = ("queue-timeout", "beacon-timeout", "unknown")

_FACTS: Record = dict.fromkeys(
    (
        *("timestamp", "build_id", "build_type", "machine_type", "success", "status"),
        *(
            "duration_seconds",
            "duration_minutes",
            "queue_wait_seconds",
            "queue_wait_minutes",
            "working_seconds",
        ),
        *("fetch_source_seconds", "build_phase_seconds", "push_image_seconds", "log_url", "worker_pool"),
        *("build_duration_minutes", "build_start_time", "build_end_time", "push_duration_minutes"),
        *(
            "total_steps",
            "failed_step",
            "spot_price_per_hour",
            "cost_estimated_usd",
            "error",
            "timeout_reason",
        ),
    )
)
_REGION: Record = {
    "total_builds": 0,
    "successes": 0,
    "failures": 0,
    "cancelled": 0,
    "success_rate": 0.0,
    "total_duration_minutes": 0.0,
    "total_queue_wait_minutes": 0.0,
    "total_working_seconds": 0,
    "total_cost_usd": 0.0,
    "duration_count": 0,
    "queue_wait_count": 0,
    "working_count": 0,
    "cost_count": 0,
    "avg_duration_minutes": 0.0,
    "avg_queue_wait_minutes": 0.0,
    "avg_working_seconds": 0.0,
    "fastest_minutes": None,
    "slowest_minutes": None,
    "last_error": None,
    "last_error_time": None,
    "fatigue_incidents": 0,
    "last_fatigue_reason": None,
    "last_fatigue_reason_code": None,
    "last_fatigue_time": None,
    "current_streak": 0,
    "last_used": None,
}
_SUMS = (
    # the sum, how many builds it is of, what of a build is added, and by which factor
    ("total_duration_minutes", "duration_count", "duration_seconds", 1 / 60),
    ("total_queue_wait_minutes", "queue_wait_count", "queue_wait_seconds", 1 / 60),
    ("total_working_seconds", "working_count", "working_seconds", 1),
    ("total_cost_usd", "cost_count", "cost_estimated_usd", 1),
)
_AVERAGES = {
    "avg_duration_minutes": ("total_duration_minutes", "duration_count"),
    "avg_queue_wait_minutes": ("total_queue_wait_minutes", "queue_wait_count"),
    "avg_working_seconds": ("total_working_seconds", "working_count"),
}
_TALLIES = {SUCCESS: "successes", FAILURE: "failures", CANCELLED: "cancelled"}


def fresh(now: float) -> Record:
    """Begin a campaign."""
    return {
        "schema": SCHEMA,
        "campaign_start": now,
        "last_updated": now,
        "total_builds_all_regions": 0,
        "regions": {},
    }


def regions(document: Record) -> dict[str, Record]:
    """Give the regions of a document by name, for changing them."""
    found = document.setdefault("regions", {})
    if not isinstance(found, dict):
        raise TypeError("regions is no mapping")
    return found


def region_of(document: Record, name: str) -> Record:
    """Give one region; one that is new begins with nothing."""
    return regions(document).setdefault(name, _REGION | {"recent_builds": []})


def builds_of(region: Record) -> list[Record]:
    """Give the latest builds of a region, oldest first, for changing them."""
    found = region.setdefault("recent_builds", [])
    if not isinstance(found, list):
        raise TypeError("recent_builds is no list")
    return found


def outcome(record: Mapping[str, object] | None) -> str | None:
    """Say how a build ended; None while it has not."""
    status = None if record is None else str(record.get("status")).upper()
    if record is None or record.get("success") is None or status in PENDING:
        return None
    if status == CANCELLED:
        return CANCELLED
    return SUCCESS if record.get("success") else FAILURE


def amount(record: Mapping[str, object], key: str) -> float:
    """Give a number of a record, 0 where there is none."""
    return buildstats.number(record.get(key)) or 0


def settle(
    document: Record, region: str, told: Mapping[str, object], now: float, *, may_be_pending: bool = False
) -> Record:
    """Write down what is told of a build, whether it is known already or not, and give its record.

    A build that was announced before its id was known (`pending`) takes the id of the first that is told of
    with `may_be_pending`.
    """
    stats = region_of(document, region)
    builds = builds_of(stats)
    place = _place(builds, told.get("build_id"), may_be_pending=may_be_pending)
    before = None if place is None else builds[place]
    record = _changed(before, told, now)
    _count(stats, before, -1)
    _count(stats, record, 1)
    if place is None:
        stats["total_builds"] = int(amount(stats, "total_builds")) + 1
        builds.append(record)
    else:
        builds[place] = record
    del builds[:-MAX_RECENT_BUILDS]
    _note_ending(stats, before, record, now)
    _derive(document, stats, now)
    return record


def _place(builds: list[Record], build_id: object, *, may_be_pending: bool) -> int | None:
    """Find a build by its id, else the latest that waits for one."""
    wanted = [build_id] if build_id not in (None, PENDING_ID) else []
    for sought in [*wanted, PENDING_ID] if may_be_pending else wanted:
        for place in range(len(builds) - 1, -1, -1):
            if builds[place].get("build_id") == sought and (
                sought != PENDING_ID or outcome(builds[place]) is None
            ):
                return place
    return None


def _changed(before: Record | None, told: Mapping[str, object], now: float) -> Record:
    nothing = _FACTS | {"timestamp": now, "status": "PENDING", "fatigues": []} | buildstats.build_metrics(())
    record = (nothing if before is None else nothing | before) | {
        key: value for key, value in told.items() if value is not None
    }
    if isinstance(record["error"], str):
        record["error"] = concise(record["error"], _ERROR_LETTERS)
    if isinstance(record["log_url"], str):
        record["log_url"] = redaction.redact_text(record["log_url"])
    for words in ("duration", "queue_wait"):
        seconds = buildstats.number(record[f"{words}_seconds"])
        record[f"{words}_minutes"] = None if seconds is None else round(seconds / 60, 1)
    record["cost_estimated_usd"] = _cost(record)
    return record


def _cost(record: Record) -> float | None:
    """Estimate what a build cost: time at work is paid for, time in the queue is not."""
    price = buildstats.number(record["spot_price_per_hour"])
    seconds = buildstats.number(record["working_seconds"])
    if seconds is None:
        whole = buildstats.number(record["duration_seconds"])
        seconds = None if whole is None else max(whole - amount(record, "queue_wait_seconds"), 0)
    if price is None or seconds is None:
        return buildstats.number(record["cost_estimated_usd"])
    return round(price * seconds / 3600, 4)


def _count(stats: Record, record: Record | None, sign: int) -> None:
    """Add an ended build to the sums of its region, or take it out."""
    ended = outcome(record)
    if record is None or ended is None:
        return
    tally = _TALLIES[ended]
    stats[tally] = max(int(amount(stats, tally)) + sign, 0)
    if ended == CANCELLED:
        return
    for total, count, key, factor in _SUMS:
        value = buildstats.number(record.get(key))
        if value is not None:
            stats[total] = round(max(amount(stats, total) + sign * value * factor, 0), 6)
            stats[count] = max(int(amount(stats, count)) + sign, 0)


def _note_ending(stats: Record, before: Record | None, record: Record, now: float) -> None:
    ended = outcome(record)
    stats["last_used"] = now
    if ended not in (SUCCESS, FAILURE) or ended == outcome(before):
        return
    minutes = buildstats.number(record["duration_minutes"])
    if minutes is not None:
        known = [
            amount(stats, key) for key in ("fastest_minutes", "slowest_minutes") if stats.get(key) is not None
        ]
        stats["fastest_minutes"], stats["slowest_minutes"] = min([*known, minutes]), max([*known, minutes])
    if ended == FAILURE and record["error"]:
        stats["last_error"], stats["last_error_time"] = record["error"], now
    stats["current_streak"] = _streak(stats, changed=outcome(before) is not None, won=ended == SUCCESS)


def _streak(stats: Record, *, changed: bool, won: bool) -> int:
    """Say how many builds in a row succeeded, as a negative number how many failed."""
    if changed:
        return _counted_streak(stats)  # another verdict on a build of the past
    streak = int(amount(stats, "current_streak"))
    if won:
        return max(streak, 0) + 1
    return min(streak, 0) - 1


def _counted_streak(stats: Record) -> int:
    endings = [ended for build in builds_of(stats) if (ended := outcome(build)) in (SUCCESS, FAILURE)]
    length = next((n for n, ended in enumerate(reversed(endings)) if ended != endings[-1]), len(endings))
    return length if endings and endings[-1] == SUCCESS else -length


def _derive(document: Record, stats: Record, now: float) -> None:
    ended = amount(stats, "successes") + amount(stats, "failures")
    stats["success_rate"] = round(100 * amount(stats, "successes") / ended, 1) if ended else 0.0
    for average, (total, count) in _AVERAGES.items():
        of = amount(stats, count)
        stats[average] = round(amount(stats, total) / of, 1) if of else 0.0
    whole = sum(int(amount(one, "total_builds")) for one in regions(document).values())
    document["total_builds_all_regions"] = max(whole, int(amount(document, "total_builds_all_regions")))
    document["last_updated"] = now


def adopt(document: Record, name: str, region: Record, now: float) -> None:
    """Take a region of another campaign in, with its sums."""
    regions(document)[name] = region
    _derive(document, region, now)


def note_fatigue(document: Record, region: str, reason: str, reason_code: str, now: float) -> None:
    """Write down that a region would not take a build."""
    stats = region_of(document, region)
    stats["fatigue_incidents"] = int(amount(stats, "fatigue_incidents")) + 1
    stats["last_fatigue_reason"] = concise(reason, _FATIGUE_LETTERS)
    stats["last_fatigue_reason_code"] = reason_code if reason_code in REASON_CODES else REASON_CODES[-1]
    stats["last_fatigue_time"] = now
    document["last_updated"] = now


def migrated(document: Record, now: float) -> Record:
    """Bring a document of an older tool up to date: fill what is missing, mend what its faults left."""
    found = fresh(now) | document
    found["regions"] = {name: _region(name, region) for name, region in regions(found).items()}
    if "schema" in document:
        return found
    for region in regions(found).values():
        _mend(region)
        _derive(found, region, amount(found, "last_updated") or now)
    return found | {"schema": SCHEMA}


def _region(name: str, given: object) -> Record:
    if not isinstance(given, dict) or not isinstance(given.get("recent_builds", []), list):
        raise TypeError(f"region {name} cannot be read")
    builds = [dict(build) for build in given.get("recent_builds", []) if isinstance(build, dict)]
    older = {f"last_{key}": given[key] for key in ("fatigue_reason", "fatigue_time") if key in given}
    return _REGION | older | given | {"recent_builds": builds}


def _mend(region: Record) -> None:
    """Count again what an older tool counted: builds that wait were failures to it, costs had two names."""
    builds = builds_of(region)
    for build in builds:
        if build.get("cost_estimated_usd") is None and "cost_usd" in build:
            build["cost_estimated_usd"] = build["cost_usd"]
        if (
            build.get("duration_seconds") is None
            and buildstats.number(build.get("duration_minutes")) is not None
        ):
            build["duration_seconds"] = round(60 * amount(build, "duration_minutes"))
        if outcome(build) is None:
            build["success"] = None
    if amount(region, "total_builds") <= len(builds):
        region |= dict.fromkeys((*_TALLIES.values(), *(word for row in _SUMS for word in row[:2])), 0)
        for build in builds:
            _count(region, build, 1)
        region["total_builds"] = len(builds)
        return
    waiting = sum(1 for build in builds if outcome(build) is None)
    region["failures"] = max(int(amount(region, "failures")) - waiting, 0)
    ended = int(amount(region, "successes") + amount(region, "failures"))
    region |= {count: ended for total, count, _, _ in _SUMS[:2] if amount(region, total)}


def each_build(document: Record) -> Iterator[tuple[str, Record]]:
    """Walk the builds of all regions."""
    for name, region in regions(document).items():
        for build in builds_of(region):
            yield name, build
