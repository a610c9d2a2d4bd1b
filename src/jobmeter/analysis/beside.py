"""The ranks of one job beside one another, whichever of its recorders saw them, and which of them stopped first.

What can mislead: hosts disagree about the time. How long two ranks of different hosts went on is counted from the last
step that both took, by the clock of each; only on one host moments are compared as they stand. Recorders that merely
touch in time are taken as of the same time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median

from jobmeter.model import steps
from jobmeter.model.rank import RankFacts
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import SEEN, StepTable
from jobmeter.model.view import RunView

LEAST_SECONDS = 1.0
LEAST_STEPS = 3
"""A rank outlived another if it went on for this long, and for so many steps' time, after it."""
SAME_CLOCK_SECONDS = 0.05
"""On one host the order of two ends is known this well."""
WENT_WRONG = frozenset((Status.FAILED, Status.KILLED, Status.LOST))
_FROM_OUTSIDE = frozenset(("SIGHUP", "SIGINT", "SIGTERM", 128 + 1, 128 + 2, 128 + 15))
"""How a rank ends that somebody stopped: a launcher stops those that are left."""
_WAITING = frozenset(("nccl_timeout", "nccl_error"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The rank that stopped before the others, which then waited or went on without it."""

    stopped: RankFacts
    others: tuple[RankFacts, ...]
    is_silent: bool
    """It did not fail: the others waited for it and gave up."""

    @property
    def front(self) -> int | None:
        """Give the last step of the foremost of the others."""
        return max((one.last_step for one in self.others if one.last_step is not None), default=None)

    @property
    def behind(self) -> int | None:
        """Give how many steps the foremost is ahead; None where either told none."""
        front, last = self.front, self.stopped.last_step
        return None if front is None or last is None else max(front - last, 0)


def beside(run: Run, siblings: Sequence[Run]) -> tuple[Run, ...]:
    """Choose the recorders of a job that ran at the same time: with this one, or with one that did, and so on."""
    left, found = [*siblings], [run]
    for one in found:
        found += [other for other in left if _overlap(one, other)]
        left = [other for other in left if not _overlap(one, other)]
    chosen = {one.run_id for one in found[1:]}
    return tuple(other for other in siblings if other.run_id in chosen)


def _overlap(one: Run, other: Run) -> bool:
    if one.started_at is None or other.started_at is None:
        return False
    ends = [float("inf") if run.ended_at is None else run.ended_at for run in (one, other)]
    return one.started_at <= ends[1] and other.started_at <= ends[0]


def ranks(view: RunView) -> tuple[RankFacts, ...]:
    """Give what is known of every rank, in order; of a log without recorders, what its steps say."""
    if view.ranks:
        return view.ranks
    found: dict[int, list[StepTable]] = {}
    for table in view.steps.tables:
        if len(table):
            found.setdefault(table.rank, []).append(table)
    return tuple(_told(view.run, rank, found[rank]) for rank in sorted(found)) if len(found) > 1 else ()


def _told(run: Run, rank: int, tables: Sequence[StepTable]) -> RankFacts:
    best = min(map(trust, tables))
    own = sorted(
        (table for table in tables if trust(table) == best), key=lambda one: (_began(one), one.writer)
    )
    last = own[-1]
    advanced, seconds = _advance(last)
    return RankFacts(
        rank=rank,
        run=run,
        source=last.source,
        tables=tuple(own),
        count=sum(map(len, own)),
        last_step=last.steps[-1],
        last_at=moment_of(last, len(last) - 1),
        advanced=advanced,
        advancing_seconds=seconds,
        ended_at=run.ended_at,
    )


def trust(table: StepTable) -> tuple[int, int, str]:
    """Order tables: those with a clock first, the job's own word before files of other tools and before logs."""
    has_clock = table.timestamps is not None and not table.source.endswith(SEEN)
    return (0 if has_clock else 1), steps.trust(table.source), table.source


def _began(table: StepTable) -> float:
    return moment_of(table, 0) or 0.0


def _advance(table: StepTable) -> tuple[int, float]:
    """Say how far a table goes and how long that took; nothing where it went back or has no clock."""
    steps, begin, end = table.steps, moment_of(table, 0), moment_of(table, len(table) - 1)
    if begin is None or end is None or end <= begin or steps[-1] <= steps[0] or len(table) < 2:
        return 0, 0.0
    return steps[-1] - steps[0], end - begin


def moment_of(table: StepTable, row: int) -> float | None:
    """Give when a row was told; None where nobody says."""
    if table.timestamps is None or table.source.endswith(SEEN):
        return None
    return table.timestamps[row] if isfinite(table.timestamps[row]) else None


def first_to_stop(view: RunView) -> Stop | None:
    """Find the rank that the others lost; None where none failed, or nothing decides among several."""
    known = ranks(view)
    wrong = [one for one in known if one.run.status in WENT_WRONG]
    if len(known) < 2 or not wrong:
        return None
    waiting = {rank for one in view.log_errors if one.signature in _WAITING for rank in one.ranks}
    free = [one for one in wrong if one.rank not in waiting]
    failed = _first_failed(free, _least_seconds(known))
    if failed is not None:
        return _stop(failed, known, is_silent=False)
    silent = [one for one in known if one.rank not in waiting]
    return _stop(silent[0], known, is_silent=True) if waiting and len(silent) == 1 else None


def _first_failed(free: Sequence[RankFacts], least_seconds: float) -> RankFacts | None:
    """Choose the rank that failed by itself and that all others outlived."""
    moments = {one.rank: _moments(one) for one in free} if len(free) > 1 else {}
    for one in free:
        if one.run.signal in _FROM_OUTSIDE or one.run.exit_code in _FROM_OUTSIDE:
            continue
        rivals = [other for other in free if other is not one]
        # one recorder of several ranks does not say which of them failed
        if (rivals or one.has_recorder) and all(_outlived(it, one, moments, least_seconds) for it in rivals):
            return one
    return None


def _stop(stopped: RankFacts, known: Sequence[RankFacts], *, is_silent: bool) -> Stop:
    others = tuple(one for one in known if one is not stopped)
    return Stop(stopped=stopped, others=others, is_silent=is_silent)


def _least_seconds(known: Sequence[RankFacts]) -> float:
    usual = [seconds for one in known if (seconds := one.mean_step_seconds) is not None]
    return max(LEAST_SECONDS, LEAST_STEPS * median(usual)) if usual else LEAST_SECONDS


def _moments(one: RankFacts) -> dict[int, float]:
    """Give when each of the last steps was told."""
    return {
        step: moment
        for table in one.tables
        for row, step in enumerate(table.steps)
        if (moment := moment_of(table, row)) is not None
    }


def _outlived(
    other: RankFacts, one: RankFacts, moments: Mapping[int, Mapping[int, float]], least_seconds: float
) -> bool:
    """Tell whether a rank clearly went on after another had stopped."""
    if other.run.run_id == one.run.run_id:
        return _went_further(other, one, least_seconds)
    if one.ended_at is None or other.ended_at is None:
        return one.ended_at is not None
    if one.run.host is not None and one.run.host == other.run.host:
        return other.ended_at - one.ended_at >= SAME_CLOCK_SECONDS
    shared = max(moments[other.rank].keys() & moments[one.rank].keys(), default=None)
    if shared is None:
        return other.last_step is not None and one.last_step is not None and other.last_step > one.last_step
    went_on, stopped = other.ended_at - moments[other.rank][shared], one.ended_at - moments[one.rank][shared]
    return went_on - stopped >= least_seconds


def _went_further(other: RankFacts, one: RankFacts, least_seconds: float) -> bool:
    """Compare two ranks of one recorder, whose ends nobody told apart, by their last steps."""
    if other.last_step is None or one.last_step is None or other.last_at is None or one.last_at is None:
        return False
    return other.last_step > one.last_step + 1 and other.last_at - one.last_at >= least_seconds


def recorders(view: RunView) -> dict[int, Run]:
    """Give the recorder of every rank that has one to itself; nothing where they are not several."""
    found = {one.rank: one.run for one in view.ranks if one.has_recorder}
    return found if len(found) > 1 else {}
