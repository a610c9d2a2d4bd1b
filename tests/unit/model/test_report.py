"""Reports as JSON: only what is known is there."""

from jobmeter.analysis.case import Case
from jobmeter.model.report import (
    Cause,
    Evidence,
    Finding,
    Health,
    LogError,
    Prediction,
    Recommendation,
    Report,
    Severity,
    Verdict,
)
from jobmeter.model.run import Run, Status
from jobmeter.model.view import RunView

FACT = Evidence(sentence="the kernel counted 1 kill", source="event oom_kill", value=1, timestamp=1_000.0)
VERDICT = Verdict(cause=Cause.OOM_CGROUP, sentence="out of memory", confidence=0.987, evidence=(FACT,))


def test_the_worst_comes_first() -> None:
    assert sorted(Severity, key=lambda one: one.order) == [
        Severity.CRITICAL,
        Severity.WARNING,
        Severity.INFO,
    ]


def test_a_report_is_what_analyze_prints() -> None:
    finding = Finding(
        detector="leak", severity=Severity.WARNING, sentence="memory grows", key="proc_rss", begin=0.0
    )
    prediction = Prediction(
        quantity="memory_peak_bytes", unit="bytes", before=200.0, after=100.0, low=90.0, high=120.0
    )
    advice = Recommendation(
        rule="workers",
        severity=Severity.CRITICAL,
        title="Reduce worker count",
        action="Set num_workers: 0",
        impact="Saves 100 B",
        config_path="num_workers",
        current_value=2,
        recommended_value=0,
        predictions=(prediction,),
    )
    error = LogError(level="ERROR", type="RuntimeError", message="CUDA out of memory", ranks=(0, 1), count=2)
    report = Report(
        verdict=VERDICT,
        health=Health.CRITICAL,
        findings=(finding,),
        recommendations=(advice,),
        log_errors=(error.at_memory(7),),
    )
    assert report.as_record() == {
        "verdict": {
            "cause": "oom_cgroup",
            "sentence": "out of memory",
            "confidence": 0.99,
            "evidence": [
                {
                    "sentence": "the kernel counted 1 kill",
                    "source": "event oom_kill",
                    "value": 1,
                    "timestamp": "1970-01-01T00:16:40.000Z",
                }
            ],
        },
        "health": "critical",
        "findings": [
            {
                "detector": "leak",
                "severity": "warning",
                "sentence": "memory grows",
                "key": "proc_rss",
                "from": "1970-01-01T00:00:00.000Z",
                "evidence": [],
            }
        ],
        "recommendations": [
            {
                "rule": "workers",
                "severity": "critical",
                "title": "Reduce worker count",
                "action": "Set num_workers: 0",
                "impact": "Saves 100 B",
                "config_path": "num_workers",
                "current_value": 2,
                "recommended_value": 0,
                "evidence": [],
                "predicted": [
                    {
                        "quantity": "memory_peak_bytes",
                        "unit": "bytes",
                        "before": 200.0,
                        "after": 100.0,
                        "low": 90.0,
                        "high": 120.0,
                    }
                ],
            }
        ],
        "log_errors": [
            {
                "level": "ERROR",
                "type": "RuntimeError",
                "message": "CUDA out of memory",
                "count": 2,
                "ranks": [0, 1],
                "memory_at_time_bytes": 7,
            }
        ],
    }


def test_a_case_gives_what_one_detector_found() -> None:
    run = Run(run_id="r", job_id="r", status=Status.FAILED, command=("x",))
    first, other = (
        Finding(detector=name, severity=Severity.INFO, sentence=name) for name in ("leak", "stall")
    )
    case = Case(view=RunView(run=run, series={}), verdict=VERDICT, findings=(first, other))
    assert list(case.found("leak")) == [first]
