"""Builds of a campaign out of logs and descriptions, and what is shown of them."""

import json
from pathlib import Path

import pytest

from jobmeter.compat import campaign as front
from jobmeter.errors import UsageError
from jobmeter.service import campaign, campaign_book, campaign_builds, campaign_show, campaign_text
from support import builds
from support.books import read, recent, region


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign_stats.json"


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


def test_debug_lines_tell_no_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    told = {"id": "a", "status": "FAILURE", "steps": [], "createTime": "2025-01-02T00:00:00Z"}
    described = told | {"failureInfo": {"detail": "push to https://me:hunter22@example.org failed"}}
    campaign.gathered(description=described, debug=campaign_text.to_stderr)
    said = capsys.readouterr().err
    assert "CLOUDBUILD_METRICS_JSON" in said
    assert "push to https://" in said
    assert "hunter22" not in said


def test_a_log_without_markers_says_only_that_it_was_searched(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = front.parse_build_stats_from_logs("an old build\n", build_id="old", debug=True)
    assert metrics["resource_samples"] == []
    assert capsys.readouterr().err == "DEBUG: Parsing resource stats from logs for old...\n"


def test_a_sample_of_400_digits_is_passed_over() -> None:
    samples = '[{"ts": "a", "cpu": 1%s, "mem_used_gb": 2}]' % ("0" * 400)
    metrics = front.parse_build_stats_from_logs(f"BUILD_STATS_JSON_START\n{samples}\nBUILD_STATS_JSON_END\n")
    assert metrics["resource_samples"] == [{"ts": "a", "mem_used_gb": 2}]
    assert metrics["cpu_utilization_peak"] == 0


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
    deep = builds.written(tmp_path, "[" * 100_000, "d.json")
    files = [str(text), str(broken), str(half), str(deep), "missing"]
    brought = campaign.import_files(path, files)
    assert brought.builds == []
    assert list(brought.skipped) == files
    assert not path.exists()


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1}', '{"a":' * 100_000, "[" * 100_000])
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
