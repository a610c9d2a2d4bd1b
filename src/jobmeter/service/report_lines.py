"""The lines of a saved report's charts: as many as fit into a mail, the most telling first.

What can mislead: of a job of very many ranks or devices only the first are kept; how many lines are not is told.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jobmeter.model.measurement import Scope
from jobmeter.model.run import Run
from jobmeter.service import charts
from jobmeter.stores import Store

VALUES = 20_000
"""Points over all lines: enough for a picture of each, and few enough for a mail."""
MOST_POINTS, LEAST_POINTS = 800, 100
MOST_LINES = VALUES // LEAST_POINTS
_SCOPES = (Scope.JOB, Scope.HOST, Scope.DEVICE)
"""What is most telling comes first."""
_Name = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer of the API with the lines that were kept."""

    answer: charts.Shape
    left_out: int


def series(store: Store, run: Run) -> Kept:
    """Read the lines over time: those of the job itself first, then its host's and its devices'."""
    keys = charts.whole_job(run)
    known = [name for name in store.statistics(run.run_id) if name[0] in keys]
    places = {key: _SCOPES.index(run.definitions[key].scope) for key in keys}
    # whole instances before the next: a device with half of its lines says little
    kept = sorted(known, key=lambda name: (places[name[0]], name[1], name[0]))[:MOST_LINES]
    instances = tuple(sorted({instance for _, instance in kept})) if len(kept) < len(known) else ()
    answer = charts.series(store, run, charts.Wanted(instances=instances, points=_points(kept)))
    return _cut(answer, ("key", "instance"), kept, len(known))


def steps(store: Store, run: Run) -> Kept:
    """Read the lines over steps: those of rank 0 first."""
    told = store.step_statistics(run.run_id)
    metrics = frozenset(sorted({metric for one in told for metric in one.metrics})[: charts.MOST_KEYS])
    known = [(one.rank, one.source, one.writer, metric) for one in told for metric in one.metrics]
    kept = sorted(name for name in known if name[-1] in metrics)[:MOST_LINES]
    ranks = tuple(sorted({name[0] for name in kept}))
    answer = charts.steps(store, run, charts.Wanted(ranks=ranks, points=_points(kept)))
    return _cut(answer, ("rank", "source", "writer", "metric"), kept, len(known))


def _points(kept: Sequence[_Name]) -> int:
    return min(MOST_POINTS, VALUES // max(len(kept), 1))


def _cut(answer: charts.Shape, fields: Sequence[str], kept: Sequence[_Name], known: int) -> Kept:
    """Leave only the lines that are kept: whole ranks and instances were read."""
    names, lines = frozenset(kept), answer["series"]
    wanted = [
        line
        for line in (lines if isinstance(lines, list) else ())
        if tuple(line[field] for field in fields) in names
    ]
    return Kept(answer=answer | {"series": wanted}, left_out=known - len(kept))
