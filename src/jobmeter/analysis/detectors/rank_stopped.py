"""A rank that stopped first: the one whose end the others waited for, or went on without.

Of a job that lost a rank every other one complains too, mostly louder: of timeouts, of closed connections. Who failed
while the others still took steps, or still waited, is the one to look at. Told by last step and time, each by its
own clock (`analysis/beside.py`).

What can mislead: ranks that a launcher stops at once end together, and then nothing is said; a rank that hangs without
a word is known only by the complaints of all others.
"""

from collections.abc import Iterable, Iterator

from jobmeter.analysis import beside
from jobmeter.analysis.beside import Stop
from jobmeter.analysis.verdict import facts
from jobmeter.model import units
from jobmeter.model.rank import RankFacts
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Value
from jobmeter.model.view import RunView


def detect(view: RunView) -> Iterable[Finding]:
    """Name the rank that stopped before the others."""
    stop = beside.first_to_stop(view)
    if stop is None:
        return
    rank = stop.stopped
    yield Finding(
        detector="rank_stopped",
        severity=Severity.CRITICAL,
        sentence=f"rank {rank.rank} stopped first: {_words(stop)}",
        key="step",
        begin=rank.last_at,
        end=rank.ended_at,
        rank=rank.rank,
        evidence=tuple(_evidence(stop)),
        figures=_figures(stop),
    )


def lived_on(rank: RankFacts) -> float | None:
    """Say for how long a rank lived after its last step; None where either moment is not known."""
    if rank.ended_at is None or rank.last_at is None or rank.ended_at < rank.last_at:
        return None
    return rank.ended_at - rank.last_at


def waited(stop: Stop) -> float | None:
    """Say for how long the others lived on after their last steps, the one that gave up first; None if not known."""
    return min((seconds for one in stop.others if (seconds := lived_on(one)) is not None), default=None)


def _words(stop: Stop) -> str:
    rank, behind = stop.stopped, stop.behind
    if behind is None:
        return f"{_ending(rank, stop)}, before the other {len(stop.others)}"
    told = f"it told step {rank.last_step} last and {_ending(rank, stop)}"
    if behind > 0:
        return f"{told}; the foremost went on to step {stop.front}"
    patience = waited(stop)
    span = f" for {units.format_seconds(patience)}" if patience is not None else ""
    return f"{told}; the others took no further step and waited{span}"


def _ending(rank: RankFacts, stop: Stop) -> str:
    if stop.is_silent:
        return "then nothing, while all others complained of waiting"
    after = lived_on(rank)
    later = "" if after is None else f" {units.format_seconds(after)} later"
    if not rank.has_recorder:
        return "then no more"
    if rank.run.signal is not None:
        return f"was ended by {facts.signal_name(rank.run)}{later}"
    status = f" with exit status {rank.run.exit_code}" if rank.run.exit_code is not None else ""
    return f"ended{later}{status}"


def _evidence(stop: Stop) -> Iterator[Evidence]:
    for one in (stop.stopped, *_foremost(stop)):
        if one.last_step is not None:
            yield Evidence(
                sentence=f"the last step of rank {one.rank} is {one.last_step}",
                source="steps",
                value=one.last_step,
                timestamp=one.last_at,
                rank=one.rank,
            )
    ending = facts.ending(stop.stopped.run) if stop.stopped.has_recorder else None
    if ending is not None:
        yield ending


def _foremost(stop: Stop) -> list[RankFacts]:
    return [one for one in stop.others if one.last_step is not None and one.last_step == stop.front][:1]


def _figures(stop: Stop) -> dict[str, Value]:
    rank = stop.stopped
    found: dict[str, Value | None] = {
        "rank": rank.rank,
        "rank_count": len(stop.others) + 1,
        "run_id": rank.run.run_id,
        "last_step": rank.last_step,
        "behind_steps": stop.behind,
        "lived_on_seconds": _rounded(lived_on(rank)),
        "others_lived_on_seconds": _rounded(waited(stop)),
        "exit_code": rank.run.exit_code if rank.has_recorder else None,
        "signal": rank.run.signal if rank.has_recorder else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
