"""A detector and a rule that say much, in no order."""

from collections.abc import Iterator

from jobmeter.analysis.case import Case
from jobmeter.model.report import Finding, Prediction, Recommendation, Severity
from jobmeter.model.view import RunView


def detect(view: RunView) -> Iterator[Finding]:
    """Say the same of every run, its id in between."""
    yield Finding(detector="leak", severity=Severity.INFO, sentence=view.run.run_id)
    yield Finding(detector="leak", severity=Severity.WARNING, sentence="late", begin=9.0)
    yield Finding(detector="stall", severity=Severity.CRITICAL, sentence="worst")
    yield Finding(detector="leak", severity=Severity.WARNING, sentence="early", begin=2.0, rank=1)


def advise(case: Case) -> Iterator[Recommendation]:
    """Advise more or less, for every finding that is a stall."""
    for _ in case.found("stall"):
        yield _advice("prefetch", Severity.INFO, 1.0)
        yield _advice("less", Severity.CRITICAL, 99.0)
        yield _advice("quantise", Severity.CRITICAL, None)
        yield _advice("batch", Severity.CRITICAL, 40.0)


def _advice(rule: str, severity: Severity, after: float | None) -> Recommendation:
    predicted = [after] if after is not None else []
    return Recommendation(
        rule=rule,
        severity=severity,
        title="t",
        action="a",
        impact="i",
        predictions=tuple(
            Prediction(quantity="q", unit="bytes", before=100.0, after=one, low=0.0, high=100.0)
            for one in predicted
        ),
    )
