"""Builds out of logs, samples and descriptions."""

import json
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from jobmeter.formats import buildfacts, buildlog, cloudbuild
from jobmeter.model.imported import Imported
from jobmeter.model.run import Status
from support import builds, corpus

GIB = 1 << 30
TWO = [builds.sample(0, 6, 13), builds.sample(1, 48, 52)]


def imported(path: Path) -> Imported:
    name = formats.recognise(path)
    assert name is not None
    (found,) = formats.read(path, name, is_named=False)
    return found


def test_samples_are_found_through_the_prefixes_of_cloud_build_and_buildkit() -> None:
    assert buildlog.find_samples(builds.cloud_build_log()) == builds.samples()


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "Step #3: ",
        'Step #0 - "build": ',
        "#12 45.13 ",
        "Step #1: #12 4.1 ",
        "2025-11-14T03:10:14.123Z ",
        "[2025-11-14 03:10:14,123] Step #0: ",
        "\x1b[36mStep #0: \x1b[0m",
        "build-1  | ",
    ],
)
def test_what_builders_put_before_a_line_is_cut(prefix: str) -> None:
    text = f"\ufeff{prefix}hello\n{builds.block({'samples': TWO}, prefix)}{prefix}bye\n"
    assert buildlog.find_samples(text) == TWO


def test_windows_line_ends_do_no_harm() -> None:
    text = builds.block({"samples": TWO}, "Step #0: ").replace("\n", "\r\n")
    assert buildlog.find_samples(text) == TWO


def test_json_that_a_log_broke_anywhere_is_put_together() -> None:
    body = json.dumps({"samples": TWO})
    pieces = [body[at : at + 37] for at in range(0, len(body), 37)]
    lines = ["BUILD_STATS_JSON_START", *pieces, "BUILD_STATS_JSON_END"]
    assert buildlog.find_samples("".join(f"#9 1.5 {line}\n" for line in lines)) == TWO


def test_indented_json_is_read() -> None:
    body = json.dumps({"samples": TWO}, indent=2)
    lines = ["BUILD_STATS_JSON_START", *body.splitlines(), "BUILD_STATS_JSON_END"]
    assert buildlog.find_samples("".join(f"Step #0: {line}\n" for line in lines)) == TWO


def test_lines_of_a_step_that_runs_beside_it_are_left_out() -> None:
    lines = builds.block({"samples": TWO}, "Step #0: ").splitlines(keepends=True)
    mixed = [lines[0], "Step #1: {\n", lines[1], "Step #1: }\n", lines[2]]
    assert buildlog.find_samples("".join(mixed)) == TWO


def test_the_last_start_with_json_counts() -> None:
    first, second = builds.block({"samples": TWO[:1]}), builds.block({"samples": TWO})
    echoed = 'RUN echo "BUILD_STATS_JSON_START"; cat /build-stats.json; echo "BUILD_STATS_JSON_END"\n'
    assert buildlog.find_samples(first + second + echoed) == TWO


def test_a_start_without_an_end_still_counts() -> None:
    assert (
        buildlog.find_samples("BUILD_STATS_JSON_START\n" + json.dumps({"samples": TWO}) + "\nKilled\n") == TWO
    )


def test_a_start_glued_to_the_last_line_of_the_job_counts() -> None:
    assert buildlog.find_samples("100% done" + builds.block({"samples": TWO})) == TWO


def test_of_a_block_that_was_cut_off_the_whole_samples_are_kept() -> None:
    text = "BUILD_STATS_JSON_START\n" + json.dumps({"samples": builds.samples()})[:500]
    assert buildlog.find_samples(text) == builds.samples()[:3]


def test_a_variable_that_was_empty_costs_one_value() -> None:
    text = 'BUILD_STATS_JSON_START\n{"samples":[{"ts":"a","cpu":,"mem_used_gb":3}]}\nBUILD_STATS_JSON_END\n'
    assert buildlog.find_samples(text) == [{"ts": "a", "cpu": None, "mem_used_gb": 3}]


def test_a_bare_list_of_samples_is_read_and_garbage_in_it_passed_over() -> None:
    assert buildlog.find_samples(builds.block([*TWO, 3, None])) == TWO


@pytest.mark.parametrize(
    "text", ["", "no marker", "BUILD_STATS_JSON_START", builds.block({"other": 1}), builds.block(7)]
)
def test_text_without_a_block_has_no_samples(text: str) -> None:
    assert buildlog.find_samples(text) is None


def test_a_block_of_no_samples_is_a_block() -> None:
    assert buildlog.find_samples(builds.block({"samples": []})) == []


def test_a_log_of_a_build_becomes_a_run_with_windows(tmp_path: Path) -> None:
    path = builds.written(tmp_path, builds.cloud_build_log())
    found = imported(path)
    windows = list(found.windows)
    assert found.format == "cloudbuild"
    assert len(windows) == 21
    assert windows[10].values["buildstats_mem_used", ""] == 137 * GIB
    assert windows[0].values["buildstats_io_write", ""] == 0
    assert windows[1].values["buildstats_io_write", ""] == 7000 << 20
    assert found.run.name == builds.BUILD_ID
    assert found.run.status is Status.COMPLETED
    assert found.run.started_at == 1763089814.0
    assert found.run.wall_seconds == 1265
    assert found.run.summary["buildstats_peak_mem_used"] == 137 * GIB
    assert found.run.summary["buildstats_io_write"] == 140000 << 20
    assert found.outputs == {"stdout": path}
    assert found.run.context["milestones"] == [
        {"name": "Starting Step #0 - pytorch"},
        {"name": "Finished Step #0 - pytorch"},
    ]


def test_samples_deep_in_a_log_are_found_whatever_it_is_called(tmp_path: Path) -> None:
    path = builds.written(tmp_path, "x\n" * 700_000 + builds.block({"samples": TWO}), "artefact")
    assert formats.recognise(path) == "cloudbuild"
    assert len(list(imported(path).windows)) == 2


def test_samples_without_times_stand_a_minute_apart(tmp_path: Path) -> None:
    bare = [{"cpu": 1, "mem_used_gb": 2}, {"cpu": 3, "mem_used_gb": 2}]
    found = imported(builds.written(tmp_path, builds.block({"samples": bare})))
    assert [window.timestamp for window in found.windows] == [0, 60]
    assert found.run.started_at is None
    assert "one minute apart" in found.run.provenance.inexact["timestamps"]


def test_a_sample_without_a_time_among_others_is_counted_as_dropped(tmp_path: Path) -> None:
    found = imported(
        builds.written(
            tmp_path, builds.block({"samples": [*TWO, {"ts": "?", "cpu": 3}, {"ts": TWO[1]["ts"]}]})
        )
    )
    assert len(list(found.windows)) == 2
    assert found.run.provenance.dropped == {"samples": 1}


@pytest.mark.parametrize("name", ["build-stats.json", "build-stats.jsonl"])
def test_the_files_of_the_sampler_are_read(tmp_path: Path, name: str) -> None:
    lines = "".join(json.dumps(sample) + "\n" for sample in TWO)
    path = builds.written(tmp_path, lines if name.endswith("l") else json.dumps({"samples": TWO}), name)
    assert formats.recognise(path) == "cloudbuild"
    assert len(list(imported(path).windows)) == 2


def test_json_that_is_no_build_is_left_to_others(tmp_path: Path) -> None:
    path = builds.written(tmp_path, '{"createTime": 1, "id": 2, "x": "cloudbuild"}', "other.json")
    with pytest.raises(UsageError):
        list(cloudbuild.parse(path))
    assert not buildfacts.is_build([])


def test_a_file_of_the_sampler_can_be_named(tmp_path: Path) -> None:
    path = builds.written(tmp_path, json.dumps({"samples": TWO}), "any")
    assert len(list(next(iter(formats.read(path, "cloudbuild", is_named=True))).windows)) == 2


def test_a_file_of_no_samples_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no samples"):
        cloudbuild.parse(builds.written(tmp_path, '{"samples": []}', "build-stats.json"))


def test_a_description_becomes_a_run(tmp_path: Path) -> None:
    path = builds.written(tmp_path, json.dumps(builds.description(), indent=2), "describe.json")
    run = imported(path).run
    assert run.status is Status.COMPLETED
    assert run.wall_seconds == 628.2
    assert run.results["queue_wait_seconds"] == 645
    assert run.results["region"] == "us-west2"


def test_a_list_of_descriptions_becomes_a_run_each(tmp_path: Path) -> None:
    listed = [builds.description("a"), builds.description("b", "FAILURE"), builds.description("c", "WORKING")]
    path = builds.written(tmp_path, json.dumps(listed), "list.json")
    found = list(cloudbuild.parse(path))
    assert [one.run.status for one in found] == [Status.COMPLETED, Status.FAILED, Status.RUNNING]
    assert found[2].run.provenance.inexact["status"] == "it was WORKING when this was written"
    assert len({one.digest for one in found}) == 3


def test_a_description_tells_queue_work_and_phases() -> None:
    facts = buildfacts.from_description(builds.description())
    assert (facts.queue_wait_seconds, facts.working_seconds, facts.duration_seconds) == (645, 628, 1274)
    assert (facts.fetch_source_seconds, facts.build_phase_seconds, facts.push_image_seconds) == (12, 552, 62)
    assert facts.region == "us-west2"
    assert facts.worker_pool == "projects/p/locations/us-west2/workerPools/pytorch"
    assert (facts.error, facts.failed_step, facts.total_steps) == (None, None, 1)


def test_a_failed_build_tells_why_and_where() -> None:
    steps = [{"status": "SUCCESS"}, {"status": "FAILURE"}]
    facts = buildfacts.from_description(
        builds.description(status="FAILURE", steps=steps, failureInfo={"detail": "step exited with 1"})
    )
    assert (facts.state, facts.error, facts.failed_step) == (Status.FAILED, "step exited with 1", 1)


def test_a_build_in_the_queue_has_neither_waited_nor_worked() -> None:
    facts = buildfacts.from_description(
        {"createTime": "2025-11-14T02:58:00Z", "status": "QUEUED", "steps": []}
    )
    assert (facts.queue_wait_seconds, facts.working_seconds, facts.state) == (None, None, None)
    assert facts.region == "global"


@pytest.mark.parametrize("garbage", [{}, {"timing": 3, "options": [], "steps": "x", "createTime": 7}])
def test_a_description_of_anything_is_no_crash(garbage: dict[str, object]) -> None:
    assert buildfacts.from_description(garbage).as_record() == {"region": "global"}


def test_old_logs_end_in_a_table() -> None:
    text = (
        'starting build "ab-1"\nDONE\n-----\n\n'
        "ID                CREATE_TIME                DURATION  SOURCE     IMAGES  STATUS\n"
        "ab-1              2020-05-04T10:00:00+00:00  1H2M3S    gs://x.tgz  -      SUCCESS\n"
    )
    facts = buildfacts.from_log(text)
    assert (facts.build_id, facts.status, facts.working_seconds) == ("ab-1", "SUCCESS", 3723)


def test_a_table_without_a_row_says_nothing() -> None:
    text = "ID                CREATE_TIME                DURATION  SOURCE     IMAGES  STATUS\nsee above\n"
    assert buildfacts.from_log(text).as_record() == {}


def test_a_line_without_a_beginning_does_no_harm() -> None:
    assert buildlog.find_samples("x" * 100_000 + builds.block({"samples": TWO})) == TWO


def test_the_error_of_a_build_is_told_from_those_of_its_tools() -> None:
    noise = 'starting build "x"\nERROR: pip\'s dependency resolver does not like this\n'
    assert buildfacts.from_log(noise + "DONE\n").status == "SUCCESS"
    failed = buildfacts.from_log(
        noise + 'ERROR\nERROR: build step 1 "docker" failed: step exited with non-zero status: 1\n'
    )
    assert (failed.status, failed.failed_step) == ("FAILURE", 1)
    assert buildfacts.from_log(noise).status is None


def test_a_real_log_without_samples_is_read_like_any_other() -> None:
    path = corpus.folder("log-cloudbuild") / "airag_cloudbuild.log"
    assert formats.recognise(path) == "log"
    (found,) = formats.read(path, "cloudbuild", is_named=True)
    assert list(found.windows) == []
    assert found.run.status is Status.COMPLETED
    assert found.run.name == "66e61693-85ef-40a9-a1e3-5dfcedc44554"
    assert found.run.wall_seconds == 377


@pytest.mark.parametrize(
    "name", ["log-cloudbuild/asmgke_cloudbuild_fail.log", "log-docker-build/jetson_buildkit.log"]
)
def test_real_logs_without_a_marker_stay_logs(name: str) -> None:
    folder, _, file = name.partition("/")
    path = corpus.folder(folder) / file
    assert formats.recognise(path) == "log"
    assert next(iter(cloudbuild.parse(path))).format == "log"
