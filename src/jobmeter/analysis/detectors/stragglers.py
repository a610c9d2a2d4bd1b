"""Stragglers: ranks that take longer than the others for the same steps, or fall behind, and what that costs the job.

Ranks are compared by step and by their own clocks (`analysis/ranks.py`), whichever recorder saw them. What can mislead:
ranks that wait for one another at every step take equally long, whoever was slow; there a straggler shows only in what
it uses, and in how long it waits for data (`rank_imbalance`). Of long trainings the last steps are looked at.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from jobmeter.analysis import beside, ranks
from jobmeter.analysis.ranks import Life, Pace
from jobmeter.model import units
from jobmeter.model.rank import RankFacts
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Value
from jobmeter.model.view import RunView

STEPS_COMPARED = 2_000
"""Of every rank, the last ones."""
FEWEST_STEPS = 10
WARNED_SLOW = 1.2
"""Times the middle rank's time for a step; from `ranks.MARKED_SLOW` on it is worth a word."""
BEHIND_SHARE = 0.05
BEHIND_STEPS = 10
"""A rank is behind when it is this much of the way, and so many steps, from the foremost."""
_NAMED = 8


def detect(view: RunView) -> Iterable[Finding]:
    """Tell which ranks hold up the others."""
    known = {one.rank: one for one in _compared(view)}
    paces = _paces(known)
    slow = sorted((pace for pace in paces if _is_slow(pace)), key=_slowest_first)
    if slow:
        yield _slow(paces, slow, _cost(known, slow[0]))
        return
    behind = [pace for pace in paces if pace.behind >= max(BEHIND_STEPS, BEHIND_SHARE * _front(pace))]
    if behind:
        yield _behind(max(behind, key=lambda pace: (pace.behind, -pace.rank)), len(behind))


def _compared(view: RunView) -> list[RankFacts]:
    """Choose the ranks that the best source with a clock tells of; one that stopped for good is no straggler."""
    stop = beside.first_to_stop(view)
    clocked = [
        (min(map(beside.trust, one.tables)), one)
        for one in beside.ranks(view)
        if one.last_at is not None and one.count >= FEWEST_STEPS and one.tables
        if stop is None or one.rank != stop.stopped.rank
    ]
    best = min((trust for trust, _ in clocked), default=None)
    # one that logs every 50th step, by another source, is not behind
    return [one for trust, one in clocked if trust == best]


def _paces(known: Mapping[int, RankFacts]) -> tuple[Pace, ...]:
    """Compare the ranks that are near the foremost by the steps they share, and the others by how far they came."""
    reached = {rank: one.last_step or 0 for rank, one in known.items()}
    foremost = max(known, key=lambda rank: (reached[rank], -rank), default=None)
    if foremost is None:
        return ()
    first = known[foremost].tables[-1].steps[-STEPS_COMPARED:][0]
    near = [rank for rank in known if reached[rank] - first >= FEWEST_STEPS // 2 or rank == foremost]
    far = [rank for rank in known if rank not in near]
    found = ranks.paces({rank: _lives(known[rank]) for rank in near})
    left = [
        Pace(rank=rank, last_step=reached[rank], behind=reached[foremost] - reached[rank]) for rank in far
    ]
    return (*found, *left)


def _lives(one: RankFacts) -> list[Life]:
    return [
        Life(table.steps[-STEPS_COMPARED:], (table.timestamps or ())[-STEPS_COMPARED:])
        for table in one.tables
    ]


def _cost(known: Mapping[int, RankFacts], slowest: Pace) -> tuple[float, float] | None:
    """Say how much longer than the middle rank's the way of the slowest took: seconds, and as a share of it."""
    took = {rank: seconds for rank, one in known.items() if (seconds := one.mean_step_seconds) is not None}
    if slowest.rank not in took or len(took) < 2:
        return None
    excess = took[slowest.rank] - median(took.values())
    return (excess * known[slowest.rank].advanced, excess / took[slowest.rank]) if excess > 0 else None


def _is_slow(pace: Pace) -> bool:
    return pace.is_straggler and pace.slowest_share != 0


def _slowest_first(pace: Pace) -> tuple[float, int]:
    return -(pace.relative or 0.0), pace.rank


def _front(pace: Pace) -> int:
    return pace.last_step + pace.behind


def _slow(paces: Sequence[Pace], slow: Sequence[Pace], cost: tuple[float, float] | None) -> Finding:
    worst = slow[0]
    relative, took, slowest = worst.relative or 0.0, worst.step_seconds or 0.0, worst.slowest_share or 0.0
    names = ", ".join(str(pace.rank) for pace in slow[:_NAMED]) + (", ..." if len(slow) > _NAMED else "")
    who = f"rank {worst.rank} takes" if len(slow) == 1 else f"ranks {names} are slow: rank {worst.rank} takes"
    figures: dict[str, Value] = {
        "rank": worst.rank,
        "relative": round(relative, 4),
        "step_seconds": took,
        "excess_seconds": took - took / relative,
        "slowest_ratio": round(slowest, 4),
        "straggler_count": len(slow),
        "rank_count": len(paces),
    }
    costs = ""
    if cost is not None:
        figures["lost_seconds"], figures["lost_ratio"] = round(cost[0], 3), round(cost[1], 4)
        lost, share = units.format_seconds(cost[0]), units.format_percent(100 * cost[1])
        costs = f", which costs the job {lost}, {share} of its time"
    return Finding(
        detector="stragglers",
        severity=Severity.WARNING if relative >= WARNED_SLOW else Severity.INFO,
        sentence=f"{who} {relative:.2f} times as long for a step as the middle of {len(paces)} ranks "
        f"({units.format_seconds(took)}) and is the slowest in {units.format_percent(100 * slowest)} of the steps"
        f"{costs}",
        key="step",
        rank=worst.rank,
        evidence=tuple(_told(pace) for pace in slow[:_NAMED]),
        figures=figures,
    )


def _told(pace: Pace) -> Evidence:
    return Evidence(
        sentence=f"rank {pace.rank}: {units.format_seconds(pace.step_seconds or 0.0)} a step, "
        f"{pace.relative or 0.0:.2f} times the middle rank's",
        source="steps",
        value=pace.step_seconds,
        rank=pace.rank,
    )


def _behind(pace: Pace, count: int) -> Finding:
    figures: Mapping[str, Value] = {
        "rank": pace.rank,
        "behind_steps": pace.behind,
        "straggler_count": count,
    }
    return Finding(
        detector="stragglers",
        severity=Severity.WARNING,
        sentence=f"rank {pace.rank} is {pace.behind} steps behind: it told step {pace.last_step} last, the foremost "
        f"{_front(pace)}",
        key="step",
        rank=pace.rank,
        evidence=(
            Evidence(
                sentence=f"the last step of rank {pace.rank} is {pace.last_step}",
                source="steps",
                value=pace.last_step,
                rank=pace.rank,
            ),
        ),
        figures=dict(figures),
    )
