"""The verdict on a run: the first judge that has evidence speaks; where none has any, nobody knows."""

from typing import Protocol, cast

from jobmeter.analysis.verdict import JUDGES, facts
from jobmeter.model.report import Cause, Evidence, Verdict
from jobmeter.model.run import Run
from jobmeter.model.view import RunView

_MOST_EVIDENCE = 12


class Judge(Protocol):
    """What each module of `JUDGES` has."""

    def judge(self, view: RunView) -> Verdict | None:
        """Speak where there is evidence, else say nothing."""


def decide(view: RunView) -> Verdict:
    """Say why a run ended, with the evidence; `unknown` where the evidence does not decide."""
    for module in JUDGES.values():
        found = cast("Judge", module).judge(view)
        if found is not None:
            return facts.verdict(
                found.cause, found.sentence, found.confidence, *found.evidence[:_MOST_EVIDENCE]
            )
    return _unknown(view)


def _unknown(view: RunView) -> Verdict:
    if facts.is_live(view):
        return facts.verdict(Cause.UNKNOWN, "the run still goes on", 0.0, *_last_errors(view))
    evidence = (*facts.endings(view.run), *_last_errors(view))
    return facts.verdict(Cause.UNKNOWN, f"{_how(view.run)}, and nothing says why", 0.0, *evidence)


def _how(run: Run) -> str:
    """Say how the run ended, as far as that is known."""
    ended = facts.ending(run)
    if ended is not None:
        return ended.sentence
    if facts.is_text(run):
        return "the output just ends"
    if facts.is_recorded(run) and not run.command:
        return "nothing of the run could be written: the disk was full, or its recorder was killed at once"
    if facts.is_recorded(run):
        return "the recorder vanished before the job ended"
    state = facts.accounted_state(run)
    return f"the imported record says {state}" if state else "the imported record tells no end"


def _last_errors(view: RunView) -> tuple[Evidence, ...]:
    """Show what the job complained of last, which may or may not matter."""
    told = [error for error in view.log_errors if error.level != "WARNING" and not error.survived]
    return tuple(facts.quoted(error, "an error it told of before") for error in told[-3:])
