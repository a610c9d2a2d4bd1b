"""con-duct's real logs, every release and schema: the numbers on disk come back, nothing is made up."""

import json
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.formats import duct
from jobmeter.model.imported import Imported
from jobmeter.model.run import Status
from support import corpus

RELEASES = {
    "v0.2.0": ("2026.11.15T09.02.49-26242_", None, 1875968),
    "v0.3.1": ("2026.11.15T09.02.53-26402_", "0.1.0", 1855488),
    "v0.5.0": ("2026.11.15T09.02.57-26623_", "0.1.1", 1851392),
    "v0.7.1": ("2026.11.15T09.03.01-27142_", "0.2.0", 1867776),
    "v0.12.0": ("2026.11.15T09.03.05-27687_", "0.2.0", 1859584),
    "v0.17.0": ("2026.11.15T09.03.15-28813_", "0.2.2", 1814528),
    "v0.21.0": ("2026.11.15T09.03.26-29319_", "0.2.2", 1867776),
}


def imported(path: Path) -> Imported:
    (run,) = duct.parse(path)
    return run


def release(name: str) -> Path:
    return corpus.folder("con-duct-releases") / name


def latest(prefix: str) -> Imported:
    return imported(release("v0.23.0") / f"{prefix}_info.json")


def claimed_files() -> list[Path]:
    folders = [corpus.folder(name) for name in ("con-duct", "con-duct-releases")]
    return sorted(path for folder in folders for path in folder.rglob("*.json*"))


def test_every_log_in_the_corpus_is_recognised() -> None:
    files = claimed_files()
    assert len(files) == 41
    assert {formats.recognise(path) for path in files} == {"duct"}


def test_every_log_in_the_corpus_is_read_whole_from_any_of_its_files() -> None:
    for path in claimed_files():
        run = imported(path)
        assert run.run.provenance.origin == "duct"
        assert run.run.provenance.dropped == {}
        for source in run.sources:
            if source.suffix.startswith(".json"):
                assert imported(source).run.run_id == run.run.run_id


def test_no_output_or_table_is_taken_for_a_log() -> None:
    others = [path for path in corpus.folder("con-duct-releases").rglob("*_std*") if path.stat().st_size]
    others += corpus.folder("con-duct-sampler-matrix").iterdir()
    assert len(others) == 9
    assert {formats.recognise(path) for path in others} == {None}


@pytest.mark.parametrize("name", RELEASES)
def test_each_release_gives_its_own_numbers_back(name: str) -> None:
    prefix, schema, peak_rss = RELEASES[name]
    (info,) = release(name).glob("*_info.json")
    run = imported(info).run
    assert run.command == ("bash -c echo out; sleep 1.5",)
    assert run.summary["ps_peak_rss_total"] == peak_rss
    assert run.exit_code == 0
    assert run.status is Status.COMPLETED
    assert run.context["duct"]["prefix"] == prefix  # type: ignore[index]  # plain JSON
    assert run.context["duct"].get("schema_version") == schema  # type: ignore[attr-defined]  # plain JSON


@pytest.mark.parametrize("name", RELEASES)
def test_each_release_keeps_its_two_reports_and_its_output(name: str) -> None:
    (info,) = release(name).glob("*_info.json")
    run = imported(info)
    assert [window.num_samples for window in run.windows] == [1, 1]
    assert run.outputs["stdout"].read_bytes() == b"out\n"
    assert "stderr" not in run.outputs


def test_a_process_of_0_2_has_no_age_no_state_and_no_command() -> None:
    (info,) = release("v0.2.0").glob("*_info.json")
    first, _ = imported(info).windows
    keys = {key for key, instance in first.values if instance}
    assert keys == {"ps_rss", "ps_vsz", "ps_pmem", "ps_pcpu"}


@pytest.mark.parametrize("name", ["v0.3.1", "v0.5.0"])
def test_the_state_glued_before_the_command_is_cut_off(name: str) -> None:
    (usage,) = release(name).glob("*_usage.json")
    assert '"cmd": "Ss   sleep 1.5"' in usage.read_text()
    first, _ = imported(usage).windows
    (pid,) = {instance for _, instance in first.values if instance}
    assert first.values["ps_cmd", pid] == "sleep 1.5"
    assert first.values["ps_stat", pid] == {"Ss": 1}


def test_schemas_before_0_2_have_no_start_time_and_say_so() -> None:
    (info,) = release("v0.5.0").glob("*_info.json")
    run = imported(info).run
    assert run.started_at == pytest.approx(1794733377.523834)
    assert run.ended_at is None
    assert "started_at" in run.provenance.inexact


def test_the_demo_of_75_minutes_comes_back_unchanged() -> None:
    run = imported(corpus.folder("con-duct") / "duct_demo_info.json")
    assert run.run.summary["ps_peak_rss_total"] == 1517486080
    assert run.run.summary["ps_mean_rss_total"] == pytest.approx(501050605.1764711, abs=1e-6)
    assert run.run.summary["ps_peak_pcpu_total"] == 400.0
    assert run.run.summary["ps_peak_rss"] == 539729920
    assert run.run.samples == 4352
    windows = list(run.windows)
    assert len(windows) == 226
    assert max(window.values["ps_rss_total", ""] for window in windows) == 1517486080  # type: ignore[type-var]


def test_the_demo_without_its_info_file_has_the_same_statistics(tmp_path: Path) -> None:
    usage = tmp_path / "moved_usage.json"
    usage.write_bytes((corpus.folder("con-duct") / "duct_demo_usage.json").read_bytes())
    run = imported(usage).run
    assert run.status is Status.LOST
    assert run.samples == 4352
    assert run.summary["ps_peak_rss_total"] == 1517486080
    assert run.summary["ps_mean_rss_total"] == pytest.approx(501050605.1764711, rel=1e-12)
    assert run.summary["ps_mean_pcpu_total"] == pytest.approx(49.540556066176514, rel=1e-12)


def test_a_lifetime_percentage_never_becomes_an_interval_rate() -> None:
    for path in claimed_files():
        run = imported(path)
        assert not {key for window in run.windows for key, _ in window.values} & {"ps_pdcpu", "proc_pdcpu"}
    first = next(iter(imported(corpus.folder("con-duct") / "duct_demo_info.json").windows))
    assert first.values["ps_pcpu", "683303"] == 300.0


def test_the_mriqc_run_of_schema_0_1_0_keeps_a_user_name_stored_as_uid_and_its_gpu() -> None:
    run = imported(corpus.folder("con-duct") / "duct_mriqc_info.json").run
    assert run.user == "asmacdo"
    assert run.context["user"] == {"name": "asmacdo"}
    assert run.context["host"] == {"hostname": "typhon", "cpus": 32, "memory_bytes": 1081801371648}
    (gpu,) = run.context["gpu"]  # type: ignore[misc]  # plain JSON
    assert gpu["memory.total"] == "40960 MiB"
    assert run.summary["ps_peak_rss_total"] == 15546400768
    assert run.limits.memory_bytes is None


def test_a_run_killed_for_memory_shows_the_signal_and_where_it_was_read() -> None:
    run = imported(corpus.folder("con-duct") / "gallery_s5cmd_info.json").run
    assert (run.status, run.exit_code, run.signal) == (Status.KILLED, 137, "SIGKILL")
    assert "exit code 137" in run.provenance.inexact["signal"]
    assert run.summary["ps_peak_rss_total"] == 64543121408


def test_a_failed_command_keeps_its_code_and_what_it_said() -> None:
    run = latest("failed")
    assert (run.run.status, run.run.exit_code, run.run.signal) == (Status.FAILED, 7, None)
    assert run.outputs["stderr"].read_bytes() == b"boom\n"


@pytest.mark.parametrize(
    ("prefix", "command", "windows"), [("noinfo", "sleep 1.2", 2), ("sigterm", "sleep 4", 1)]
)
def test_a_run_whose_recorder_was_killed_is_lost_but_readable(
    prefix: str, command: str, windows: int
) -> None:
    run = latest(prefix)
    assert run.run.status is Status.LOST
    assert run.run.command == (command,)
    assert run.run.exit_code is None
    assert run.run.wall_seconds is None
    assert len(list(run.windows)) == windows
    assert "info" in run.run.provenance.missing


def test_a_run_too_short_to_be_sampled_has_no_numbers() -> None:
    run = latest("quick")
    assert run.run.summary == {}
    assert run.run.definitions == {}
    assert run.run.samples == 0
    assert list(run.windows) == []
    assert "usage" in run.run.provenance.missing


def test_message_and_environment_are_kept_as_they_were() -> None:
    run = latest("slurmenv").run
    assert run.message == 'note with "quotes" and\nnewline'
    assert run.context["environment"] == {"SLURM_JOB_ID": "77", "SLURM_MEM_PER_NODE": "4096"}


def test_the_prototype_gives_cpu_seconds_and_the_largest_process() -> None:
    run = imported(corpus.folder("con-duct") / "duct_2024proto_stats.json").run
    assert run.summary == {"wait_cputime": 12.87, "wait_maxrss": 1078558720}
    assert run.wall_seconds == 2.58
    assert isinstance(run.summary["wait_cputime"], float)
    assert run.command == ()
    assert run.exit_code is None
    cores = float(run.summary["wait_cputime"]) / run.wall_seconds
    assert cores == pytest.approx(4.97, abs=0.02), "agrees with the percentage GNU time printed"


def test_definitions_cover_every_key_of_every_run() -> None:
    for path in claimed_files():
        run = imported(path)
        legal = set(run.run.definitions)
        legal |= {d.stat_key(reduce.value) for d in run.run.definitions.values() for reduce in d.reduce}
        assert {key for window in run.windows for key, _ in window.values} <= legal


def test_what_ps_gets_wrong_is_written_into_the_definitions() -> None:
    """con-duct's own matrix says which of its sums over-report; hiding it would repeat the lie."""
    table = (corpus.folder("con-duct-sampler-matrix") / "duct__sampler_matrix_ps.csv").read_text()
    over = {
        line.split(",")[0].split("/")[1] for line in table.splitlines()[1:] if line.split(",")[1] == "fail"
    }
    assert over == {"rss", "pcpu"}
    definitions = latest("multi").run.definitions
    assert "shared pages count again" in definitions["ps_rss_total"].about
    assert "lifetime averages" in definitions["ps_pcpu_total"].about


def test_stored_file_names_are_not_followed(tmp_path: Path) -> None:
    source = release("v0.23.0")
    info = json.loads((source / "multi_info.json").read_text())
    info["output_paths"]["usage"] = "/etc/hostname"
    (tmp_path / "renamed-info.json").write_text(json.dumps(info))
    (tmp_path / "renamed-usage.jsonl").write_bytes((source / "multi_usage.jsonl").read_bytes())
    run = imported(tmp_path / "renamed-info.json")
    assert len(list(run.windows)) == 13
    assert run.run.context["duct"]["prefix"] == "renamed-"  # type: ignore[index]  # plain JSON
    assert run.run.context["duct"]["logs_prefix"] == "multi_"  # type: ignore[index]  # plain JSON


def test_a_usage_file_renamed_alone_is_found_by_its_content(tmp_path: Path) -> None:
    source = release("v0.23.0")
    (tmp_path / "a_info.json").write_bytes((source / "multi_info.json").read_bytes())
    (tmp_path / "b_usage.jsonl").write_bytes((source / "cow_usage.jsonl").read_bytes())
    (tmp_path / "c_usage.jsonl").write_bytes((source / "multi_usage.jsonl").read_bytes())
    assert imported(tmp_path / "a_info.json").sources == (
        tmp_path / "a_info.json",
        tmp_path / "c_usage.jsonl",
    )
    assert imported(tmp_path / "c_usage.jsonl").sources == (
        tmp_path / "a_info.json",
        tmp_path / "c_usage.jsonl",
    )
    assert imported(tmp_path / "b_usage.jsonl").run.status is Status.LOST


def test_the_same_run_under_other_names_has_the_same_id(tmp_path: Path) -> None:
    source = release("v0.23.0")
    for theirs, ours in (("multi_info.json", "x_info.json"), ("multi_usage.jsonl", "x_usage.jsonl")):
        (tmp_path / ours).write_bytes((source / theirs).read_bytes())
    assert (
        imported(tmp_path / "x_usage.jsonl").run.run_id
        == latest("multi").run.run_id
        == "20261115T093858Z-518726"
    )
