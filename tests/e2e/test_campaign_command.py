"""`jobmeter campaign`, as people and build scripts use it."""

import json
from pathlib import Path

import pytest

from support import builds
from support.commands import jobmeter, jobmeter_on_terminal


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def stats(home: Path) -> dict[str, object]:
    document: dict[str, object] = json.loads((home / "campaign_stats.json").read_text())
    return document


def test_a_build_is_announced_completed_and_shown(home: Path, tmp_path: Path) -> None:
    log = builds.written(tmp_path, builds.cloud_build_log())
    announced = jobmeter(home, "campaign", "record", "--region", "us-west2", "--build-id", builds.BUILD_ID)
    assert announced.text == "84fbeb34-276 PENDING in us-west2: 1 build\n"
    completed = jobmeter(
        home, "campaign", "complete", builds.BUILD_ID, "--log", str(log), "--price-per-hour", "8.53"
    )
    assert completed.text == (
        "84fbeb34-276 SUCCESS in us-west2: 1 build, 100 % of those that ended succeeded\n"
    )
    shown = json.loads(jobmeter(home, "campaign", "show", "--json").text)
    (region,) = shown["regions"]
    assert (region["builds"], region["success_rate"], region["spikes"]) == (1, 100.0, 4)
    assert (region["working_seconds"], region["cost_usd"]) == (1265.0, 3.0)


def test_record_answers_in_json_with_every_field(home: Path, tmp_path: Path) -> None:
    log = builds.written(tmp_path, builds.cloud_build_log())
    described = builds.written(tmp_path, json.dumps(builds.description()), "describe.json")
    done = jobmeter(home, "campaign", "record", "--log", str(log), "--describe", str(described), "--json")
    answer = json.loads(done.text)
    assert answer["region"] == "us-west2"
    assert answer["build"]["sample_count"] == 21
    assert (answer["build"]["queue_wait_seconds"], answer["build"]["working_seconds"]) == (645, 628)
    assert answer["totals"]["success_rate"] == 100.0
    assert "recent_builds" not in answer["totals"]


def test_debug_lines_go_to_stderr(home: Path, tmp_path: Path) -> None:
    log = builds.written(tmp_path, builds.cloud_build_log())
    described = builds.written(tmp_path, json.dumps(builds.description()), "describe.json")
    done = jobmeter(
        home,
        "campaign",
        "record",
        "--log",
        str(log),
        "--describe",
        str(described),
        "--debug",
        "--region",
        "us-west2",
    )
    assert "DEBUG" not in done.text
    for line in (
        "DEBUG: Fetching CloudBuild metrics for 84fbeb34-276... (region: us-west2)",
        "DEBUG:  CloudBuild metrics fetched! Queue: 645s, Working: 628s",
        "DEBUG: Parsed 21 resource samples from logs",
        "DEBUG: Detected 4 spikes and 0 troughs",
    ):
        assert line in done.complaint.splitlines()


def test_a_run_is_recorded_as_a_build(home: Path) -> None:
    assert jobmeter(home, "run", "-q", "--project", "app", "--", "sh", "-c", "exit 3").code == 3
    done = jobmeter(home, "campaign", "record", "--run", "last", "--json")
    build = json.loads(done.text)["build"]
    assert (build["status"], build["success"], build["error"]) == ("FAILURE", False, "exit code 3")
    assert stats(home)["total_builds_all_regions"] == 1
    again = jobmeter(home, "campaign", "record", "--run", "last")
    assert again.text.endswith("in app: 1 build, 0 % of those that ended succeeded\n")


def test_files_are_imported(home: Path, tmp_path: Path) -> None:
    log = builds.written(tmp_path, builds.cloud_build_log())
    text = builds.written(tmp_path, "hello\n", "other.log")
    done = jobmeter(home, "campaign", "import", str(log), str(text))
    assert (done.code, done.text) == (0, f"us-west2  {builds.BUILD_ID}\n")
    assert "skipped" in done.complaint
    nothing = jobmeter(home, "campaign", "import", str(text), "--json")
    assert (nothing.code, json.loads(nothing.text)["builds"]) == (2, [])


def test_a_log_that_names_no_build_counts_once_and_has_a_name(home: Path, tmp_path: Path) -> None:
    words = "ERROR: failed to solve: Canceled: context canceled\n"
    here, there = (tmp_path / folder for folder in ("here", "there"))
    for folder, more in ((here, ""), (there, "#2 DONE 0.1s\n")):
        folder.mkdir()
        (folder / "docker.log").write_text(
            f"#1 [internal] load build definition\n#1 DONE 0.0s\n{more}{words}"
        )
    logs = (str(here / "docker.log"), str(there / "docker.log"))
    first = jobmeter(home, "campaign", "import", *logs)
    assert [line.split()[1].rpartition("-")[0] for line in first.text.splitlines()] == ["docker.log"] * 2
    assert jobmeter(home, "campaign", "import", *logs).text == first.text
    assert stats(home)["total_builds_all_regions"] == 2


def test_a_build_nobody_recorded_is_completed_with_a_word_on_it(home: Path) -> None:
    done = jobmeter(home, "campaign", "complete", "typo", "--failure")
    assert (done.code, done.text) == (
        0,
        "typo FAILURE in local: 1 build, 0 % of those that ended succeeded\n",
    )
    assert done.complaint == "jobmeter: build typo was not recorded before: it is now\n"
    assert jobmeter(home, "campaign", "complete", "typo", "--success").complaint == ""


def test_runs_are_told_apart_by_their_whole_id(home: Path) -> None:
    jobmeter(home, "run", "-q", "--", "true")
    run_id = json.loads(jobmeter(home, "show", "last", "--json").text)["run_id"]
    assert jobmeter(home, "campaign", "record", "--run", "last").text.startswith(f"{run_id} SUCCESS in ")


def test_the_log_of_a_build_is_imported_as_a_run_and_exported_as_a_campaign(
    home: Path, tmp_path: Path
) -> None:
    log = builds.written(tmp_path, builds.cloud_build_log())
    by_itself = json.loads(jobmeter(home, "import", str(log), "--json").text)
    assert [(run["format"], run["windows"]) for run in by_itself["runs"]] == [("cloudbuild", 21)]
    named = json.loads(jobmeter(home, "import", "cloudbuild", str(log), "--json").text)
    assert "already imported" in named["skipped"][0]["reason"]
    exported = json.loads(jobmeter(home, "export", "last", "--format", "campaign").text)
    (build,) = exported["regions"]["us-west2"]["recent_builds"]
    assert (build["build_id"], build["sample_count"], build["memory_used_peak_gb"]) == (
        builds.BUILD_ID,
        21,
        137,
    )


def test_the_table_fits_a_terminal_of_80_columns(home: Path, tmp_path: Path) -> None:
    log = builds.written(tmp_path, builds.cloud_build_log())
    jobmeter(home, "campaign", "record", "--log", str(log), "--price-per-hour", "8.53", "--queue", "645")
    jobmeter(home, "campaign", "record", "--region", "europe-west4", "--failure", "--error", "pull " * 40)
    jobmeter(home, "campaign", "record", "--region", "asia-east1")
    shown = jobmeter_on_terminal(home, "campaign", "show", env={"NO_COLOR": "1"})
    lines = shown.text.splitlines()
    assert lines[0].startswith("3 builds since ")
    assert lines[2].split() == [
        "REGION",
        "BUILDS",
        "OK",
        "STREAK",
        "QUEUE",
        "WORK",
        "SPIKES",
        "SCORE",
        "COST",
    ]
    assert lines[3].split() == ["asia-east1", "1"]
    assert lines[4].split() == ["europe-west4", "1", "0", "%", "1", "lost"]
    assert lines[5].split() == [
        *("us-west2", "1", "100", "%", "1", "won", "11", "min", "21", "min", "4", "0.45", "$3.00")
    ]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("complete", "x"), "how did it end?"),
        (("record", "--fetch", "--success"), "gcloud is asked by id and region"),
        (("show",), "no campaign in"),
        (("record", "--log", "/nowhere"), "cannot read /nowhere"),
        (("record", "--duration", "soon"), "no span of time"),
        (("record", "--run", "last"), "there is no run yet"),
        (("record",), "which build?"),
        (("show", "--days", "-1"), "no number of days"),
        (("record", "--price-per-hour", "nan"), "no price: nan"),
        (("record", "--price-per-hour=-1"), "no price: -1"),
        (("record", "--duration", "1e308w"), "no span of time"),
        (("record", "--success", "--file", "/dev/full"), "/dev/full: it is no file"),
    ],
)
def test_what_cannot_be_is_a_sentence(home: Path, words: tuple[str, ...], complaint: str) -> None:
    done = jobmeter(home, "campaign", *words)
    assert done.code == 2
    assert complaint in done.complaint
    assert "Traceback" not in done.complaint


def test_a_log_that_is_no_text_is_searched_all_the_same(home: Path) -> None:
    strict = {"PYTHONIOENCODING": "utf-8:strict"}
    words = ("campaign", "record", "--region", "a", "--log", "-")
    done = jobmeter(home, *words, stdin=b"\xff\xfe\x00", env=strict)
    assert done.code == 0, done.complaint


def test_a_price_may_come_from_the_environment(home: Path) -> None:
    words = ("campaign", "record", "--success", "--working", "1h", "--json")
    priced = json.loads(jobmeter(home, *words, env={"JOBMETER_PRICE_PER_HOUR": "8.53"}).text)
    assert priced["build"]["cost_estimated_usd"] == 8.53
    assert "is no price: dear" in jobmeter(home, *words, env={"JOBMETER_PRICE_PER_HOUR": "dear"}).complaint
    assert "is no price: inf" in jobmeter(home, *words, env={"JOBMETER_PRICE_PER_HOUR": "inf"}).complaint


def test_days_and_regions_narrow_what_is_shown(home: Path) -> None:
    jobmeter(home, "campaign", "record", "--region", "eu", "--success")
    shown = json.loads(jobmeter(home, "campaign", "show", "--days", "7", "--region", "eu", "--json").text)
    assert [region["builds"] for region in shown["regions"]] == [1]
    assert jobmeter(home, "campaign", "show", "--days", "7").text.startswith("1 build since 7 days ago\n")
    assert "no builds in region mars" in jobmeter(home, "campaign", "show", "--region", "mars").complaint


def test_a_build_is_completed_where_it_was_recorded(home: Path) -> None:
    jobmeter(home, "campaign", "record", "--build-id", "b1", "--region", "eu")
    done = jobmeter(home, "campaign", "complete", "b1", "--success", "--region", "us")
    assert done.code == 2
    assert "build b1 was recorded in eu, not in us" in done.complaint
    assert jobmeter(home, "campaign", "complete", "b1", "--success").code == 0
    assert stats(home)["total_builds_all_regions"] == 1
