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
from jobmeter.model.steps import Number, as_json
from jobmeter.model.stretches import Stretches
from jobmeter.service import analysis, index, metric_lines, rules_digest, step_summary
from jobmeter.stores import Store

MOST_RUNS = 100
MOST_LETTERS = 4000
"""Of all ids that are asked for at once, the commas between them counted."""
POINTS = 40
ANALYSIS_SECONDS = 0.15
"""How long one answer analyses, the run it is at then aside: there is always one, so that all come to an end."""
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

    def look(store: Store) -> Shape:
        badges = _Badges(store, clock)
        runs = [store.brief(run_id) for run_id in dict.fromkeys(ids) if index.is_run_id(run_id)]
        found = [_glance(store, run, badges.health(run), lines) for run in runs if run is not None]
        return {"runs": found, "waiting": badges.waiting}

    with index.open_index(home) as opened:
        opened.refresh()
        return opened.ask(look)


def _glance(store: Store, run: Run, health: Health | None, lines: Sequence[str]) -> Shape:
    shown = {name: line for name in lines if (line := LINES[name](store, run)) is not None}
    told = {} if health is None else {"health": health.value}
    return {"run_id": run.run_id, **told, "lines": shown}


class _Badges:
    """Finds the health of one run after another, until the time for analysis is spent."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self.waiting: list[str] = []
        self._store = store
        self._clock = clock
        self._spent_seconds = 0.0

    def health(self, run: Run) -> Health | None:
        if run.status in LIVE:
            return None
        kept = self._store.report(run.run_id)
        if kept is not None and kept.rules == rules_digest.digest():
            return msgspec.json.decode(kept.document, type=_Told).health
        if (run.samples or 0) > MOST_SAMPLES:
            return None
        if self._spent_seconds > ANALYSIS_SECONDS:
            self.waiting.append(run.run_id)
            return None
        return self._analysed(run)

    def _analysed(self, run: Run) -> Health | None:
        begun = self._clock()
        whole = self._store.run(run.run_id)
        found = None if whole is None else analysis.of_run(self._store, whole)[1].health
        self._spent_seconds += self._clock() - begun
        return found


def _memory(store: Store, run: Run) -> Shape | None:
    found = _measured(store, run, Resource.MEMORY, counters=())
    return None if found is None else _line(found.key, "bytes", found.highs, found.lasts[-1])


def _cpu(store: Store, run: Run) -> Shape | None:
    found = _measured(store, run, Resource.CPU, counters=LADDER[Resource.CPU])
    return None if found is None else _line(found.key, "cores", found.means, found.lasts[-1])


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
        return None if longest is None else _line(spelled, "", longest.lasts, longest.lasts[-1])
    return None


def _line(key: str, unit: str, values: Sequence[Number], last: Number) -> Shape:
    """Lay a line out; its last stretch may be half an hour, so that what is true now is told beside it."""
    drawn = [value if isfinite(value) else None for value in values]
    return {"key": key, "unit": unit, "values": drawn, "last": as_json(last)}


LINES: dict[str, Callable[[Store, Run], Shape | None]] = {"cpu": _cpu, "loss": _loss, "memory": _memory}
