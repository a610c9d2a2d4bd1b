"""Stragglers: ranks that take longer than the others for the same steps, or fall behind.

Ranks are compared by step and by their own clocks (`analysis/ranks.py`). What can mislead: ranks that wait for one
another at every step take equally long, whoever was slow; there a straggler shows only in what it uses
(`rank_imbalance`). Of long trainings the last steps are looked at.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from jobmeter.analysis import beside, ranks
from jobmeter.analysis.ranks import Life, Pace
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Value
from jobmeter.model.steps import SEEN, StepTable
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
_SLOWEST = 1e-9
"""Steps per second: a rank that is slower than one in thirty years does not take any."""
_SDK, _LOG = "sdk", "log:"


def detect(view: RunView) -> Iterable[Finding]:
    """Tell which ranks hold up the others."""
    lives = lives_of(view.steps.tables)
    paces = ranks.paces(lives) if len(lives) > 1 else summed(view)
    slow = sorted((pace for pace in paces if _is_slow(pace)), key=_slowest_first)
    if slow:
        yield _slow(paces, slow)
        return
    behind = [pace for pace in paces if pace.behind >= max(BEHIND_STEPS, BEHIND_SHARE * _front(pace))]
    if behind:
        yield _behind(max(behind, key=lambda pace: (pace.behind, -pace.rank)), len(behind))


def lives_of(tables: Iterable[StepTable]) -> dict[int, list[Life]]:
    """Take what the ranks told by the best source with a clock; one that logs every 50th step is not behind."""
    clocked = [
        table
        for table in tables
        if table.timestamps is not None and not table.source.endswith(SEEN) and len(table) >= FEWEST_STEPS
    ]
    best = min((_trust(table) for table in clocked), default=None)
    found: dict[int, list[Life]] = {}
    for table in sorted(clocked, key=lambda one: (_began(one), one.writer)):
        if _trust(table) == best:
            moments = (table.timestamps or ())[-STEPS_COMPARED:]
            found.setdefault(table.rank, []).append(Life(table.steps[-STEPS_COMPARED:], moments))
    return found


def summed(view: RunView) -> tuple[Pace, ...]:
    """Compare ranks that have recorders of their own by what their steps came to."""
    told = {rank: run.steps for rank, run in beside.by_rank(view).items() if run.steps is not None}
    if len(told) < 2 or len({steps.source for steps in told.values()}) > 1:
        return ()
    front = max(steps.last_step for steps in told.values())
    took = {
        rank: 1 / steps.steps_per_second
        for rank, steps in told.items()
        if steps.steps_per_second is not None
        and steps.steps_per_second > _SLOWEST
        and steps.count >= FEWEST_STEPS
    }
    middle = median(took.values()) if len(took) > 1 else None
    return tuple(
        Pace(
            rank=rank,
            last_step=steps.last_step,
            behind=front - steps.last_step,
            step_seconds=took.get(rank),
            relative=took[rank] / middle if middle and rank in took else None,
        )
        for rank, steps in told.items()
    )


def _trust(table: StepTable) -> tuple[int, str]:
    return (0 if table.source == _SDK else 2 if table.source.startswith(_LOG) else 1), table.source


def _began(table: StepTable) -> float:
    return table.timestamps[0] if table.timestamps else 0.0


def _is_slow(pace: Pace) -> bool:
    return pace.is_straggler and pace.slowest_share != 0


def _slowest_first(pace: Pace) -> tuple[float, int]:
    return -(pace.relative or 0.0), pace.rank


def _front(pace: Pace) -> int:
    return pace.last_step + pace.behind


def _slow(paces: Sequence[Pace], slow: Sequence[Pace]) -> Finding:
    worst = slow[0]
    relative, took = worst.relative or 0.0, worst.step_seconds or 0.0
    names = ", ".join(str(pace.rank) for pace in slow[:_NAMED]) + (", ..." if len(slow) > _NAMED else "")
    who = f"rank {worst.rank} takes" if len(slow) == 1 else f"ranks {names} are slow: rank {worst.rank} takes"
    figures: dict[str, Value] = {
        "rank": worst.rank,
        "relative": round(relative, 4),
        "step_seconds": took,
        "straggler_count": len(slow),
        "rank_count": len(paces),
    }
    always = ""
    if worst.slowest_share is not None:
        figures["slowest_ratio"] = round(worst.slowest_share, 4)
        always = f" and is the slowest in {units.format_percent(100 * worst.slowest_share)} of the steps"
    return Finding(
        detector="stragglers",
        severity=Severity.WARNING if relative >= WARNED_SLOW else Severity.INFO,
        sentence=f"{who} {relative:.2f} times as long for a step as the middle of {len(paces)} ranks "
        f"({units.format_seconds(took)}){always}",
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
