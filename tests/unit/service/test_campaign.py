"""The book of a build campaign: one way in, sums that never shrink, a file that is never lost."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jobmeter.compat import campaign as front
from jobmeter.errors import UsageError
from jobmeter.service import campaign, campaign_book, campaign_builds, campaign_file, campaign_show
from jobmeter.service.campaign_builds import Told
from support import builds

WORKERS, EACH = 8, 50


def read(path: Path) -> dict[str, object]:
    document = json.loads(path.read_text())
    assert isinstance(document, dict)
    return document


def region(path: Path, name: str = "us-west2") -> dict[str, object]:
    regions = read(path)["regions"]
    assert isinstance(regions, dict)
    found = regions[name]
    assert isinstance(found, dict)
    return found


def recent(path: Path) -> list[dict[str, object]]:
    found = region(path)["recent_builds"]
    assert isinstance(found, list)
    return found


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


def test_eight_writers_lose_nothing(path: Path) -> None:
    script = (
        "import sys; from jobmeter.compat import campaign\n"
        "who, path = sys.argv[1], sys.argv[2]\n"
        f"for n in range({EACH}):\n"
        "    where = f'region-{int(who) % 2}'\n"
        "    campaign.record_build_result(where, n % 5 != 0, 1.0, build_id=f'{who}-{n}', path=path)\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", script, str(n), str(path)]) for n in range(WORKERS)]
    assert [process.wait(timeout=120) for process in started] == [0] * WORKERS
    document = campaign.load(path)
    assert document["total_builds_all_regions"] == WORKERS * EACH
    for name in ("region-0", "region-1"):
        found = region(path, name)
        assert (found["total_builds"], found["successes"], found["failures"]) == (200, 160, 40)
        assert found["total_duration_minutes"] == 200.0
    assert list(path.parent.glob(".*.part")) == []


def test_threads_of_one_process_take_turns_too(path: Path) -> None:
    def work() -> None:
        for _ in range(10):
            front.record_build_result("us-west2", True, 1.0, path=path)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert region(path)["total_builds"] == 40


@pytest.mark.parametrize(
    "damage", ['{"regions": {"us-we', "[]", '{"regions": 3}', '{"regions": {"a": 1}}', "\x00\x01"]
)
def test_a_damaged_file_is_put_aside_with_a_sentence(path: Path, damage: str) -> None:
    said: list[str] = []
    for _ in range(2):
        path.write_text(damage)
        campaign.settle(path, Told(region="us-west2", fields={"status": "QUEUED"}), warn=said.append)
    assert region(path)["total_builds"] == 1
    aside = sorted(path.parent.glob("*.damaged-*"))
    assert [file.read_text() for file in aside] == [damage, damage]
    assert "held no campaign" in said[0]
    assert aside[0].name in said[0]


def test_reading_a_damaged_file_leaves_it_alone(path: Path) -> None:
    path.write_text("{")
    with pytest.raises(UsageError, match="holds no campaign"):
        campaign.load(path)
    assert path.read_text() == "{"


def test_an_empty_file_is_a_campaign_that_has_not_begun(path: Path) -> None:
    path.write_text("\n")
    front.record_build_result("us-west2", True, 1.0, path=path)
    assert list(path.parent.glob("*.damaged-*")) == []


def test_a_file_with_nan_and_a_byte_order_mark_is_read(path: Path) -> None:
    path.write_text(
        '\ufeff{"regions": {"us-west2": {"total_builds": 3, "successes": NaN}}}', encoding="utf-8"
    )
    front.record_build_result("us-west2", True, 1.0, path=path)
    assert region(path)["total_builds"] == 4


def test_the_faults_of_older_files_are_mended(path: Path) -> None:
    older = {
        "campaign_start": 1763026000.0,
        "total_builds_all_regions": 47,
        "someone": "else's",
        "regions": {
            "us-west2": {
                "total_builds": 4,
                "successes": 2,
                "failures": 2,
                "success_rate": 0.5,
                "current_streak": 1,
                "fatigue_reason": "old name",
                "recent_builds": [
                    {"build_id": "a", "success": True, "status": "SUCCESS", "duration_minutes": 10},
                    {"build_id": "b", "success": False, "status": "FAILURE", "duration_seconds": 300, "cost_usd": 2.5},
                    {"build_id": "c", "success": False, "status": "QUEUED"},
                    {"build_id": "d", "success": True, "status": "SUCCESS", "duration_seconds": 1200},
                    "garbage",
                ],
            },
            "eu": {"total_builds": 500, "successes": 400, "failures": 100, "total_duration_minutes": 1000.0,
                   "recent_builds": [{"build_id": "z", "success": False, "status": "WORKING"}]},
        },
    }  # fmt: skip
    path.write_text(json.dumps(older))
    front.record_build_result("us-west2", True, 5.0, build_id="e", path=path)
    found = region(path)
    assert (found["total_builds"], found["successes"], found["failures"], found["success_rate"]) == (
        5,
        3,
        1,
        75.0,
    )
    assert found["total_duration_minutes"] == 40.0
    assert found["total_cost_usd"] == 2.5
    assert found["last_fatigue_reason"] == "old name"
    eu = region(path, "eu")
    assert (eu["total_builds"], eu["failures"], eu["success_rate"]) == (500, 99, 80.2)
    document = read(path)
    assert (document["campaign_start"], document["someone"]) == (1763026000.0, "else's")
    assert document["total_builds_all_regions"] == 505


def test_a_mended_file_is_not_mended_again(path: Path) -> None:
    older = {"regions": {"eu": {"total_builds": 9, "successes": 5, "failures": 4,
             "recent_builds": [{"build_id": "z", "success": False, "status": "WORKING"}]}}}  # fmt: skip
    path.write_text(json.dumps(older))
    for _ in range(3):
        front.record_fatigue_event("us-west2", "x", "unknown", path=path)
    assert region(path, "eu")["failures"] == 3


def test_a_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("")
    real.chmod(0o640)
    link.symlink_to(real)
    front.record_build_result("us-west2", True, 1.0, path=link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert region(real)["total_builds"] == 1


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        front.record_build_result("us-west2", True, 1.0, path=tmp_path / "file" / "stats.json")
    (tmp_path / "stats.json").mkdir()
    with pytest.raises(UsageError, match="cannot read"):
        front.record_build_result("us-west2", True, 1.0, path=tmp_path / "stats.json")


def test_the_home_holds_the_campaign_that_nobody_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBMETER_HOME", str(tmp_path / "home"))
    front.record_build_result("us-west2", True, 1.0)
    assert front.load_campaign_stats()["total_builds_all_regions"] == 1
    assert (tmp_path / "home" / campaign_file.NAME).exists()


def test_the_debug_lines_are_word_for_word(capsys: pytest.CaptureFixture[str]) -> None:
    campaign.gathered(
        build_id="84fbeb34-2761-4d3c",
        log=builds.cloud_build_log(),
        description=builds.description(),
        debug=lambda line: print(f"DEBUG: {line}"),
    )
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip("{") for line in lines if line.startswith("DEBUG")] == [
        "DEBUG: Fetching CloudBuild metrics for 84fbeb34-276... (region: us-west2)",
        "DEBUG:  CloudBuild metrics fetched! Queue: 645s, Working: 628s",
        "DEBUG: CLOUDBUILD_METRICS_JSON: ",
        "DEBUG: Parsing resource stats from logs for 84fbeb34-276...",
        "DEBUG: Found BUILD_STATS_JSON markers in logs! Parsing...",
        "DEBUG: Parsed 21 resource samples from logs",
        "DEBUG:  Resource metrics parsed! CPU avg: 34.3%, Memory peak: 137GB",
        "DEBUG: RESOURCE_METRICS_JSON: ",
        "DEBUG: Detected 4 spikes and 0 troughs",
        "DEBUG: Overall consistency score: 0.45",
    ]


def test_a_log_without_markers_says_only_that_it_was_searched(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = front.parse_build_stats_from_logs("an old build\n", build_id="old", debug=True)
    assert metrics["resource_samples"] == []
    assert capsys.readouterr().err == "DEBUG: Parsing resource stats from logs for old...\n"


def test_files_of_one_build_become_one_record(tmp_path: Path, path: Path) -> None:
    log = builds.written(tmp_path, builds.cloud_build_log())
    described = builds.written(tmp_path, json.dumps(builds.description()), "describe.json")
    for files in ((log, described), (described, log)):
        brought = campaign.import_files(path, map(str, files))
        assert brought.builds == [("us-west2", builds.BUILD_ID)]
    (build,) = recent(path)
    assert (build["sample_count"], build["queue_wait_seconds"], build["working_seconds"]) == (21, 645, 628)
    assert (build["build_duration_minutes"], build["push_duration_minutes"]) == (9.2, 1.03)
    assert build["timestamp"] == 1763090354.123456


def test_builds_of_a_list_come_in_their_order(tmp_path: Path, path: Path) -> None:
    listed = [
        builds.description("new", "SUCCESS", finishTime="2025-11-15T03:19:14Z"),
        builds.description("old", "FAILURE"),
    ]
    file = builds.written(tmp_path, json.dumps(listed), "list.json")
    campaign.import_files(path, [str(file)])
    assert [build["build_id"] for build in recent(path)] == ["old", "new"]
    assert region(path)["current_streak"] == 1


def test_an_older_campaign_is_taken_in(tmp_path: Path, path: Path) -> None:
    other = tmp_path / "other.json"
    front.record_build_result("us-west2", True, 1.0, build_id="a", path=path)
    front.record_build_result("us-west2", True, 1.0, build_id="a", path=other)
    front.record_build_result("us-west2", False, 1.0, build_id="b", path=other)
    for _ in range(130):
        front.record_build_result("eu", True, 1.0, path=other)
    campaign.import_files(path, [str(other)])
    assert (region(path)["total_builds"], region(path, "eu")["total_builds"]) == (2, 130)
    assert read(path)["total_builds_all_regions"] == 132


def test_what_holds_no_build_is_skipped_with_a_reason(tmp_path: Path, path: Path) -> None:
    text = builds.written(tmp_path, "hello\n", "a.log")
    broken = builds.written(tmp_path, '{"regions": {"x": 3}}', "b.json")
    half = builds.written(tmp_path, '{"regions": ', "c.json")
    brought = campaign.import_files(path, [str(text), str(broken), str(half), "missing"])
    assert brought.builds == []
    assert set(brought.skipped) == {str(text), str(broken), str(half), "missing"}
    assert not path.exists()


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1}'])
def test_a_description_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        campaign.read_description(str(builds.written(tmp_path, text)))


def test_the_line_of_a_region_sums_up(path: Path) -> None:
    for number in range(10):
        front.record_build_result(
            "us-west2", True, build_id=str(number), queue_wait_seconds=30, working_seconds=600 if number < 5 else 720,
            spot_price_per_hour=6, resource_metrics=front.build_metrics(builds.samples()), path=path,
        )  # fmt: skip
    (line,) = campaign_show.regions(campaign.load(path))
    assert line.as_record() == {
        "region": "us-west2",
        "builds": 10,
        "pending": 0,
        "successes": 10,
        "failures": 0,
        "cancelled": 0,
        "success_rate": 100.0,
        "streak": 10,
        "queue_seconds": 30.0,
        "working_seconds": 660.0,
        "cost_usd": 11.0,
        "spikes": 40,
        "troughs": 0,
        "sampled": 10,
        "consistency": 0.45,
        "consistency_band": "High variance",
        "trend_percent": 20.0,
        "last_used": line.as_record()["last_used"],
    }


def test_the_last_days_are_counted_alone() -> None:
    document = campaign_book.fresh(0.0)
    for day, success in ((1, False), (20, True), (21, False), (22, True)):
        told = {
            "success": success,
            "status": "SUCCESS" if success else "FAILURE",
            "error": None if success else "x",
        }
        campaign_book.settle(document, "eu", told | {"timestamp": day * 86400.0, "duration_seconds": 60}, 0.0)
    (line,) = campaign_show.regions(document, since=campaign_show.days_ago(5, 25 * 86400.0))
    assert (line.builds, line.successes, line.failures, line.success_rate) == (3, 2, 1, 66.7)
    assert (line.streak, line.last_error) == (1, "x")
    (nothing,) = campaign_show.regions(document, since=26 * 86400.0)
    assert (nothing.builds, nothing.success_rate, nothing.last_error) == (0, None, None)


@pytest.mark.parametrize(
    ("status", "success"),
    [
        ("SUCCESS", True),
        ("FAILURE", False),
        ("TIMEOUT", False),
        ("WORKING", None),
        (None, None),
        ("CANCELLED", False),
    ],
)
def test_words_of_cloud_build_tell_success(status: str | None, success: bool | None) -> None:
    assert campaign_builds.succeeded(status) is success
