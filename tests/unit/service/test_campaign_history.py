"""Builds one after another: success as it went, and where they became slower."""

from pathlib import Path

from jobmeter.compat import campaign as front
from jobmeter.service import campaign_show
from support import builds


def record(home: Path, number: int, *, success: bool = True, working: int = 600) -> None:
    """Book one build."""
    metrics = front.build_metrics(builds.samples()) if number == 0 else None
    front.record_build_result(
        "us-west2",
        success,
        build_id=f"b{number}",
        queue_wait_seconds=30,
        working_seconds=working,
        spot_price_per_hour=6,
        error_message=None if success else "timeout",
        resource_metrics=metrics,
        path=home / "campaign_stats.json",
    )


def test_a_build_among_others(tmp_path: Path) -> None:
    record(tmp_path, 0)
    record(tmp_path, 1, success=False)
    told = campaign_show.region_told(str(tmp_path), "us-west2")
    first, second = told["history"]  # type: ignore[misc]
    assert first == {
        "build_id": "b0",
        "timestamp": first["timestamp"],
        "outcome": "success",
        "queue_seconds": 30,
        "working_seconds": 600.0,
        "cost_usd": 1.0,
        "success_rate": 100.0,
        "spikes": 4,
        "troughs": 0,
        "consistency": 0.45,
    }
    assert (second["outcome"], second["success_rate"], second["error"]) == ("failure", 50.0, "timeout")
    assert "spikes" not in second


def test_the_first_slow_build_is_marked_and_a_failed_one_counts_for_nothing(tmp_path: Path) -> None:
    times = [600 + 5 * (number % 3) for number in range(12)] + [900 + 5 * (number % 3) for number in range(6)]
    for number, working in enumerate(times):
        record(tmp_path, number, working=working)
    record(tmp_path, 99, success=False, working=5)
    told = campaign_show.region_told(str(tmp_path), "us-west2")
    changed = [one for one in told["history"] if "change" in one]  # type: ignore[attr-defined]
    assert [(one["build_id"], one["change"]) for one in changed] == [("b12", "slower")]
    assert 45 < changed[0]["change_percent"] < 55
    (region,) = campaign_show.told(str(tmp_path))["regions"]  # type: ignore[misc]
    assert region["regressions"] == 1
    assert region["recent_outcomes"] == ["success"] * 18 + ["failure"]
    assert told["region"] == region


def test_a_build_that_waits_has_no_success_rate(tmp_path: Path) -> None:
    front.update_pending_build("us-west2", "b1", path=tmp_path / "campaign_stats.json")
    told = campaign_show.region_told(str(tmp_path), "us-west2")
    (only,) = told["history"]  # type: ignore[misc]
    assert only["outcome"] == "pending"
    assert "success_rate" not in only
