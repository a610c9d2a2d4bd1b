"""An exception of the job: the line of its own code to look at, past the libraries it was raised in."""

from collections.abc import Iterable

from jobmeter.analysis import advice, frames
from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Recommendation, Severity

_TOLD_WHERE = frozenset(("assertion", "exception"))
"""What a GPU or a child failed of is told elsewhere than it happened."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Name the innermost line of the job's own code, with what was raised below it."""
    error = story.root(case.view) if case.verdict.cause is Cause.EXCEPTION else None
    if error is None or error.signature not in _TOLD_WHERE:
        return
    frame = frames.own(error)
    if frame is None:
        return
    short = frame.place if frame.is_given else f"{frame.path.rpartition('/')[2]}:{frame.line}"
    yield Recommendation(
        rule="exception_place",
        severity=Severity.CRITICAL,
        title=f"Look at {short}",
        action=f"Look at {frame.place}: {facts.first_line(error)}",
        impact="There the job's own code was when it failed; what it called of Python and of packages is left out",
        evidence=advice.verdict_evidence(case.verdict),
    )
