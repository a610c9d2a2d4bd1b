"""What runs now, job by job: on which hosts and ranks, how far it is, how long it still takes, and who is behind.

How far a job is comes from its steps where it said how many there are to be, else from how long its earlier runs took.
Of several ranks the last counts. What can mislead: the steps still to come are taken to be as fast as those so far, and
a job that grew since its earlier runs is said to take longer than usual, not how long.
"""

import statistics
from collections.abc import Iterable, Sequence
from itertools import islice

from jobmeter.analysis import jobkey, planned
from jobmeter.errors import UsageError
from jobmeter.model.job import JobView
from jobmeter.model.query import RunQuery
from jobmeter.model.run import Run, Status
from jobmeter.service import filters, index, job_shapes, jobs, shapes
from jobmeter.stores import Store

MOST_RUNS = 500
"""Of more that run at once the newest are shown."""
_EARLIER_RUNS, _LOOKED_AT = 10, 40
Shape = dict[str, object]


def told(home: str, now: float) -> Shape:
    """Lay out what runs now, jobs with stragglers first, then the newest."""
    with index.open_index(home) as opened:
        opened.refresh()
        return opened.ask(lambda store: told_by(store, now))


def told_by(store: Store, now: float) -> Shape:
    """Lay out what runs now as far as a store knows."""
    wanted = filters.parse("status=running or status=paused or status=queued", now=now)
    page = store.page(RunQuery(where=wanted, limit=MOST_RUNS))
    by_job: dict[str, list[Run]] = {}
    for run in page.runs:
        by_job.setdefault(run.job_id, []).append(run)
    history = _History(store)
    found = [_job(store, job_id, together, history, now) for job_id, together in by_job.items()]
    # the sort is stable: among equals the newest stay first
    found.sort(key=lambda job: not job.get("stragglers"))
    hosts = sorted({run.host for run in page.runs if run.host is not None})
    return {"jobs": found, "runs": page.total, "hosts": hosts}


def _job(store: Store, job_id: str, together: Sequence[Run], history: "_History", now: float) -> Shape:
    first = min(together, key=lambda run: (min(run.ranks, default=0), run.run_id))
    view = _ranks(store, job_id, together)
    return shapes.present(
        {
            "job_id": job_id,
            "name": first.name,
            "project": first.project,
            "runs": [shapes.listed(run) for run in together],
            "hosts": sorted({run.host for run in together if run.host is not None}) or None,
            "progress": _by_steps(store, first, view) or _by_history(history, first, now),
            "stragglers": None if view is None else [one.rank for one in view.ranks if one.is_straggler],
            "ranks": None if view is None else job_shapes.shown(view),
        }
    )


def _ranks(store: Store, job_id: str, together: Sequence[Run]) -> JobView | None:
    """Lay the ranks of a job side by side; None for a job of one."""
    several = len(together) > 1 or any(len(run.ranks) > 1 or (run.world_size or 1) > 1 for run in together)
    if not several:
        return None
    try:
        return jobs.gather(store, job_id)
    except UsageError:
        return None  # its recorders share a job, but no rank was seen yet


def _by_steps(store: Store, run: Run, view: JobView | None) -> Shape | None:
    steps = run.steps
    if steps is None:
        return None
    whole = store.run(run.run_id)
    config = None if whole is None else whole.context.get("config")
    most = planned.steps(config, store.events(run.run_id))
    last_step, pace = _hindmost(view) or (steps.last_step, steps.steps_per_second)
    if most is None or not 0 <= last_step <= most:
        return None
    return shapes.present(
        {
            "by": "steps",
            "step": last_step,
            "of": most,
            "percent": round(100 * last_step / most, 2),
            "seconds_left": round((most - last_step) / pace, 1) if pace else None,
        }
    )


def _hindmost(view: JobView | None) -> tuple[int, float | None] | None:
    """Give where the last of several ranks is, and its steps a second: a job is done when all of them are."""
    known = [(one.last_step, one.step_seconds) for one in view.ranks] if view is not None else []
    reached = [(step, 1 / seconds if seconds else None) for step, seconds in known if step is not None]
    return min(reached, key=lambda one: one[0], default=None)


def _by_history(history: "_History", run: Run, now: float) -> Shape | None:
    took = history.took_seconds(run)
    if len(took) < 2 or run.started_at is None:
        return None
    usual, passed = statistics.median(took), max(0.0, now - run.started_at)
    shape: Shape = {"by": "history", "runs": len(took), "usual_seconds": round(usual, 1)}
    if passed > usual:
        return shape | {"percent": 100.0}
    return shape | {"percent": round(100 * passed / usual, 2), "seconds_left": round(usual - passed, 1)}


class _History:
    """How long earlier runs took; the runs of one work are read once, however many of it go on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, list[float]] = {}

    def took_seconds(self, run: Run) -> list[float]:
        """Give how long the last completed runs of the same work took."""
        key = jobkey.job_key(run)
        if key not in self._known:
            found = _completed(map(self._store.brief, self._store.of_key(key, _LOOKED_AT)))
            self._known[key] = list(islice(found, _EARLIER_RUNS))
        return self._known[key]


def _completed(found: Iterable[Run | None]) -> Iterable[float]:
    for run in found:
        if run is not None and run.status is Status.COMPLETED and run.wall_seconds:
            yield run.wall_seconds
