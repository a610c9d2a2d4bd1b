"""A setting that was refused: the place in the config, the option that is not known, or what the job said of it."""

import re
from collections.abc import Iterable

from jobmeter.analysis import advice
from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import refusals, story
from jobmeter.analysis.verdict.refusals import Refusal
from jobmeter.model.report import Cause, Recommendation, Severity

_UNKNOWN = re.compile(r"unrecognized arguments?: (?P<words>.+)|[Nn]o such option:? (?P<option>\S+)")
_REQUIRED = re.compile(r"the following arguments are required: (?P<words>.+)")


def advise(case: Case) -> Iterable[Recommendation]:
    """Say what to correct."""
    error = story.root(case.view) if case.verdict.cause is Cause.CONFIG_ERROR else None
    if error is None:
        return
    title, action = _told(refusals.read(error))
    yield Recommendation(
        rule="refused_setting",
        severity=Severity.CRITICAL,
        title=title,
        action=action,
        impact="The job gets past reading its settings",
        evidence=advice.verdict_evidence(case.verdict),
    )


def _told(refusal: Refusal) -> tuple[str, str]:
    """Say what to do, and how."""
    if refusal.places:
        config = refusal.file or "the config"
        return f"Correct {config}", f"Correct {_span(refusal)} of {config}: {refusal.problem}"
    unknown, required = _UNKNOWN.search(refusal.problem), _REQUIRED.search(refusal.problem)
    if unknown is not None:
        words = (unknown["words"] or unknown["option"]).strip()
        return (
            "Correct the options of the command",
            f"Take {words} out, or correct its name: --help of the program lists what it takes",
        )
    if required is not None:
        words = required["words"].strip()
        return f"Add {words}", f"Add {words} to the command: --help of the program says what it takes"
    return "Correct the setting that was refused", f"Correct what the job refused: {refusal.problem}"


def _span(refusal: Refusal) -> str:
    """Say from where to where the mistake may be."""
    first, last = refusal.places[0], refusal.places[-1]
    if first == last:
        return str(first)
    return f"{first} to {f'column {last.column}' if first.line == last.line else last}"
