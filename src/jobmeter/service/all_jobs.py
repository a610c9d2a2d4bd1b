"""All jobs of a home: what they come to, and a list of them, out of sums and columns that the store keeps.

Most jobs have one run, and their sums are the runs'. Of a job that several recorders recorded the runs are read, and
counted as one.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from jobmeter.analysis import job_totals
from jobmeter.analysis.job_totals import JobBrief, JobTotals
from jobmeter.model.quantities import Moment
from jobmeter.model.query import All, Compare, Either, Facet, Field, Filter, Not, Op, RunQuery, Total
from jobmeter.model.run import LIVE
from jobmeter.service import analytics_facts
from jobmeter.stores import Store

Fields = Mapping[str, object]
_NAMES = (
    "id",
    "job_id",
    "status",
    "started",
    "ended",
    "wall",
    "steps.count",
    "throughput",
    "gpu_util",
    "gpu_memory",
)
_LIVE_WORDS = frozenset(status.value for status in LIVE)
_ANY = Moment(float("-inf"), float("inf"))
_FEW_JOBS = 500
"""Jobs that are asked for at once."""
_SOME_FAST = 50
SOME_RUNS = 20_000
"""Where more runs than these share jobs, all are read in one go."""


def totals(store: Store, *, some_runs: int = SOME_RUNS) -> JobTotals:
    """Add all jobs up."""
    shared = {one.value: one.count for one in _shared(store)}
    if sum(shared.values()) > some_runs:
        return job_totals.of([_brief(job_id, found) for job_id, found in _grouped(store, None)])
    runs = _runs(store)
    recorders = dict(_grouped(store, tuple(shared)))
    parts = {job_id: [_recorder(job_id, one) for one in found] for job_id, found in recorders.items()}
    joined = [_joined(parts[job_id], found) for job_id, found in recorders.items()]
    alone = runs.without(job_totals.of(list(chain.from_iterable(parts.values()))))
    return alone.with_jobs(job_totals.of(joined), [*_fastest(store, shared), *joined])


def page(store: Store, number: int, size: int) -> tuple[list[JobBrief], int]:
    """List a page of jobs, newest first, and count all of them."""
    shared = {one.value: one.count for one in _shared(store)}
    extra = sum(shared.values()) - len(shared)
    jobs = store.count(RunQuery()) - extra
    if (number - 1) * size >= jobs:
        return [], jobs
    seen: dict[str, Fields] = {}
    for one in _read(store, RunQuery(limit=number * size + extra)):
        seen.setdefault(str(one.get("job_id", one["id"])), one)
    shown = list(seen)[(number - 1) * size : number * size]
    recorders = dict(_grouped(store, tuple(job_id for job_id in shown if job_id in shared)))
    return [_brief(job_id, recorders.get(job_id, [seen[job_id]])) for job_id in shown], jobs


def _shared(store: Store) -> list[Facet]:
    return store.facets(RunQuery(), ["job_id"], least=2, most=None)["job_id"]


def _fastest(store: Store, shared: Mapping[str, int]) -> list[JobBrief]:
    """Name the fastest jobs of one recorder, looking further the more of the fastest runs share jobs."""
    most = job_totals.TOP_JOBS + sum(shared.values())
    limit = min(_SOME_FAST, most)
    while True:
        query = RunQuery(sort=Field("throughput"), limit=limit)
        read = [_recorder(str(one.get("job_id", one["id"])), one) for one in _read(store, query)]
        found = [one for one in read if one.job_id not in shared]
        if len(found) >= job_totals.TOP_JOBS or len(read) < limit or limit == most:
            return found
        limit = min(10 * limit, most)


def _runs(store: Store) -> JobTotals:
    """Add all runs up as if each were a job."""
    found = store.totals(RunQuery(), ["throughput", "gpu_util", "gpu_memory"])
    of_training = store.totals(RunQuery(where=_has("steps.count")), ["wall", "steps.count"])
    trained = of_training["wall"]
    known = _unclocked(store) if trained.count < of_training["steps.count"].count else []
    statuses = store.facets(RunQuery(), ["status"], most=None)["status"]
    return JobTotals(
        by_status={one.value: one.count for one in statuses},
        trained=Total(trained.count + len(known), trained.total + sum(known)),
        throughput=found["throughput"],
        gpu_util=found["gpu_util"],
        gpu_memory=found["gpu_memory"],
    )


def _unclocked(store: Store) -> list[float]:
    """Time trainings without a span of the monotonic clock: they may still have two times of the wall clock."""
    where = All((_has("steps.count"), _has("ended"), Not(_has("wall"))))
    found = [_duration((one,)) for one in _read(store, RunQuery(where=where))]
    return [seconds for seconds in found if seconds is not None]


def _has(name: str) -> Compare:
    return Compare(Field(name), Op.EQ, "", _ANY)


def _grouped(store: Store, jobs: Sequence[str] | None) -> Iterator[tuple[str, list[Fields]]]:
    """Read the runs of some jobs, or of all, newest first."""
    found: dict[str, list[Fields]] = {}
    for where in [None] if jobs is None else _any_of(jobs):
        for one in _read(store, RunQuery(where=where)):
            found.setdefault(str(one.get("job_id", one["id"])), []).append(one)
    yield from found.items()


def _any_of(jobs: Sequence[str]) -> Iterator[Filter]:
    for begin in range(0, len(jobs), _FEW_JOBS):
        part = jobs[begin : begin + _FEW_JOBS]
        yield Either(tuple(Compare(Field("job_id"), Op.EQ, job_id) for job_id in part))


def _read(store: Store, query: RunQuery) -> Iterator[Fields]:
    for row in store.values(query, _NAMES):
        yield {name: value for name, value in zip(_NAMES, row, strict=True) if value is not None}


def _brief(job_id: str, recorders: Sequence[Fields]) -> JobBrief:
    return _joined([_recorder(job_id, fields) for fields in recorders], recorders)


def _joined(parts: Sequence[JobBrief], recorders: Sequence[Fields]) -> JobBrief:
    if len(parts) == 1:
        return parts[0]
    utils = [one.gpu_util_percent for one in parts if one.gpu_util_percent is not None]
    speeds = [one.throughput for one in parts if one.throughput is not None]
    return JobBrief(
        job_id=parts[0].job_id,
        status=next((one.status for one in parts if one.status in _LIVE_WORDS), parts[0].status),
        duration_seconds=_duration(recorders),
        is_training=any(one.is_training for one in parts),
        throughput=sum(speeds) if speeds else None,
        gpu_util_percent=sum(utils) / len(utils) if utils else None,
        gpu_memory_peak_bytes=max(
            (one.gpu_memory_peak_bytes for one in parts if one.gpu_memory_peak_bytes is not None),
            default=None,
        ),
    )


def _recorder(job_id: str, fields: Fields) -> JobBrief:
    wall = _number(fields.get("wall"))
    return JobBrief(
        job_id=job_id,
        status=str(fields.get("status")),
        duration_seconds=_duration((fields,)) if wall is None else wall,
        is_training="steps.count" in fields,
        throughput=_number(fields.get("throughput")),
        gpu_util_percent=_number(fields.get("gpu_util")),
        gpu_memory_peak_bytes=_number(fields.get("gpu_memory")),
    )


def _duration(recorders: Sequence[Fields]) -> float | None:
    return analytics_facts.covered_seconds(map(_span, recorders))


def _span(fields: Fields) -> tuple[float, float] | None:
    begin, wall, end = (_number(fields.get(name)) for name in ("started", "wall", "ended"))
    if begin is None or (wall is None and end is None):
        return None
    return begin, begin + wall if wall is not None else max(begin, end or begin)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
