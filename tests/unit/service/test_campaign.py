"""The book of a build campaign: one way in, and sums that never shrink."""

from pathlib import Path

import pytest

from jobmeter.compat import campaign as front
from jobmeter.errors import UsageError
from jobmeter.service import campaign_book
from support import builds
from support.books import read, recent, region


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign_stats.json"


def test_a_success_and_a_failure_give_a_rate_in_percent(path: Path) -> None:
    assert front.record_build_result("us-west2", True, 10.0, build_id="a", path=path) == (1, 100.0)
    assert front.record_build_result("us-west2", True, 12.0, build_id="b", path=path) == (2, 100.0)
    assert front.record_build_result("us-west2", False, 20.0, build_id="c", path=path) == (3, 66.7)
    found = region(path)
    assert (found["successes"], found["failures"], found["success_rate"]) == (2, 1, 66.7)
    assert (found["avg_duration_minutes"], found["fastest_minutes"], found["slowest_minutes"]) == (
        14.0,
        10.0,
        20.0,
    )


def test_both_paths_keep_the_rate_in_percent_and_the_same_names(path: Path) -> None:
    front.record_build_result("us-west2", None, build_id="a", path=path)
    front.update_build_completion(
        "us-west2", "a", True, 30.0, working_seconds=1500, spot_price_per_hour=8.53, path=path
    )
    front.record_build_result(
        "us-west2", True, 30.0, build_id="b", working_seconds=1500, spot_price_per_hour=8.53, path=path
    )
    first, second = recent(path)
    assert first.keys() == second.keys()
    assert first["cost_estimated_usd"] == second["cost_estimated_usd"] == 3.5542
    assert region(path)["success_rate"] == 100.0
    assert region(path)["total_cost_usd"] == 7.1084


def test_a_build_that_waits_is_neither_success_nor_failure(path: Path) -> None:
    front.record_build_result("us-west2", False, 0, build_id="pending", path=path)
    front.record_build_result("us-west2", False, 0, build_id="q", status="QUEUED", path=path)
    found = region(path)
    assert (found["total_builds"], found["failures"], found["success_rate"], found["current_streak"]) == (
        2,
        0,
        0.0,
        0,
    )
    assert [build["success"] for build in recent(path)] == [None, None]


def test_an_announced_build_takes_its_id_and_completes_once(path: Path) -> None:
    front.record_build_result("us-west2", False, 0, build_id="pending", path=path)
    front.update_pending_build("us-west2", "real-id", path=path)
    front.update_pending_build("us-west2", "real-id", "WORKING", path=path)
    assert [(build["build_id"], build["status"]) for build in recent(path)] == [("real-id", "WORKING")]
    for _ in range(2):  # saying it twice changes nothing
        front.update_build_completion("us-west2", "real-id", False, 45.0, error_message="boom", path=path)
    found = region(path)
    assert (found["total_builds"], found["failures"], found["current_streak"]) == (1, 1, -1)
    assert found["total_duration_minutes"] == 45.0
    assert found["last_error"] == "boom"


def test_a_build_that_ended_is_not_taken_for_one_that_waits(path: Path) -> None:
    front.record_build_result("us-west2", True, 5, build_id="pending", status="SUCCESS", path=path)
    front.update_pending_build("us-west2", "next", path=path)
    assert [build["build_id"] for build in recent(path)] == ["pending", "next"]


def test_a_verdict_that_is_taken_back_moves_between_the_sums(path: Path) -> None:
    for name in ("a", "b", "c"):
        front.record_build_result("us-west2", True, 10.0, build_id=name, path=path)
    front.update_build_completion("us-west2", "c", False, 11.0, path=path)
    found = region(path)
    assert (found["successes"], found["failures"], found["current_streak"]) == (2, 1, -1)
    assert found["total_duration_minutes"] == 31.0
    front.update_build_completion("us-west2", "a", False, 10.0, path=path)
    assert region(path)["current_streak"] == -1


def test_streaks_turn(path: Path) -> None:
    seen = []
    for success in (True, True, False, False, False, True):
        front.record_build_result("us-west2", success, 1.0, path=path)
        seen.append(region(path)["current_streak"])
    assert seen == [1, 2, -1, -2, -3, 1]


def test_a_cancelled_build_is_counted_apart(path: Path) -> None:
    front.record_build_result("us-west2", True, 10.0, build_id="a", path=path)
    front.record_build_result("us-west2", False, 3.0, build_id="b", status="CANCELLED", path=path)
    found = region(path)
    assert (found["total_builds"], found["cancelled"], found["failures"], found["success_rate"]) == (
        2,
        1,
        0,
        100.0,
    )
    assert found["total_duration_minutes"] == 10.0


def test_100_builds_are_kept_and_sums_never_shrink(path: Path) -> None:
    for number in range(130):
        front.record_build_result("us-west2", number % 2 == 0, 2.0, build_id=f"b{number}", path=path)
    front.update_build_completion("us-west2", "b129", False, 2.0, path=path)
    found = region(path)
    assert (found["total_builds"], found["successes"], found["failures"]) == (130, 65, 65)
    assert (found["total_duration_minutes"], found["success_rate"]) == (260.0, 50.0)
    assert read(path)["total_builds_all_regions"] == 130
    assert [build["build_id"] for build in recent(path)] == [f"b{number}" for number in range(30, 130)]


def test_a_record_has_every_field_and_zeros_without_samples(path: Path) -> None:
    front.record_build_result("us-west2", True, 10.0, path=path)
    (build,) = recent(path)
    assert build["resource_samples"] == []
    assert build["sample_count"] == 0
    assert build["anomalies"] == {"spikes": [], "troughs": []}
    assert build["consistency_score"] == {
        "cpu": {"score": 0, "variance": 0, "std_dev": 0, "cv": 0},
        "memory": {"score": 0, "variance": 0, "std_dev": 0, "cv": 0},
        "overall": 0,
    }
    assert {
        *("timestamp", "build_id", "build_type", "machine_type", "success", "status", "duration_seconds"),
        *("duration_minutes", "queue_wait_seconds", "queue_wait_minutes", "working_seconds", "log_url"),
        *("fetch_source_seconds", "build_phase_seconds", "push_image_seconds", "worker_pool", "total_steps"),
        *(
            "build_start_time",
            "build_end_time",
            "push_duration_minutes",
            "failed_step",
            "spot_price_per_hour",
        ),
        *("cost_estimated_usd", "error", "timeout_reason", "fatigues"),
        *("cpu_utilization_avg", "cpu_utilization_peak", "memory_used_avg_gb", "memory_used_peak_gb"),
        *("io_read_total_mb", "io_write_total_mb"),
    } < build.keys()


def test_samples_are_kept_with_what_they_say(path: Path) -> None:
    metrics = front.parse_build_stats_from_logs(builds.cloud_build_log())
    front.record_build_result(
        "us-west2", True, 21.0, build_id=builds.BUILD_ID, resource_metrics=metrics, path=path
    )
    (build,) = recent(path)
    assert build["resource_samples"] == builds.samples()
    assert build["sample_count"] == 21
    assert build["memory_used_peak_gb"] == 137


def test_a_later_word_without_samples_does_not_unsay_them(path: Path) -> None:
    metrics = front.build_metrics(builds.samples())
    front.record_build_result("us-west2", True, 21.0, build_id="a", resource_metrics=metrics, path=path)
    front.update_build_completion("us-west2", "a", True, 22.0, path=path)
    assert recent(path)[0]["sample_count"] == 21


def test_a_fetcher_brings_the_log(path: Path) -> None:
    asked = []

    def fetch(build_id: str, where: str) -> str:
        asked.append((build_id, where))
        return builds.cloud_build_log()

    front.record_build_result("us-west2", None, build_id="pending", fetcher=fetch, path=path)
    front.record_build_result("us-west2", True, 21.0, build_id="abc", fetcher=fetch, path=path)
    assert asked == [("abc", "us-west2")]
    assert recent(path)[1]["sample_count"] == 21


def test_logs_come_as_text_bytes_file_and_function(tmp_path: Path) -> None:
    text = builds.cloud_build_log()
    file = builds.written(tmp_path, text)
    sources: tuple[front.Log, ...] = (text, text.encode(), file, str(file), lambda: text)
    assert {front.parse_build_stats_from_logs(source)["sample_count"] for source in sources} == {21}
    assert front.parse_build_stats_from_logs(lambda: None)["sample_count"] == 0
    with pytest.raises(UsageError, match="cannot read"):
        front.parse_build_stats_from_logs(tmp_path / "nothing")


def test_what_is_paid_for_is_work_not_waiting(path: Path) -> None:
    front.record_build_result(
        "us-west2", True, duration_seconds=4000, queue_wait_seconds=400, spot_price_per_hour=10, path=path
    )
    front.record_build_result("us-west2", True, duration_seconds=3600, spot_price_per_hour=10, path=path)
    assert [build["cost_estimated_usd"] for build in recent(path)] == [10.0, 10.0]


def test_errors_are_one_sentence_of_80_letters_without_secrets(path: Path) -> None:
    long = "ERROR: " + "pull failed " * 20 + "\nsecond line"
    front.record_build_result("us-west2", False, 1.0, error_message=long, path=path)
    error = str(recent(path)[0]["error"])
    assert error.startswith("pull failed")
    assert len(error) == 80
    front.record_build_result(
        "us-west2", False, 1.0, error_message="login with password=hunter2hunter2", path=path
    )
    assert "hunter2" not in path.read_text()
    front.record_build_result("us-west2", False, 1.0, error_message="\n", path=path)
    assert recent(path)[2]["error"] == "Unknown error"


def test_fatigue_is_noted_by_region(path: Path) -> None:
    front.record_fatigue_event("us-west2", "Queue timeout - 45min QUEUED", "queue-timeout", path=path)
    front.record_fatigue_event("us-west2", "?", "made-up", "Pool creation " + "timeout " * 20, path=path)
    found = region(path)
    assert (found["fatigue_incidents"], found["last_fatigue_reason_code"]) == (2, "unknown")
    assert len(str(found["last_fatigue_reason"])) == 60


def test_a_secret_in_the_address_of_a_log_is_not_kept() -> None:
    document = campaign_book.fresh(1.0)
    address = "https://ci.example/log?access_token=ghp_0123456789abcdefghijABCDEFGHIJ456789"
    build = campaign_book.settle(document, "eu", {"build_id": "a", "log_url": address}, 1.0)
    assert build["log_url"] == "https://ci.example/log?access_token=[redacted]"
