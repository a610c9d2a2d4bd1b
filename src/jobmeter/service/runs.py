"""Runs as people ask for them: a list, one by its id, and everything known of one."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from jobmeter import stores
from jobmeter.errors import UsageError
from jobmeter.model.measurement import Kind
from jobmeter.model.query import Filter, RunPage, RunQuery
from jobmeter.model.run import Run
from jobmeter.model.steps import Steps, StepSeries
from jobmeter.model.view import RunView, Series
from jobmeter.runfolder import liveness, reader
from jobmeter.service import (
    event_moments,
    fields,
    index,
    indexing,
    metric_lines,
    notices,
    output_steps,
    references,
    thinning,
)
from jobmeter.stores import Store

Answer = TypeVar("Answer")

LAST = references.LAST
_CANDIDATES = 5


def list_runs(
    home: str,
    *,
    where: Filter | None = None,
    sort: str = "started",
    reverse: bool = False,
    limit: int | None = None,
    warn: notices.Warn = notices.to_stderr,
) -> list[Run]:
    """List runs: largest or latest first, text from A, those without the field last."""
    query = RunQuery(where=where, sort=fields.ref(sort), reverse=reverse, limit=limit)
    return page(home, query, warn=warn).runs


def page(home: str, query: RunQuery, *, warn: notices.Warn = notices.to_stderr) -> RunPage:
    """List the runs that a query finds, a page at a time."""
    with index.open_index(home, warn=warn) as opened:
        opened.refresh()
        return opened.ask(lambda store: store.page(query))


def find(home: str, ref: str, *, warn: notices.Warn = notices.to_stderr) -> Run:
    """Find one run by id, unique prefix, `last`, job, name, or folder."""
    return ask(home, ref, lambda _, run: run, warn=warn)


def view(
    home: str, ref: str, keys: Iterable[str] | None = None, *, warn: notices.Warn = notices.to_stderr
) -> RunView:
    """Gather all that is known of a run; only the series of `keys` where they are given."""
    wanted = None if keys is None else frozenset(keys)
    return ask(home, ref, lambda store, run: view_of(store, run, wanted), warn=warn)


def series(
    home: str,
    ref: str,
    key: str,
    *,
    instance: str = "",
    between: tuple[float, float] | None = None,
    points: int = 2000,
) -> Series:
    """Read one series thinned to at most `points`, its least and largest values kept."""

    def read(store: Store, run: Run) -> Series:
        found = store.series(run.run_id, {key}, counters=counters_of(run), between=between)
        for one in found:
            if one.instance == instance:
                return thinning.thin(one, points)
        instances = ", ".join(one.instance or "the whole job" for one in found[:_CANDIDATES])
        hint = f"it has {instances}" if found else f"see `jobmeter show {run.run_id} --all`"
        raise UsageError(f"run {run.run_id} has no series {key} {instance}".rstrip(), hint=hint)

    return ask(home, ref, read)


def step_series(
    home: str,
    ref: str,
    metric: str,
    *,
    rank: int | None = None,
    source: str | None = None,
    points: int = 2000,
) -> StepSeries:
    """Read one metric over steps, thinned to at most `points`, its least and largest values kept."""

    def read(store: Store, run: Run) -> StepSeries:
        return metric_lines.read(store, run, metric, rank=rank, source=source, points=points)

    return ask(home, ref, read)


def counters_of(run: Run) -> frozenset[str]:
    """Name the keys whose values are deltas over a span of time."""
    return frozenset(key for key, definition in run.definitions.items() if definition.kind is Kind.COUNTER)


def view_of(store: Store, run: Run, keys: frozenset[str] | None) -> RunView:
    """Gather what a store knows of a run; only the series of `keys` where they are given."""
    found = [] if keys == frozenset() else store.series(run.run_id, keys, counters=counters_of(run))
    # those who name their series do not ask for all that a loop logged
    steps = Steps(tuple(store.steps(run.run_id))) if keys is None else Steps()
    return RunView(
        run=run,
        series={(one.key, one.instance): one for one in found},
        events=event_moments.filled(store, run),
        processes=tuple(store.processes(run.run_id)),
        siblings=tuple(siblings(store, run)),
        steps=steps,
    )


def siblings(store: Store, run: Run) -> Iterator[Run]:
    """Read the other recorders of the same job, newest first."""
    for run_id in store.of_job(run.job_id):
        brief = store.brief(run_id) if run_id != run.run_id else None
        if brief is not None:
            yield brief


def ask(
    home: str,
    ref: str,
    use: Callable[[Store, Run], Answer],
    *,
    warn: notices.Warn = notices.to_stderr,
) -> Answer:
    """Find one run and put a question to the store that holds it."""
    folder = references.folder(ref)
    if folder is not None and folder.parent.parent != Path(os.path.realpath(home), "runs"):
        return _use_folder(folder, use)
    name = ref if folder is None else folder.name
    with index.open_index(home, warn=warn) as opened:
        opened.refresh()
        run_id = opened.ask(lambda store: references.resolve(store, name, warn=warn))
        opened.search(run_id)
        return opened.ask(lambda store: use(store, _whole(store, run_id)))


def _use_folder(folder: Path, use: Callable[[Store, Run], Answer]) -> Answer:
    """Index one folder in memory: it lies in no home, or in another one."""
    store = stores.load("memory").open_store(folder)
    run_id = reader.read_run(folder).run_id
    patience = output_steps.Patience(index.ASKED_SECONDS)
    indexing.index_run(store, run_id, folder, liveness.here(), time.time(), patience=patience)
    return use(store, _whole(store, run_id))


def _whole(store: Store, run_id: str) -> Run:
    run = store.run(run_id)
    if run is None:
        raise UsageError(f"run {run_id} was removed", hint="see `jobmeter ls`")
    return run
