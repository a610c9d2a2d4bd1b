"""What jobs should ask for, from all runs of theirs: found by key, name, project, run or filter."""

import time
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from jobmeter.analysis import jobkey
from jobmeter.analysis.sizing import resources
from jobmeter.errors import UsageError
from jobmeter.exporters import sizing_lines
from jobmeter.model import quantities
from jobmeter.model.query import RunQuery
from jobmeter.model.run import Run
from jobmeter.model.sizing import JobSizing, Resource
from jobmeter.service import filters, index, notices, runs, sizing_facts
from jobmeter.stores import Store

_CANDIDATES = 5
_SUGGESTED = 3
TARGETS = tuple(sizing_lines.TARGETS)

Jobs = dict[str, list[Run]]


class NothingRecordedError(UsageError):
    """There is no run to learn from."""


def size(
    home: str,
    wanted: Sequence[str] = (),
    *,
    since: str | None = None,
    input_bytes: float | None = None,
    warn: notices.Warn = notices.to_stderr,
) -> list[JobSizing]:
    """Advise on the jobs that are wanted, in that order; without any, on all, the largest saving first."""
    now = time.time()
    begin = _moment(since, now)
    with index.open_index(home, warn=warn) as opened:
        opened.refresh()
        sized = opened.ask(
            lambda store: [
                _sized(store, key, found, input_bytes)
                for key, found in _chosen(store, wanted, begin, now).items()
            ]
        )
    return sized if wanted else sorted(sized, key=lambda one: (-saved_bytes(one), one.job))


def told(
    home: str, job: str | None = None, *, since: str | None = None, target: str | None = None
) -> list[dict[str, object]]:
    """Advise as `size --json` does; a home without runs has no job to advise on."""
    try:
        found = size(home, () if job is None else (job,), since=since)
    except NothingRecordedError:
        return []
    return [record(one, target) for one in found]


def record(one: JobSizing, target: str | None) -> dict[str, object]:
    """Render one job, with the lines of a scheduler where one is named."""
    return one.as_record() | ({} if target is None else {"lines": lines(target, [one])})


def lines(target: str, jobs: Sequence[JobSizing]) -> list[str]:
    """Write advice as the lines of a scheduler's own."""
    return sizing_lines.TARGETS[target](jobs)


def saved_bytes(one: JobSizing) -> float:
    """Say how much memory a run of the job would no longer hold."""
    memory = one.advice.get(Resource.MEMORY)
    if memory is None or memory.asked is None or memory.saving is None:
        return 0.0
    return memory.saving * memory.asked


def parse_size(given: str) -> float:
    """Read the size of an input: `12GiB`, or bytes."""
    quantity = quantities.parse_quantity(given)
    kinds = (quantities.Dimension.BYTES, quantities.Dimension.NUMBER)
    if quantity is None or quantity.dimension not in kinds or quantity.value < 0:
        raise UsageError(f"{given} is no size", hint="write bytes, or a size as in 12GiB")
    return quantity.value


def _sized(store: Store, key: str, found: Sequence[Run], input_bytes: float | None) -> JobSizing:
    return resources.size(key, sizing_facts.of_job(store, found), input_bytes=input_bytes)


def _moment(since: str | None, now: float) -> float:
    if since is None:
        return 0.0
    # an age is what people mean by a span here
    moment = quantities.parse_moment(since, now=now) or quantities.parse_moment(f"-{since}", now=now)
    if moment is None:
        raise UsageError(f"{since} is no time", hint="write a date or an age, as in 2026-11-01 or 30d")
    return moment.first


def _chosen(store: Store, wanted: Sequence[str], begin: float, now: float) -> Jobs:
    jobs = _grouped(run for run in store.briefs() if begin <= (run.started_at or 0.0))
    if not jobs:
        raise NothingRecordedError(
            "there is no run to learn from",
            hint="record one, jobmeter run -- COMMAND, or jobmeter import FILE",
        )
    if not wanted:
        return jobs
    found: Jobs = {}
    for one in wanted:
        for key, matching in _wanted(store, jobs, one, now).items():
            known = {run.run_id: run for run in (*found.get(key, ()), *matching)}
            found[key] = list(known.values())
    return found


def _grouped(found: Iterable[Run]) -> Jobs:
    jobs: Jobs = {}
    for run in found:
        jobs.setdefault(jobkey.job_key(run), []).append(run)
    return jobs


def _wanted(store: Store, jobs: Jobs, wanted: str, now: float) -> Jobs:
    """Take a text for what it can be: a key, a name or project, a run, a filter."""
    if wanted in jobs:
        return {wanted: jobs[wanted]}
    named = {
        key: found for key, found in jobs.items() if any(wanted in (run.name, run.project) for run in found)
    }
    named = named or {key: found for key, found in jobs.items() if key.rpartition(":")[2] == wanted}
    if named:
        return named
    ids = (
        {store.briefs(limit=1)[0].run_id}
        if wanted == runs.LAST
        else set(store.with_prefix(wanted, _CANDIDATES))
    )
    of_run = {key: found for key, found in jobs.items() if any(run.run_id in ids for run in found)}
    if of_run:
        return of_run
    return _matching(store, jobs, wanted, now)


def _matching(store: Store, jobs: Jobs, wanted: str, now: float) -> Jobs:
    where = filters.parse(wanted, now=now)
    ids = {run_id for (run_id,) in store.values(RunQuery(where=where), ["id"])}
    found = {key: [run for run in known if run.run_id in ids] for key, known in jobs.items()}
    found = {key: known for key, known in found.items() if known}
    if not found:
        near = get_close_matches(wanted, jobs, _SUGGESTED, 0.3) or sorted(jobs)[:_SUGGESTED]
        raise UsageError(
            f"no job matches {wanted}",
            hint=f"some jobs are {', '.join(near)}; all are in `jobmeter size --json`",
        )
    return found
