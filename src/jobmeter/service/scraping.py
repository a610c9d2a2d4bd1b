"""The page that Prometheus scrapes from a server: runs that are alive, and those that ended a moment ago.

A page shows now. A gauge that nobody measured for two minutes is not on it, and none of a run that ended; its totals,
its end and its exit code stay for ten minutes, so that the last of them is scraped.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Protocol

import jobmeter
from jobmeter.delivery import live_values, rank_steps
from jobmeter.delivery.live_values import LiveValues
from jobmeter.delivery.samples import REFUSED, TOO_MANY, TOO_OLD, Counts
from jobmeter.exporters import metric_families, prometheus
from jobmeter.exporters.run_metrics import RunReadings, Sample
from jobmeter.model.run import LIVE
from jobmeter.service.keeping import Changed
from jobmeter.stores import Store

FRESH_SECONDS = 120.0
KEPT_SECONDS = 600.0
NEWEST_RUNS = 500
"""Of which those that ended a moment ago are found when a server starts."""
CONTENT_TYPES = {False: prometheus.TEXT_TYPE, True: prometheus.OPENMETRICS_TYPE}


class Reading(Protocol):
    """Lends a reader of the index."""

    def __call__(self) -> AbstractContextManager[Store]:
        """Lend it for a while."""


class Scraper:
    """Remembers which runs belong on the page."""

    def __init__(self, reading: Reading, *, clock: Callable[[], float] = time.time) -> None:
        self._reading = reading
        self._clock = clock
        self._seen_at: dict[str, float] = {}
        """Runs that may have ended a moment ago, and when they were last heard of."""
        self._live: dict[str, LiveValues] = {}
        self._begun = False
        self._lock = threading.Lock()
        self._scraping = threading.Lock()

    def observe(self, store: Store, changes: Sequence[Changed]) -> None:
        """Take note of runs that changed: one may begin and end between two scrapes."""
        del store
        now = self._clock()
        with self._lock:
            for one in changes:
                self._seen_at.pop(one.run_id, None)
                self._seen_at[one.run_id] = now
            # also where nobody ever scrapes; the last heard of stand last
            while self._seen_at and next(iter(self._seen_at.values())) < now - KEPT_SECONDS:
                self._seen_at.pop(next(iter(self._seen_at)))

    def render(
        self, *, openmetrics: bool, outlets: Iterable[tuple[str, Counts]] = (), now: float | None = None
    ) -> bytes:
        """Write the page as it is now."""
        moment = self._clock() if now is None else now
        page = prometheus.Page()
        # one at a time: what is remembered of runs is read on, not read again
        with self._scraping, self._reading() as store:
            alive = {run_id: status for run_id, status in store.unfinished().items() if status in LIVE}
            for run_id in sorted(self._shown(store, alive, moment), reverse=True):
                found = self._readings(store, run_id, moment)
                if found is None:
                    self._forget(run_id)
                else:
                    page.add_run(found)
        page.add(_of_the_server([status.value for status in alive.values()]))
        page.add(chain.from_iterable(_of_outlet(name, counts) for name, counts in outlets))
        page.add(page.counts())
        return prometheus.render(page, openmetrics=openmetrics)

    def _shown(self, store: Store, alive: Iterable[str], now: float) -> set[str]:
        with self._lock:
            begun, self._begun = self._begun, True
            known = self._seen_at
            for run in () if begun else store.briefs(limit=NEWEST_RUNS):
                known.setdefault(run.run_id, run.ended_at or run.started_at or 0.0)
            shown = {run_id for run_id, seen in known.items() if seen >= now - KEPT_SECONDS}.union(alive)
            over = (known.keys() | self._live.keys()) - shown
        for run_id in over:
            self._forget(run_id)
        return shown

    def _forget(self, run_id: str) -> None:
        with self._lock:
            self._seen_at.pop(run_id, None)
            self._live.pop(run_id, None)

    def _readings(self, store: Store, run_id: str, now: float) -> RunReadings | None:
        run = store.run(run_id)
        if run is None:
            return None
        steps = rank_steps.latest(store.step_statistics(run_id)) if run.steps is not None else ()
        if run.status in LIVE and run.folder is not None:
            known = self._live.get(run_id)
            if known is None:
                known = self._live[run_id] = live_values.begin(store, run)
            known.look()
            return RunReadings(
                run=run,
                values=known.values(now - FRESH_SECONDS),
                states=known.states(now - FRESH_SECONDS),
                devices=known.devices,
                steps=steps,
                measured_at=known.measured_at,
            )
        self._live.pop(run_id, None)
        # one that was lost has no end, only a moment in which that was found
        ended_at = run.ended_at if run.ended_at is not None else self._seen_at.get(run_id, 0.0)
        if run.status not in LIVE and ended_at < now - KEPT_SECONDS:
            return None
        return RunReadings(run=run, values=live_values.sums(store, run), steps=steps)


def _of_the_server(states: Sequence[str]) -> Iterator[Sample]:
    yield Sample(metric_families.BUILD, (("version", jobmeter.__version__),), 1)
    for status in LIVE:
        yield Sample(metric_families.RUNS, (("state", status.value),), states.count(status.value))


def _of_outlet(name: str, counts: Counts) -> Iterator[Sample]:
    own = (("outlet", name),)
    yield Sample(metric_families.OUTLET_SAMPLES, own, counts.sent)
    yield Sample(metric_families.OUTLET_REQUESTS, own, counts.requests)
    yield Sample(metric_families.OUTLET_RETRIES, own, counts.retries)
    if counts.delivered_at is not None:
        yield Sample(metric_families.OUTLET_DELIVERED, own, counts.delivered_at)
    for reason in (REFUSED, TOO_MANY, TOO_OLD):
        points = counts.dropped.get(reason, 0)
        yield Sample(metric_families.OUTLET_DROPPED, (*own, ("reason", reason)), points)
