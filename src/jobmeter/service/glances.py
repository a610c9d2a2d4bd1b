"""Many runs at a glance: a badge and small lines for the rows of a table that are in sight.

What can mislead: the health of a run is that of its last analysis. Runs nobody analysed are analysed here, as many as
fit into a moment, and kept; those of many samples are left until somebody opens them.
"""

import time
from collections.abc import Callable, Sequence
from math import isfinite

import msgspec

from jobmeter.analysis.series import LADDER, Resource
from jobmeter.errors import UsageError
from jobmeter.model import metrics
from jobmeter.model.report import Health
from jobmeter.model.run import LIVE, Run
from jobmeter.model.steps import Number
from jobmeter.model.stretches import Stretches
from jobmeter.service import analysis, index, metric_lines, rules_digest, step_summary
from jobmeter.stores import Store

MOST_RUNS = 100
POINTS = 40
ANALYSIS_SECONDS = 0.25
"""How long one answer analyses at most, the run it is at aside."""
MOST_SAMPLES = 20_000
"""Of a run that is analysed for its badge alone."""
Shape = dict[str, object]


class _Told(msgspec.Struct):
    """The one word of a report that a badge shows."""

    health: Health


def glances(
    home: str, ids: Sequence[str], lines: Sequence[str], *, clock: Callable[[], float] = time.monotonic
) -> Shape:
    """Look at some runs; those that are gone are left out."""
    unknown = next((name for name in lines if name not in LINES), None)
    if unknown is not None:
        raise UsageError("there is no such line", hint=f"use some of {', '.join(LINES)}")
    if not 0 < len(ids) <= MOST_RUNS:
        raise UsageError(f"{len(ids)} runs cannot be looked at at once", hint=f"name 1 to {MOST_RUNS}")
    until = clock() + ANALYSIS_SECONDS

    def look(store: Store) -> Shape:
        waiting: list[str] = []
        found = []
        for run_id in dict.fromkeys(ids):
            run = store.brief(run_id) if index.is_run_id(run_id) else None
            if run is None:
                continue
            health = _health(store, run, is_late=clock() > until)
            if health is None and _is_worth_a_look(run):
                waiting.append(run_id)
            found.append(_glance(store, run, health, lines))
        return {"runs": found, "waiting": waiting}

    with index.open_index(home) as opened:
        opened.refresh()
        return opened.ask(look)


def _glance(store: Store, run: Run, health: Health | None, lines: Sequence[str]) -> Shape:
    shown = {name: line for name in lines if (line := LINES[name](store, run)) is not None}
    told = {} if health is None else {"health": health.value}
    return {"run_id": run.run_id, **told, "lines": shown}


def _health(store: Store, run: Run, *, is_late: bool) -> Health | None:
    if run.status in LIVE:
        return None
    kept = store.report(run.run_id)
    if kept is not None and kept.rules == rules_digest.digest():
        return msgspec.json.decode(kept.document, type=_Told).health
    if is_late or not _is_worth_a_look(run):
        return None
    whole = store.run(run.run_id)
    return None if whole is None else analysis.of_run(store, whole)[1].health


def _is_worth_a_look(run: Run) -> bool:
    return run.status not in LIVE and (run.samples or 0) <= MOST_SAMPLES


def _memory(store: Store, run: Run) -> Shape | None:
    found = _measured(store, run, Resource.MEMORY, counters=())
    return None if found is None else _line(found.key, "bytes", found.highs)


def _cpu(store: Store, run: Run) -> Shape | None:
    found = _measured(store, run, Resource.CPU, counters=LADDER[Resource.CPU])
    return None if found is None else _line(found.key, "cores", found.means)


def _measured(store: Store, run: Run, resource: Resource, *, counters: Sequence[str]) -> Stretches | None:
    """Read the best method's line of the whole job; of counters their rate."""
    keys = LADDER[resource]
    found = store.stretches(run.run_id, keys, points=POINTS, counters=counters)
    whole = {
        one.key: one
        for one in found
        if not one.instance and len(one.ends) > 1 and one.is_rate == bool(counters)
    }
    return next((whole[key] for key in keys if key in whole), None)


def _loss(store: Store, run: Run) -> Shape | None:
    if run.steps is None:
        return None
    for told in step_summary.best_first(store.step_statistics(run.run_id)):
        spelled = metric_lines.spelling(metrics.LOSS, {name for part in told.parts for name in part.metrics})
        if spelled is None:
            continue
        found = store.step_stretches(
            run.run_id, [spelled], points=POINTS, sources=[told.source], ranks=[told.rank]
        )
        longest = max(found, key=lambda one: sum(one.counts), default=None)
        return None if longest is None else _line(spelled, "", longest.lasts)
    return None


def _line(key: str, unit: str, values: Sequence[Number]) -> Shape:
    return {"key": key, "unit": unit, "values": [value if isfinite(value) else None for value in values]}


LINES: dict[str, Callable[[Store, Run], Shape | None]] = {"cpu": _cpu, "loss": _loss, "memory": _memory}
