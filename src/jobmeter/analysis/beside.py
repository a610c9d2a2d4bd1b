"""The recorders of one job that each watched one rank, at the same time: what a launcher starts on many hosts.

What can mislead: only their summaries are known here, not their series; hosts disagree about the time, so runs that
merely touch are taken as of the same time.
"""

from jobmeter.model.run import Run
from jobmeter.model.view import RunView


def by_rank(view: RunView) -> dict[int, Run]:
    """Give the run of every rank, in order; nothing where this run is not one rank of several."""
    found: dict[int, Run] = {}
    for run in (view.run, *(other for other in view.siblings if _overlap(view.run, other))):
        if len(run.ranks) == 1:
            found.setdefault(run.ranks[0], run)
    return dict(sorted(found.items())) if len(found) > 1 and len(view.run.ranks) == 1 else {}


def _overlap(one: Run, other: Run) -> bool:
    if one.started_at is None or other.started_at is None:
        return False
    ends = [float("inf") if run.ended_at is None else run.ended_at for run in (one, other)]
    return one.started_at <= ends[1] and other.started_at <= ends[0]
