"""The analysis of a job in the shape ai-toolkit's page asks for, key for key."""

import dataclasses
import json
from pathlib import Path

import pytest

from jobmeter.compat import aitk as named
from jobmeter.errors import UsageError
from jobmeter.exporters import aitk
from jobmeter.model.aitk import Sample
from jobmeter.model.report import Health
from jobmeter.model.view import RunView
from jobmeter.service import job_analysis, runs
from support import folders, reports, views
from support.views import GIB, STARTED

EXAMPLE = json.loads("""{
  "summary": {
    "health_score": "critical", "peak_memory_gb": 119.2, "total_memory_gb": 120, "training_completed": false,
    "steps_completed": 450, "duration_minutes": 32.5
  },
  "recommendations": [
    {"severity": "critical", "title": "Reduce worker count", "action": "Set num_workers: 0",
     "impact": "Saves ~16GB memory", "config_path": "config.process[0].datasets[0].num_workers",
     "current_value": 2, "recommended_value": 0}
  ],
  "log_errors": [
    {"timestamp": 1731723012.5, "level": "ERROR", "message": "RuntimeError: CUDA out of memory",
     "memory_at_time_gb": 119.2}
  ],
  "metrics_timeline": []
}""")
"""As ai-toolkit's design of the page has it."""
OOM = (
    'Traceback (most recent call last):\n  File "t.py", line 1\n'
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = folders.write_run(
        tmp_path / "home",
        seconds=20,
        start={"job_id": "aitk-7"},
        context={"host": {"hostname": "n", "cpus": 8, "memory_bytes": 120 * GIB}},
        end={"status": "failed", "exit_code": 1},
    )
    (folder / "stdout").write_text(OOM)
    (folder / "output.index").write_bytes(
        folders.dump(["stdout", len(OOM), folders.iso(folders.STARTED + 10)])
    )
    steps = [
        {
            "timestamp": folders.iso(folders.STARTED + n),
            "step": n,
            "rank": 0,
            "source": "sdk",
            "metrics": {"loss": 1.0},
        }
        for n in range(1, 19)
    ]
    folders.append(folder / "steps.jsonl", *steps)
    return str(tmp_path / "home")


def test_a_job_is_found_by_its_own_name(home: str) -> None:
    told = named.job_analysis(home, "aitk-7")
    assert list(told) == list(EXAMPLE)
    summary = told["summary"]
    assert isinstance(summary, dict)
    assert list(summary) == list(EXAMPLE["summary"])
    assert (summary["health_score"], summary["training_completed"]) == ("critical", False)
    assert (summary["steps_completed"], summary["duration_minutes"]) == (18, 0.333)
    assert summary["total_memory_gb"] == 120.0
    assert 0 < summary["peak_memory_gb"] < 120


def test_log_errors_have_the_keys_and_types_of_the_design(home: str) -> None:
    told = job_analysis.job_analysis(home, "aitk-7")["log_errors"]
    assert isinstance(told, list)
    (error,) = told
    (example,) = EXAMPLE["log_errors"]
    assert {key: type(value) for key, value in error.items()} == {
        key: type(value) for key, value in example.items()
    }
    assert error["timestamp"] == pytest.approx(folders.STARTED + 10)
    assert error["message"] == "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"


def test_the_timeline_has_the_columns_of_the_samples_and_the_events(home: str) -> None:
    told = job_analysis.job_analysis(home, "aitk-7")["metrics_timeline"]
    assert isinstance(told, list)
    assert len(told) == 20
    assert {field.name for field in dataclasses.fields(Sample)} <= set(told[0])
    assert [sample["events"] for sample in told if "events" in sample] == [["oom"]]


def test_it_is_strict_json(home: str) -> None:
    assert json.loads(json.dumps(job_analysis.job_analysis(home, "aitk-7"), allow_nan=False))


def test_a_config_that_wants_no_analysis_gets_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = folders.write_run(
        tmp_path,
        context={"monitoring": {"analyze_on_complete": False}},
        end={"status": "failed", "exit_code": 1},
    )
    (folder / "stdout").write_text(OOM)
    told = job_analysis.job_analysis(str(tmp_path), folders.RUN_ID)
    assert (told["recommendations"], told["log_errors"]) == ([], [])
    summary = told["summary"]
    assert isinstance(summary, dict)
    assert summary["health_score"] == "warning"


def test_an_unknown_job_is_refused(home: str) -> None:
    with pytest.raises(UsageError, match="unknown run: nobody"):
        job_analysis.job_analysis(home, "nobody")


def test_a_long_timeline_keeps_its_peak() -> None:
    samples = [Sample(timestamp=float(n), used_memory_gb=50.0 if n == 4321 else 1.0) for n in range(10_000)]
    told = job_analysis.timeline(samples, [])
    assert len(told) == job_analysis.MOST_SAMPLES
    assert max(sample["used_memory_gb"] for sample in told) == 50.0  # type: ignore[type-var]
    assert told[0]["timestamp"] == 0.0


def test_an_event_before_the_first_sample_stands_at_it() -> None:
    told = job_analysis.timeline([Sample(timestamp=STARTED + 5)], [views.event(1, "checkpoint")])
    assert told[0]["events"] == ["checkpoint"]
    assert job_analysis.timeline([], []) == []


def analysed(view: RunView, health: Health = Health.CRITICAL) -> aitk.Tables:
    return aitk.tables(view, [], reports.report(health=health))


def test_the_row_of_analysis_holds_what_analysis_said() -> None:
    row = analysed(views.build_run()).report
    assert row.health_score == "critical"
    assert json.loads(row.recommendations) == [
        {
            "severity": "critical",
            "title": "Reduce worker count",
            "action": "Set num_workers: 0",
            "impact": "Saves about 16 GiB of memory",
            "config_path": "config.process[0].datasets[0].num_workers",
            "current_value": 2,
            "recommended_value": 0,
        }
    ]
    assert row.log_errors is not None
    assert json.loads(row.log_errors) == [
        {
            "timestamp": STARTED + 780,
            "level": "ERROR",
            "message": "CUDA out of memory. Tried to allocate 2.00 GiB",
            "memory_at_time_gb": 119.0,
        }
    ]
    assert set(EXAMPLE["recommendations"][0]) == set(json.loads(row.recommendations)[0])


def test_the_worse_of_two_badges_counts() -> None:
    ran_out = dataclasses.replace(views.build_run(), events=(views.event(3, "oom_kill"),))
    assert analysed(ran_out, Health.GOOD).report.health_score == "critical"
    assert analysed(views.build_run(), Health.WARNING).report.health_score == "warning"
    assert analysed(views.build_run(), Health.GOOD).report.health_score == "good"


def test_a_run_without_errors_has_none_in_its_row() -> None:
    row = aitk.tables(views.build_run(), [], reports.report(log_errors=())).report
    assert row.log_errors is None
    unknown = dataclasses.replace(reports.CUDA_OOM, memory_at_time_bytes=None)
    assert aitk.log_errors([unknown])[0]["memory_at_time_gb"] is None


def test_a_job_is_its_newest_run(home: str) -> None:
    assert runs.find(home, "aitk-7").run_id == folders.RUN_ID
