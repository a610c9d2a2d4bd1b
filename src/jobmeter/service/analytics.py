"""Figures of trainings for dashboards: one job, several side by side, and all of a home in one summary.

A job is found by its `job_id` or by any run of it. The summary is made of sums that the store keeps, and never reads a
point of a series.
"""

import hashlib
import threading
import time
from collections.abc import Sequence
from math import ceil

from jobmeter.analysis import analytics, job_totals
from jobmeter.errors import UnknownError, UsageError
from jobmeter.model.query import Compare, Field, Op, RunQuery
from jobmeter.model.run import Run
from jobmeter.service import all_jobs, analytics_facts, by_id, index, notices, runs
from jobmeter.stores import Store

Record = dict[str, object]

MOST_PER_PAGE = 1000
MOST_COMPARED = 20
_MOST_SEEN = 1_000


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
        named = RunQuery(where=Compare(Field("name"), Op.EQ, name), limit=1)
        found = opened.ask(lambda store: store.values(named, ["id"]))
        return str(found[0][0]) if found else None


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


def system(
    home: str,
    *,
    page: int | None = None,
    per_page: int = 50,
    warn: notices.Warn = notices.to_stderr,
) -> Record:
    """Sum all jobs of a home up; with a page also list the jobs on it, newest first."""
    if page is not None and (page < 1 or not 1 <= per_page <= MOST_PER_PAGE):
        raise UsageError(
            f"there is no page {page} of {per_page}",
            hint=f"pages count from 1, of at most {MOST_PER_PAGE} jobs",
        )

    def read(store: Store) -> Record:
        record = job_totals.system(all_jobs.totals(store))
        return record if page is None else record | _page(store, page, per_page)

    with index.open_index(home, warn=warn) as opened:
        opened.refresh()
        return opened.ask(read)


def _page(store: Store, number: int, size: int) -> Record:
    shown, jobs = all_jobs.page(store, number, size)
    listed = [
        {
            "job_id": one.job_id,
            "status": one.status,
            "throughput": one.throughput,
            "duration": one.duration_seconds,
        }
        for one in shown
    ]
    return {"page": number, "per_page": size, "pages": ceil(jobs / size), "jobs": listed}


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
