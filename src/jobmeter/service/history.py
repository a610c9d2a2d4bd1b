"""Earlier runs of the same work, so that a run can be held against what is normal for it."""

from collections.abc import Collection

from jobmeter.analysis import jobkey
from jobmeter.model.run import Run
from jobmeter.stores import Store

MOST_RUNS = 50
"""More of them say nothing new of what is normal."""


def earlier(store: Store, run: Run, beside: Collection[str] = ()) -> tuple[Run, ...]:
    """Read the runs of the same work that began before this one, newest first, without those beside it."""
    if run.started_at is None:
        return ()
    found: list[Run] = []
    for run_id in store.of_key(jobkey.job_key(run)):
        if len(found) == MOST_RUNS:
            break
        other = store.brief(run_id) if run_id != run.run_id and run_id not in beside else None
        if other is not None and other.started_at is not None and other.started_at < run.started_at:
            found.append(other)
    return tuple(found)
