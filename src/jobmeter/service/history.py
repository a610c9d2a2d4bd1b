"""Earlier runs of the same work, so that a run can be held against what is normal for it."""

import dataclasses
from collections.abc import Collection

from jobmeter.analysis import jobkey
from jobmeter.model.run import Run
from jobmeter.stores import Store

MOST_RUNS = 50
"""More of them say nothing new of what is normal."""
_WITH_CONFIG = 20
"""Of so many of the newest the settings are read too: a fit over more of them says nothing new."""
_SETTINGS = ("config", "config_path", "limits", "options", "slurm")


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
            found.append(_with_settings(store, other) if len(found) < _WITH_CONFIG else other)
    return tuple(found)


def _with_settings(store: Store, brief: Run) -> Run:
    """Add what the run was told to do: advice compares it with what that came to."""
    whole = store.run(brief.run_id)
    known = (
        {} if whole is None else {name: whole.context[name] for name in _SETTINGS if name in whole.context}
    )
    return dataclasses.replace(brief, context=known)
