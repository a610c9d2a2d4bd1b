"""All of analysis together: the order of what is said, and the badge of a run."""

import dataclasses

import pytest

from jobmeter.analysis import engine
from jobmeter.model.report import Cause, Finding, Health, Severity
from jobmeter.model.run import Status
from support import reports, views

SPEAKING = {"speaking": "support.speaking"}


def test_a_run_that_did_nothing_odd_is_good() -> None:
    report = engine.examine(views.build_run())
    assert (report.verdict.cause, report.health) == (Cause.COMPLETED, Health.GOOD)
    assert report.log_errors == ()


def test_the_same_run_gives_the_same_report() -> None:
    view = dataclasses.replace(
        views.build_run(status=Status.FAILED, exit_code=1), log_errors=(reports.CUDA_OOM,)
    )
    assert engine.examine(view) == engine.examine(view)
    assert engine.examine(view).log_errors == (reports.CUDA_OOM,)


def test_findings_are_put_worst_first_then_by_name_and_time() -> None:
    report = engine.examine(views.build_run(), detectors=SPEAKING, rules={})
    assert [(one.severity.value, one.detector, one.sentence) for one in report.findings] == [
        ("critical", "stall", "worst"),
        ("warning", "leak", "early"),
        ("warning", "leak", "late"),
        ("info", "leak", views.build_run().run.run_id),
    ]
    assert report.health is Health.CRITICAL


def test_advice_is_put_worst_first_then_by_how_much_it_changes() -> None:
    report = engine.examine(views.build_run(), detectors=SPEAKING, rules=SPEAKING)
    assert [one.rule for one in report.recommendations] == ["batch", "less", "quantise", "prefetch"]


def test_a_rule_hears_only_what_detectors_found() -> None:
    assert engine.examine(views.build_run(), detectors={}, rules=SPEAKING).recommendations == ()


@pytest.mark.parametrize(
    ("status", "cause", "severity", "health"),
    [
        (Status.COMPLETED, Cause.COMPLETED, None, Health.GOOD),
        (Status.COMPLETED, Cause.COMPLETED, Severity.INFO, Health.GOOD),
        (Status.COMPLETED, Cause.COMPLETED, Severity.WARNING, Health.WARNING),
        (Status.COMPLETED, Cause.COMPLETED, Severity.CRITICAL, Health.CRITICAL),
        (Status.COMPLETED, Cause.NAN_LOSS, None, Health.CRITICAL),
        (Status.FAILED, Cause.EXCEPTION, None, Health.CRITICAL),
        (Status.FAILED, Cause.UNKNOWN, None, Health.CRITICAL),
        (Status.KILLED, Cause.UNKNOWN, None, Health.CRITICAL),
        (Status.LOST, Cause.UNKNOWN, None, Health.WARNING),
        (Status.RUNNING, Cause.UNKNOWN, None, Health.GOOD),
        (Status.CANCELLED, Cause.INTERRUPTED, None, Health.WARNING),
        (Status.CANCELLED, Cause.TIMEOUT, None, Health.CRITICAL),
    ],
)
def test_the_badge_of_a_run(status: Status, cause: Cause, severity: Severity | None, health: Health) -> None:
    found = [] if severity is None else [Finding(detector="leak", severity=severity, sentence="s")]
    run = views.build_run(status=status).run
    assert engine.health(run, reports.verdict(cause), found) is health
