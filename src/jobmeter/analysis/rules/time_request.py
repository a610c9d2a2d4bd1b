"""`--time` that fits: more where the run was cut off, less where most of it was not needed."""

from collections.abc import Iterable
from math import ceil

from jobmeter.analysis import asking, configs, planned
from jobmeter.analysis.case import Case
from jobmeter.analysis.configs import Asked
from jobmeter.model import sizing, units
from jobmeter.model.report import Cause, Evidence, Recommendation, Severity
from jobmeter.model.run import Status

_MUCH, _LEAST_SECONDS = 2.0, 600.0
"""Asking for less than that too much, as a factor and in seconds, is not worth a line."""
_MARGIN = 1.15
"""Above what a run took, or would have taken: the next one is not quite as fast."""
_LONGEST_SECONDS = 3.2e8
"""Ten years: what lies beyond is no time."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Say what to ask for."""
    run = case.view.run
    asked = configs.request(run, Asked.TIME)
    limit, wall = None if asked is None else asked.number, run.wall_seconds
    if asked is None or limit is None or wall is None or not 0 < wall < _LONGEST_SECONDS:
        return
    if case.verdict.cause is Cause.TIMEOUT:
        yield _more(case, asked, limit, wall)
    elif run.status is Status.COMPLETED:
        yield from _less(case, asked, limit, wall)


def _more(case: Case, asked: configs.Setting, limit: float, wall: float) -> Recommendation:
    share = _share_done(case)
    wanted = 2 * limit if share is None else _MARGIN * max(wall / share, limit)
    known = "how much was left is not known" if share is None else f"{share:.0%} of its steps were done"
    return Recommendation(
        rule="time_request",
        severity=Severity.CRITICAL,
        title="Ask for more time",
        action=f"Set {asked.path}={_written(asked, wanted)}",
        impact=f"Time to finish: {known} after {units.format_seconds(wall)}",
        config_path=asked.path,
        current_value=_given(asked, limit),
        recommended_value=_written(asked, wanted),
        evidence=(Evidence(sentence=case.verdict.sentence, source="verdict"),),
    )


def _less(case: Case, asked: configs.Setting, limit: float, wall: float) -> Iterable[Recommendation]:
    sized = asking.advised(case, sizing.Resource.TIME)
    wanted = max(_MARGIN * wall, 0.0 if sized is None else sized.advised)
    if limit < _MUCH * wanted or limit - wanted < _LEAST_SECONDS:
        return
    known = "this run alone is known" if sized is None else f"{sized.runs} runs are known"
    yield Recommendation(
        rule="time_request",
        severity=Severity.INFO,
        title="Ask for less time",
        action=f"Set {asked.path}={_written(asked, wanted)}",
        impact="A shorter job is started sooner, where the scheduler fills gaps",
        config_path=asked.path,
        current_value=_given(asked, limit),
        recommended_value=_written(asked, wanted),
        evidence=(
            Evidence(
                sentence=f"it took {units.format_seconds(wall)} of {units.format_seconds(limit)} ({known})",
                source="wall_seconds",
                value=round(wall, 1),
            ),
        ),
    )


def _written(asked: configs.Setting, seconds: float) -> str | int:
    """Write a time as Slurm reads it, in seconds for everyone else."""
    seconds = min(seconds, _LONGEST_SECONDS)
    return asking.slurm_time(seconds) if asked.path == Asked.TIME.value else ceil(seconds)


def _given(asked: configs.Setting, seconds: float) -> str | int | float:
    """Write the time that was asked for: half a second is not none, and not a whole one."""
    is_whole = asked.path == Asked.TIME.value or seconds == ceil(seconds)
    return _written(asked, seconds) if is_whole else seconds


def _share_done(case: Case) -> float | None:
    """Give the share of its steps that a training had done; None where nobody said how many there are to be."""
    steps = case.view.run.steps
    most = planned.steps(case.view.run.context.get("config"), case.view.events)
    begun = _begun(case)
    if steps is None or most is None or not begun < steps.last_step < most:
        return None
    return (steps.last_step - begun) / (most - begun)


def _begun(case: Case) -> int:
    """Give the step a run began after: one that resumed did not do those before."""
    firsts = [table.steps[:2] for table in case.view.steps.tables if len(table) > 1]
    # the first step that is told is one stride in
    return min((max(0, 2 * first - second) for first, second in firsts), default=0)
