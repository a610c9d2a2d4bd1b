"""All of analysis on one run: why it ended, what stood out, what to change, worst first.

Pure: the same view gives the same report, byte for byte. Detectors and rules are asked in the order of their
registries, and what they say is put in an order that does not depend on it.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module

from jobmeter.analysis.case import Case
from jobmeter.analysis.detectors import DETECTORS, Detector
from jobmeter.analysis.rules import FIRST, RULES, Rule
from jobmeter.analysis.verdict import court
from jobmeter.model.report import Cause, Finding, Health, Recommendation, Report, Severity, Verdict
from jobmeter.model.run import Run, Status
from jobmeter.model.view import RunView

_WENT_WRONG = frozenset((Status.FAILED, Status.KILLED))
_AS_IT_SHOULD = frozenset((Cause.COMPLETED, Cause.UNKNOWN))


def examine(
    view: RunView, *, detectors: Mapping[str, str] = DETECTORS, rules: Mapping[str, str] = RULES
) -> Report:
    """Say all there is to say of one run; other registries than the usual name modules of the same kind."""
    verdict = court.decide(view)
    findings = tuple(sorted(_found(view, detectors.values()), key=_finding_order))
    case = Case(view=view, verdict=verdict, findings=findings)
    return Report(
        verdict=verdict,
        health=health(view.run, verdict, findings),
        findings=findings,
        recommendations=tuple(sorted(_advised(case, rules.values()), key=_recommendation_order)),
        log_errors=view.log_errors,
    )


def health(run: Run, verdict: Verdict, findings: Iterable[Finding]) -> Health:
    """Give a run its badge: a job that its user stopped is not ill, one that went wrong unexplained is."""
    failed = verdict.cause not in _AS_IT_SHOULD | {Cause.INTERRUPTED}
    unexplained = verdict.cause is Cause.UNKNOWN and run.status in _WENT_WRONG
    severities = {finding.severity for finding in findings}
    if failed or unexplained or Severity.CRITICAL in severities:
        return Health.CRITICAL
    if verdict.cause is Cause.INTERRUPTED or run.status is Status.LOST or Severity.WARNING in severities:
        return Health.WARNING
    return Health.GOOD


def _found(view: RunView, paths: Iterable[str]) -> Iterator[Finding]:
    for path in paths:
        detector: Detector = import_module(path)
        yield from detector.detect(view)


def _advised(case: Case, paths: Iterable[str]) -> Iterator[Recommendation]:
    for path in paths:
        rule: Rule = import_module(path)
        yield from rule.advise(case)


def _finding_order(finding: Finding) -> tuple[int, str, float, str, str, int, str]:
    return (
        finding.severity.order,
        finding.detector,
        finding.begin or 0.0,
        finding.key or "",
        finding.instance or "",
        -1 if finding.rank is None else finding.rank,
        finding.sentence,
    )


def _recommendation_order(advice: Recommendation) -> tuple[int, int, float, str, str, str]:
    """Put what matters more first; of equals, what costs least to try, then what changes most."""
    place = _PLACES.get(advice.rule, len(_PLACES))
    return advice.severity.order, place, -_effect(advice), advice.rule, advice.config_path or "", advice.title


_PLACES = {rule: place for place, rule in enumerate(FIRST)}


def _effect(advice: Recommendation) -> float:
    """Give the largest predicted change of a number, as a share of what it was."""
    shares = [abs(one.after - one.before) / abs(one.before) for one in advice.predictions if one.before]
    return max(shares, default=0.0)
