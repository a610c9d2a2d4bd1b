"""The five tests of the plan that brought samples, anomalies and consistency to build campaigns."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobmeter.compat import campaign
from support import builds

Record = dict[str, Any]

ANOMALY = {
    "type": str,
    "sample_index": int,
    "from_value": int,
    "to_value": int,
    "delta": int,
    "percent_change": float,
    "timestamp": str,
}
METRICS = {
    "cpu_utilization_avg": float,
    "cpu_utilization_peak": int,
    "memory_used_avg_gb": float,
    "memory_used_peak_gb": int,
    "io_read_total_mb": int,
    "io_write_total_mb": int,
    "resource_samples": list,
    "sample_count": int,
    "anomalies": dict,
    "consistency_score": dict,
}


def types(record: Record) -> dict[str, type]:
    return {key: type(value) for key, value in record.items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign_stats.json"


def latest(path: Path) -> Record:
    build: Record = json.loads(path.read_text())["regions"]["us-west2"]["recent_builds"][-1]
    return build


def completed(path: Path, log: str) -> Record:
    """Let a build begin and end as a campaign does, its log fetched."""
    campaign.record_build_result("us-west2", False, 0, build_id="pending", path=path)
    campaign.update_pending_build("us-west2", builds.BUILD_ID, path=path)
    campaign.update_build_completion(
        "us-west2", builds.BUILD_ID, True, 21.2, fetcher=lambda _build, _region: log, path=path
    )
    return latest(path)


def test_1_samples_are_stored(path: Path) -> None:
    build = completed(path, builds.cloud_build_log())
    assert build["build_id"] == builds.BUILD_ID
    assert build["resource_samples"] == builds.samples()
    assert build["sample_count"] == len(build["resource_samples"]) == 21
    assert {key: type(build[key]) for key in METRICS} == METRICS


def test_2_the_spike_of_build_84fbeb34_is_found_at_sample_10(path: Path) -> None:
    build = completed(path, builds.cloud_build_log())
    spikes = build["anomalies"]["spikes"]
    (found,) = [spike for spike in spikes if spike["type"] == "memory" and spike["sample_index"] == 10]
    assert found == {
        "type": "memory",
        "sample_index": 10,
        "from_value": 52,
        "to_value": 137,
        "delta": 85,
        "percent_change": 163.5,
        "timestamp": "2025-11-14T03:20:14+00:00",
        "severity": "HIGH",
    }
    assert [types(spike) for spike in spikes] == [ANOMALY | {"severity": str}] * len(spikes)


def test_3_consistency_is_scored_from_0_to_1(path: Path) -> None:
    score = completed(path, builds.cloud_build_log())["consistency_score"]
    assert list(score) == ["cpu", "memory", "overall"]
    for part in (score["cpu"], score["memory"]):
        assert types(part) == {"score": float, "variance": float, "std_dev": float, "cv": float}
        assert 0 <= part["score"] <= 1
    assert 0 <= score["overall"] <= 1


def test_4_debug_lines_appear(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    log = builds.cloud_build_log()
    campaign.record_build_result(
        "us-west2", True, 21.2, build_id=builds.BUILD_ID, fetcher=lambda _b, _r: log, path=path, debug=True
    )
    told = capsys.readouterr().err
    assert told.startswith(
        "DEBUG: Parsing resource stats from logs for 84fbeb34-276...\n"
        "DEBUG: Found BUILD_STATS_JSON markers in logs! Parsing...\n"
        "DEBUG: Parsed 21 resource samples from logs\n"
        "DEBUG:  Resource metrics parsed! CPU avg: 34.3%, Memory peak: 137GB\n"
        "DEBUG: RESOURCE_METRICS_JSON: {\n"
    )
    body = told.partition("RESOURCE_METRICS_JSON: ")[2].partition("DEBUG: Detected")[0]
    assert types(json.loads(body)) == METRICS
    assert told.endswith("DEBUG: Detected 4 spikes and 0 troughs\nDEBUG: Overall consistency score: 0.45\n")


def test_5_a_build_without_samples_has_empty_lists_and_zeros(path: Path) -> None:
    build = completed(path, "Step #0: an old build, long before it was sampled\n")
    nothing = {"score": 0, "variance": 0, "std_dev": 0, "cv": 0}
    assert {
        key: build[key] for key in ("resource_samples", "sample_count", "anomalies", "consistency_score")
    } == {
        "resource_samples": [],
        "sample_count": 0,
        "anomalies": {"spikes": [], "troughs": []},
        "consistency_score": {"cpu": nothing, "memory": nothing, "overall": 0},
    }
    assert build["success"] is True
