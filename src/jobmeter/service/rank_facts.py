"""What analysis is shown of the ranks of a job, whichever of its recorders saw them.

Of every rank the last steps are read and no more, and what its whole life comes to is taken from headers: a job of
64 ranks and a million steps is not read whole. All recorders of a job are asked alike, so that it does not matter
which of them is analysed. What can mislead: lines of a log that name no rank are taken as the recorder's lowest.
"""

from collections.abc import Iterable, Mapping, Sequence

from jobmeter.analysis import shares
from jobmeter.model import metrics
from jobmeter.model.rank import RankFacts
from jobmeter.model.run import LIVE, Run
from jobmeter.model.steps import SEEN, StepTable
from jobmeter.model.view import Process
from jobmeter.service import metric_lines, step_summary
from jobmeter.service.step_summary import Told
from jobmeter.stores import StepStatistics, Store

MOST_RANKS = 1_024
"""Of a larger job the first are compared."""
MOST_STEPS, FEWEST_STEPS = 2_000, 200
"""The last steps of a rank that are compared: many of few ranks, few of many."""
_STEPS_IN_ALL = 128_000


def gather(store: Store, run: Run, beside: Iterable[Run]) -> tuple[RankFacts, ...]:
    """Read what is known of the ranks of a job; nothing where there is only one."""
    recorders = sorted((run, *beside), key=lambda one: one.run_id)
    if len(recorders) == 1 and len(run.ranks) < 2:
        return ()
    seen: dict[int, tuple[Run, Sequence[Told]]] = {}
    for recorder in recorders:
        told = step_summary.best_first(store.step_statistics(recorder.run_id))
        for rank in recorder.ranks:
            seen.setdefault(rank, (recorder, [one for one in told if _rank_of(one, recorder) == rank]))
    if len(seen) < 2:
        return ()
    first = sorted(seen)[:MOST_RANKS]
    window = min(max(_STEPS_IN_ALL // len(first), FEWEST_STEPS), MOST_STEPS)
    uses = {recorder.run_id: _uses(store, recorder) for recorder in recorders if len(recorder.ranks) > 1}
    return tuple(_facts(store, rank, seen[rank], window, uses) for rank in first)


def _rank_of(told: Told, run: Run) -> int:
    """Say whose steps these are: what names no rank is the lowest one's."""
    return told.rank if told.rank in run.ranks else run.ranks[0]


def _uses(store: Store, run: Run) -> Mapping[int, shares.Share]:
    found: dict[int, list[Process]] = {}
    for process in store.processes(run.run_id):
        if process.rank is not None:
            found.setdefault(process.rank, []).append(process)
    return {rank: shares.share(played) for rank, played in found.items()}


def _facts(
    store: Store,
    rank: int,
    seen: tuple[Run, Sequence[Told]],
    window: int,
    uses: Mapping[str, Mapping[int, shares.Share]],
) -> RankFacts:
    run, told = seen
    best = next((one for one in told if _has_clock(one)), told[0] if told else None)
    tables = [] if best is None else _tables(store, run, best, window)
    parts = () if best is None or not tables else best.parts
    newest = max(parts, key=_latest, default=None)
    last_at = None if newest is None else newest.pace.t1
    share = uses.get(run.run_id, {}).get(rank)
    return RankFacts(
        rank=rank,
        run=run,
        source="" if best is None else best.source,
        tables=tuple(tables),
        count=sum(part.count for part in parts),
        last_step=None if newest is None else newest.last_step,
        last_at=last_at,
        advanced=sum(part.pace.advanced for part in parts),
        advancing_seconds=sum(part.pace.advancing_seconds for part in parts),
        # of a recorder that vanished the last word is its rank's
        ended_at=None if run.status in LIVE else run.ended_at or last_at,
        cpu_seconds=_headline(run, "cpu_seconds") if share is None else share.cpu_seconds,
        memory_peak_bytes=_headline(run, "memory_peak_bytes") if share is None else share.memory_peak_bytes,
    )


def _latest(part: StepStatistics) -> tuple[bool, float]:
    return part.pace.t1 is not None, part.pace.t1 or 0.0


def _has_clock(told: Told) -> bool:
    return not told.source.endswith(SEEN) and any(part.pace.t1 is not None for part in told.parts)


def _headline(run: Run, name: str) -> float | None:
    return run.headline[name].value if len(run.ranks) == 1 and name in run.headline else None


def _tables(store: Store, run: Run, told: Told, window: int) -> list[StepTable]:
    """Read the last steps that a rank told."""
    waits = metrics.pick(sorted({name for part in told.parts for name in part.metrics}), metrics.DATA_SECONDS)
    newest = max(told.parts, key=_latest)
    found = store.steps(
        run.run_id,
        sources=[told.source],
        ranks=[told.rank],
        metrics=[] if waits is None else [waits],
        between=(newest.last_step - window + 1, newest.last_step),
    )
    return metric_lines.followed(found, told.parts)
