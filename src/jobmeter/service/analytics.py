"""Figures of trainings for dashboards: one job, several side by side, and all of a home in one summary.

A job is found by its `job_id` or by any run of it. The summary reads what lists read, never a point of a series,
and is kept as long as the index does not change.
"""

import hashlib
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path

from jobmeter.analysis import analytics
from jobmeter.analysis.analytics import JobBrief
from jobmeter.errors import UnknownError, UsageError
from jobmeter.model import metrics
from jobmeter.model.run import LIVE, Run
from jobmeter.service import analytics_facts, by_id, cache, index, notices, runs
from jobmeter.stores import Store

Record = dict[str, object]
_State = tuple[tuple[int, int], ...]

MOST_PER_PAGE = 1000
MOST_COMPARED = 20
_MOST_SEEN = 1_000
_LIVE_WORDS = frozenset(status.value for status in LIVE)
_CONFIG_BATCH = tuple(f"config.{name}" for name in analytics_facts.BATCH_NAMES)


class UnknownJobError(UnknownError):
    """No job and no run has that name; an API answers 404."""

    status_code = 404


def job(home: str, job_id: str, *, warn: notices.Warn = notices.to_stderr) -> Record:
    """Calculate the figures of one job, found by its id, any run of it, or the name it was given elsewhere."""
    now = time.time()
    ref = _by_name(home, job_id, warn) or job_id

    def calculate(store: Store, run: Run) -> Record:
        found = analytics.job(analytics_facts.of_job(store, run.job_id, now))
        return found if ref == job_id else found | {"job_id": job_id}

    try:
        return runs.ask(home, ref, calculate, warn=warn)
    except UsageError as error:
        raise UnknownJobError(f"unknown job: {job_id}", hint=error.hint) from error


def served(home: str, job_id: str) -> Record:
    """Calculate the figures of one job for a client of a server, who may name it by its very id or name."""

    def calculate(store: Store, run: Run) -> Record:
        return analytics.job(analytics_facts.of_job(store, run.job_id, time.time())) | {"job_id": job_id}

    return by_id.ask_job(home, job_id, calculate)


def _by_name(home: str, name: str, warn: notices.Warn) -> str | None:
    """Find the newest run of that name, as importers keep the ids of other servers; ids come before names."""
    with index.open_index(home, warn=warn) as opened:
        opened.refresh()
        if not name or opened.ask(lambda store: store.of_job(name) or store.with_prefix(name, 1)):
            return None
        return opened.ask(
            lambda store: next(
                (run_id for run_id, known in store.fields() if known.get("name") == name), None
            )
        )


def compare(home: str, job_ids: Sequence[str], *, warn: notices.Warn = notices.to_stderr) -> Record:
    """Lay jobs side by side, in the order they are named."""
    return analytics.compare([job(home, name, warn=warn) for name in _wanted(job_ids)])


def served_compare(home: str, job_ids: Sequence[str]) -> Record:
    """Lay jobs side by side for a client of a server."""
    wanted = _wanted(job_ids)
    if len(wanted) > MOST_COMPARED:
        raise UsageError(f"{len(wanted)} jobs are too many", hint=f"compare at most {MOST_COMPARED}")
    return analytics.compare([served(home, name) for name in wanted])


def _wanted(job_ids: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(name.strip() for name in job_ids if name.strip()))
    if not wanted:
        raise UsageError("there is no job to compare", hint="name at least one")
    return wanted


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


class _Seen:
    """Since when answers are what they are, as far as this process knows."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, int | None, int], tuple[bytes, float]] = {}
        self._lock = threading.Lock()

    def since(self, asked: tuple[str, int | None, int], record: Record, now: float) -> float:
        """Say when an answer was first seen as it is."""
        digest = hashlib.sha256(repr(record).encode("utf-8", "backslashreplace")).digest()
        with self._lock:
            known = self._since.pop(asked, None)
            at = known[1] if known is not None and known[0] == digest else now
            self._since[asked] = (digest, at)
            if len(self._since) > _MOST_SEEN:
                self._since.pop(next(iter(self._since)))
        return at


_SEEN = _Seen()


def served_system(home: str, *, page: int | None = None, per_page: int = 50) -> tuple[Record, float]:
    """Sum all jobs up for a client of a server, and say since when the answer is what it is."""
    record = system(home, page=page, per_page=per_page)
    return record, _SEEN.since((home, page, per_page), record, time.time())


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
    parts = [_recorder(job_id, fields) for fields in recorders]
    if len(parts) == 1:
        return parts[0]
    utils = [one.gpu_util_percent for one in parts if one.gpu_util_percent is not None]
    speeds = [one.throughput for one in parts if one.throughput is not None]
    return JobBrief(
        job_id=job_id,
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


def _recorder(job_id: str, fields: Mapping[str, object]) -> JobBrief:
    wall = _number(fields.get("wall"))
    is_training = "steps.count" in fields
    return JobBrief(
        job_id=job_id,
        status=str(fields.get("status")),
        duration_seconds=_duration((fields,)) if wall is None else wall,
        is_training=is_training,
        throughput=_throughput(fields) if is_training else None,
        gpu_util_percent=_number(fields.get("gpu_util")),
        gpu_memory_peak_bytes=_number(fields.get("gpu_memory")),
    )


def _duration(recorders: Sequence[Mapping[str, object]]) -> float | None:
    return analytics_facts.covered_seconds(map(_span, recorders))


def _span(fields: Mapping[str, object]) -> tuple[float, float] | None:
    begin, wall, end = (_number(fields.get(name)) for name in ("started", "wall", "ended"))
    if begin is None or (wall is None and end is None):
        return None
    return begin, begin + wall if wall is not None else max(begin, end or begin)


def _throughput(fields: Mapping[str, object]) -> float | None:
    """Give samples a second: steps a second by the batch size, else the job's own word."""
    steps = _number(fields.get("steps.per_second"))
    if steps is not None:
        batch = _number(fields.get(metrics.BATCH_SIZE))
        if batch is None:
            batch = analytics_facts.configured_batch(fields, _CONFIG_BATCH)
        if batch is not None:
            return steps * batch
    if fields.get("origin") in analytics_facts.STEPS_CALLED_SAMPLES:
        return None
    return _number(fields.get(metrics.SAMPLES_PER_SECOND))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
