"""Figures of trainings for dashboards: one job, several side by side, and all of a home in one summary.

A job is found by its `job_id` or by any run of it. The summary reads what lists read, never a point of a series,
and is kept as long as the index does not change.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path

from jobmeter.analysis import analytics
from jobmeter.analysis.analytics import JobBrief
from jobmeter.errors import UsageError
from jobmeter.model import metrics
from jobmeter.model.run import LIVE
from jobmeter.service import analytics_facts, cache, index, notices, runs
from jobmeter.stores import Store

Record = dict[str, object]
_State = tuple[tuple[int, int], ...]

MOST_PER_PAGE = 1000
_LIVE_WORDS = frozenset(status.value for status in LIVE)
_CONFIG_BATCH = tuple(f"config.{name}" for name in analytics_facts.BATCH_NAMES)


class UnknownJobError(UsageError):
    """No job and no run has that name; an API answers 404."""

    status_code = 404


def job(home: str, job_id: str, *, warn: notices.Warn = notices.to_stderr) -> Record:
    """Calculate the figures of one job."""
    now = time.time()
    try:
        return runs.ask(
            home,
            job_id,
            lambda store, run: analytics.job(analytics_facts.of_job(store, run.job_id, now)),
            warn=warn,
        )
    except UsageError as error:
        raise UnknownJobError(f"unknown job: {job_id}", hint=error.hint) from error


def compare(home: str, job_ids: Sequence[str], *, warn: notices.Warn = notices.to_stderr) -> Record:
    """Lay jobs side by side, in the order they are named."""
    wanted = list(dict.fromkeys(name.strip() for name in job_ids if name.strip()))
    if not wanted:
        raise UsageError("there is no job to compare", hint="name at least one")
    return analytics.compare([job(home, name, warn=warn) for name in wanted])


class _Kept:
    """The last summary of each home, with the state of the index it was made of."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[_State, list[JobBrief]]] = {}

    def jobs(self, home: str, warn: notices.Warn) -> list[JobBrief]:
        """Give the jobs of a home, read again only when its index changed."""
        with index.open_index(home, warn=warn) as opened:
            opened.refresh()
            state = _state(home)
            known = self._known.get(home)
            if known is not None and state and known[0] == state:
                return known[1]
            found = opened.ask(_briefs)
        self._known[home] = (state, found)
        return found


_KEPT = _Kept()


def system(
    home: str,
    *,
    page: int | None = None,
    per_page: int = 50,
    warn: notices.Warn = notices.to_stderr,
) -> Record:
    """Sum all jobs of a home up; with a page also list the jobs on it, newest first."""
    found = _KEPT.jobs(home, warn)
    record = analytics.system(found)
    if page is None:
        return record
    if page < 1 or not 1 <= per_page <= MOST_PER_PAGE:
        raise UsageError(
            f"there is no page {page} of {per_page}",
            hint=f"pages count from 1, of at most {MOST_PER_PAGE} jobs",
        )
    shown = found[(page - 1) * per_page : page * per_page]
    listed = [
        {
            "job_id": one.job_id,
            "status": one.status,
            "throughput": one.throughput,
            "duration": one.duration_seconds,
        }
        for one in shown
    ]
    return record | {"page": page, "per_page": per_page, "pages": ceil(len(found) / per_page), "jobs": listed}


def _state(home: str) -> _State:
    """Tell one state of the index from another by its files; empty where it is not in files."""
    try:
        path = cache.index_path(Path(home), os.environ)
        return tuple((made.st_mtime_ns, made.st_size) for made in map(os.stat, _files(path)))
    except OSError:
        return ()


def _files(path: Path) -> Iterable[str]:
    log = f"{path}-wal"
    return (str(path), log) if os.path.exists(log) else (str(path),)


def _briefs(store: Store) -> list[JobBrief]:
    """Read the runs as lists do; the recorders of one job are one."""
    jobs: dict[str, list[Mapping[str, object]]] = {}
    for run_id, fields in store.fields():
        jobs.setdefault(str(fields.get("job_id", run_id)), []).append(fields)
    return [_brief(job_id, recorders) for job_id, recorders in jobs.items()]


def _brief(job_id: str, recorders: Sequence[Mapping[str, object]]) -> JobBrief:
    newest = recorders[0]
    peaks = _numbers(recorders, "gpu_memory")
    utils = _numbers(recorders, "gpu_util")
    walls = _numbers(recorders, "wall")
    speeds = [speed for one in recorders if (speed := _throughput(one)) is not None]
    live = next((one for one in recorders if one.get("status") in _LIVE_WORDS), newest)
    return JobBrief(
        job_id=job_id,
        status=str(live.get("status")),
        duration_seconds=_duration(recorders) if len(recorders) > 1 else next(iter(walls), None),
        is_training=any("steps.count" in one for one in recorders),
        throughput=sum(speeds) if speeds else None,
        gpu_util_percent=sum(utils) / len(utils) if utils else None,
        gpu_memory_peak_bytes=max(peaks, default=None),
    )


def _duration(recorders: Sequence[Mapping[str, object]]) -> float | None:
    spans = [
        (begin, begin + wall)
        for one in recorders
        if (begin := _number(one.get("started"))) is not None
        and (wall := _number(one.get("wall"))) is not None
    ]
    return analytics_facts.covered_seconds(spans)


def _throughput(fields: Mapping[str, object]) -> float | None:
    """Give samples a second: steps a second by the batch size, else the job's own word."""
    steps = _number(fields.get("steps.per_second"))
    batch = _number(fields.get(metrics.BATCH_SIZE))
    if batch is None:
        batch = analytics_facts.configured_batch(fields, _CONFIG_BATCH)
    if steps is not None and batch is not None:
        return steps * batch
    if fields.get("origin") in analytics_facts.STEPS_CALLED_SAMPLES:
        return None
    return _number(fields.get(metrics.SAMPLES_PER_SECOND))


def _numbers(recorders: Sequence[Mapping[str, object]], name: str) -> list[float]:
    return [number for one in recorders if (number := _number(one.get(name))) is not None]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
