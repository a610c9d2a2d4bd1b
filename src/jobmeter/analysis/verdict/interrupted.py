"""A person stopped the job: Ctrl-C."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Verdict
from jobmeter.model.view import RunView


def judge(view: RunView) -> Verdict | None:
    """Say that the job was interrupted."""
    if not facts.went_wrong(view):
        return None
    error = story.root(view)
    is_told = error is not None and (
        error.signature == "interrupted" or error.fields.get("reason") == "interrupt"
    )
    by_signal = facts.signal_name(view.run) == "SIGINT" and (error is None or error.signature == "exception")
    if not is_told and not by_signal:
        return None
    evidence = list(facts.endings(view.run))
    if error is not None and is_told:
        evidence.append(facts.quoted(error, "the job says so"))
    confidence = 0.95 if by_signal else 0.9
    return facts.verdict(Cause.INTERRUPTED, "somebody interrupted the job", confidence, *evidence)
