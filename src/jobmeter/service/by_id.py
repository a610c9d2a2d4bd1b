"""Runs and jobs found by what programs call them: an id or a name, whole, and never a path.

What people type may be the beginning of an id, `last` or a folder (`runs.ask`); what comes over a network may not:
an id that is looked at as a path reads files of whoever runs the server.
"""

from collections.abc import Callable
from typing import TypeVar

from jobmeter.errors import UnknownError
from jobmeter.model import query
from jobmeter.model.run import Run
from jobmeter.service import index, notices
from jobmeter.stores import Store

Answer = TypeVar("Answer")
_LONGEST_SHOWN = 80


def ask(
    home: str, run_id: str, use: Callable[[Store, Run], Answer], *, warn: notices.Warn = notices.to_stderr
) -> Answer:
    """Put a question to the store about the run of this very id."""

    def put(store: Store) -> Answer:
        run = store.run(run_id) if index.is_run_id(run_id) else None
        if run is None:
            raise UnknownError(f"unknown run: {_shown(run_id)}", hint="GET /api/v1/runs lists them")
        return use(store, run)

    with index.open_index(home, warn=warn) as opened:
        opened.refresh()
        if index.is_run_id(run_id):
            opened.search(run_id)
        return opened.ask(put)


def ask_job(
    home: str, name: str, use: Callable[[Store, Run], Answer], *, warn: notices.Warn = notices.to_stderr
) -> Answer:
    """Put a question about a job by its id, the id of a run of it, or the name of its newest run."""

    def put(store: Store) -> Answer:
        run = _of_job(store, name)
        if run is None:
            raise UnknownError(
                f"unknown job: {_shown(name)}", hint="GET /api/v1/runs lists runs with their jobs"
            )
        return use(store, run)

    with index.open_index(home, warn=warn) as opened:
        opened.refresh()
        return opened.ask(put)


def _of_job(store: Store, name: str) -> Run | None:
    if not name:
        return None
    found = store.of_job(name)
    if found:
        return store.run(found[0])
    run = store.run(name) if index.is_run_id(name) else None
    return _newest_named(store, name) if run is None else run


def _newest_named(store: Store, name: str) -> Run | None:
    where = query.Compare(query.Field("name"), query.Op.EQ, name)
    newest = store.page(query.RunQuery(where=where, limit=1)).runs
    return store.run(newest[0].run_id) if newest else None


def _shown(name: str) -> str:
    """Say a name back as far as it is worth it."""
    return name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}..."
