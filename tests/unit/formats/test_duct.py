"""con-duct's logs beyond the corpus: the 0.3.0 draft, old releases' faults, and damaged files."""

import json
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from jobmeter.formats import duct, duct_keys, duct_usage
from jobmeter.model import measurement
from jobmeter.model.imported import Imported
from jobmeter.model.run import Status

Record = dict[str, object]

DRAFT_INFO: Record = {
    "command": "bash -c sleep 0.5; work",
    "system": {"cpu_total": 2, "memory_total": 25274793984, "hostname": "vm", "uid": 0, "user": None},
    "env": {},
    "gpu": None,
    "duct_version": "0.23.0",
    "schema_version": "0.3.0",
    "execution_summary": {
        "exit_code": 0,
        "command": "bash -c sleep 0.5; work",
        "logs_prefix": "a_",
        "wall_clock_time": 1.18,
        "peak_ps_rss_total": 17141760.0,
        "ave_ps_rss_total": 14102528.0,
        "ps_cpu_seconds": 3.0,
        "peak_cgroup_rss_peak": 20971520.0,
        "peak_psutil_pss_total": None,
        "num_samples": 3,
        "num_reports": 2,
        "start_time": 1794774333.1042755,
        "end_time": 1794774334.2857451,
        "working_directory": "/tmp/a",
    },
    "working_directory": "/tmp/a",
    "message": "",
}

DRAFT_USAGE: list[Record] = [
    {
        "timestamp": "2026-11-15T20:25:33.107517+00:00",
        "num_samples": 1,
        "measurements": {
            "ps_rss": {"11634": 3186688.0},
            "ps_rss_total": 3186688.0,
            "ps_pdcpu": {"11634": None},
            "ps_cpu_seconds": 1.0,
            "ps_cmd": {"11634": "bash -c sleep 0.5; work"},
            "cgroup_rss_peak": 10485760.0,
        },
    },
    {
        "timestamp": "2026-11-15T20:25:34.107517+00:00",
        "num_samples": 2,
        "measurements": {
            "ps_rss": {"11634": 3227648.0, "11641": 13910016.0},
            "ps_rss_total": 17141760.0,
            "ps_pdcpu": {"11634": 0.25, "11641": None},
            "ps_cpu_seconds": 2.0,
            "psutil_pdcpu": {"11641": 0.5},
            "cgroup_rss_peak": 20971520.0,
        },
    },
]


def classic_line(**changes: object) -> Record:
    process = {
        "pcpu": 1.0,
        "pmem": 0.1,
        "rss": 4096,
        "vsz": 8192,
        "etime": "01:02",
        "stat": {"S": 2},
        "cmd": "x",
    }
    totals = {"pmem": 0.1, "pcpu": 1.0, "rss": 4096, "vsz": 8192}
    return {
        "timestamp": "2026-01-02T03:04:05+01:00",
        "num_samples": 2,
        "processes": {"7": process},
        "totals": totals,
        "averages": totals | {"num_samples": 2},
    } | changes


def write(folder: Path, info: Record | None, usage: list[Record] | None) -> Path:
    if info is not None:
        (folder / "a_info.json").write_text(json.dumps(info))
    if usage is not None:
        (folder / "a_usage.jsonl").write_text("".join(json.dumps(line) + "\n" for line in usage))
    return folder / ("a_info.json" if info is not None else "a_usage.jsonl")


def imported(folder: Path, info: Record | None, usage: list[Record] | None) -> Imported:
    (run,) = duct.parse(write(folder, info, usage))
    return run


def test_definitions_are_legal() -> None:
    assert measurement.problems(duct_keys.DEFINITIONS.values()) == []


def test_the_draft_is_converted_to_honest_names(tmp_path: Path) -> None:
    assert imported(tmp_path, DRAFT_INFO, DRAFT_USAGE).run.summary == {
        "ps_peak_rss": 13910016,
        "ps_peak_rss_total": 17141760,
        "ps_mean_rss_total": 14102528.0,
        "ps_cputime_total": 3.0,
        "cgroup_mem_peak": 20971520,
    }


def test_the_draft_wrote_cores_and_gives_percent(tmp_path: Path) -> None:
    _, second = imported(tmp_path, DRAFT_INFO, DRAFT_USAGE).windows
    assert second.values["ps_pdcpu", "11634"] == 25.0
    assert second.values["psutil_pdcpu", "11641"] == 50.0


def test_a_null_of_the_draft_is_absent(tmp_path: Path) -> None:
    first, second = imported(tmp_path, DRAFT_INFO, DRAFT_USAGE).windows
    assert ("ps_pdcpu", "11634") not in first.values
    assert ("ps_pdcpu", "11641") not in second.values
    assert first.values["cgroup_mem_peak", ""] == 10485760
    assert not {key for key, _ in first.values} & {"cgroup_rss_peak", "ps_cpu_seconds"}


def test_a_counter_of_the_draft_knows_the_span_it_covers(tmp_path: Path) -> None:
    first, second = imported(tmp_path, DRAFT_INFO, DRAFT_USAGE).windows
    assert first.clock == {}
    begin, end = second.clock["ps"]
    assert end - begin == pytest.approx(1.0)


def test_the_drafts_bounds_are_called_bounds(tmp_path: Path) -> None:
    inexact = imported(tmp_path, DRAFT_INFO, DRAFT_USAGE).run.provenance.inexact
    assert set(inexact) == {"ps_mean_rss_total", "ps_cputime_total", "cgroup_mem_peak"}
    assert inexact["ps_cputime_total"].startswith("a lower bound")


def test_the_draft_without_info_is_summed_from_its_lines(tmp_path: Path) -> None:
    run = imported(tmp_path, None, DRAFT_USAGE).run
    assert run.summary == {
        "ps_peak_rss": 13910016,
        "ps_peak_rss_total": 17141760,
        "ps_cputime_total": 3.0,
        "cgroup_mem_peak": 20971520,
    }
    assert run.command == ("bash -c sleep 0.5; work",)


@pytest.mark.parametrize(("release", "flagged"), [("0.2.0", True), ("0.3.0", True), ("0.3.1", False)])
def test_totals_of_releases_that_added_up_one_process_are_lower_bounds(
    tmp_path: Path, release: str, flagged: bool
) -> None:
    info: Record = {
        "command": "x",
        "duct_version": release,
        "execution_summary": {"exit_code": 0, "peak_rss": 4096},
    }
    two = classic_line(processes={"7": {"rss": 4096}, "8": {"rss": 4096}})
    inexact = imported(tmp_path, info, [two]).run.provenance.inexact
    assert ("ps_peak_rss_total" in inexact) is flagged


def test_0_2_0_stored_a_signal_as_a_negative_code(tmp_path: Path) -> None:
    info: Record = {"command": "x", "duct_version": "0.2.0", "execution_summary": {"exit_code": -9}}
    run = imported(tmp_path, info, None).run
    assert (run.exit_code, run.signal, run.status) == (137, "SIGKILL", Status.KILLED)
    assert "signal" not in run.provenance.inexact


def test_the_interrupt_con_duct_passes_on_is_a_cancellation(tmp_path: Path) -> None:
    info: Record = {"command": "x", "duct_version": "0.23.0", "execution_summary": {"exit_code": 130}}
    assert imported(tmp_path, info, None).run.status is Status.CANCELLED


def test_exit_code_255_is_no_signal(tmp_path: Path) -> None:
    info: Record = {"command": "x", "duct_version": "0.23.0", "execution_summary": {"exit_code": 255}}
    run = imported(tmp_path, info, None).run
    assert (run.status, run.signal) == (Status.FAILED, None)


def test_a_torn_last_line_is_dropped_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path, None, [classic_line()])
    with path.open("a") as file:
        file.write('{"timestamp": "2026-01-02T03:04:06+01:00", "num_samples": 2, "proc')
    (run,) = duct.parse(path)
    assert len(list(run.windows)) == 1
    assert run.run.provenance.dropped == {"usage": 1}


def test_values_that_are_no_numbers_are_absent(tmp_path: Path) -> None:
    processes = {"7": {"rss": "many", "vsz": True, "pcpu": None, "pmem": float("nan"), "etime": "soon"}}
    line = classic_line(processes=processes, totals={"rss": 10**30, "vsz": -1}, averages=[])
    (window,) = imported(tmp_path, None, [line]).windows
    assert window.values == {("ps_vsz_total", ""): -1}


def test_an_argument_that_is_not_utf8_is_shown_escaped(tmp_path: Path) -> None:
    info: Record = {"command": "cat \udcff", "duct_version": "0.23.0", "execution_summary": {"exit_code": 0}}
    assert imported(tmp_path, info, None).run.command == ("cat \\udcff",)


def test_a_damaged_info_file_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = write(tmp_path, {"command": "x"}, [classic_line()])
    with pytest.raises(UsageError, match=r"a_info\.json is damaged") as caught:
        duct.parse(path)
    assert "move it away" in caught.value.hint


def test_a_run_without_info_and_without_samples_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, None, [])
    (tmp_path / "a_info.json").touch()
    with pytest.raises(UsageError, match="nothing was recorded"):
        duct.parse(path)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:00", 0),
        ("01:02", 62),
        ("03:04:05", 11045),
        ("2-03:04:05", 183845),
        ("5", None),
        ("", None),
        (7, None),
    ],
)
def test_ages_of_ps_are_read(text: object, seconds: int | None) -> None:
    assert duct_usage.elapsed_seconds(text) == seconds


def test_the_leader_of_the_session_names_a_run_without_info(tmp_path: Path) -> None:
    child = {"rss": 1, "stat": {"S": 1}, "cmd": "child"}
    leader = {"rss": 1, "stat": {"Ss": 1}, "cmd": "parent --flag"}
    run = imported(tmp_path, None, [classic_line(processes={"6": child, "9": leader})]).run
    assert run.command == ("parent --flag",)


def test_jobmeters_own_usage_lines_are_not_con_ducts() -> None:
    line = (
        b'{"timestamp": "t", "num_samples": 1, "clock": {"ps": [1, 2]}, "measurements": {"ps_rss_total": 1}}'
    )
    assert duct.sniff(line, "usage.jsonl") == 0.0


def test_an_empty_file_is_claimed_by_name_only() -> None:
    assert duct.sniff(b"", "x_info.json") > 0
    assert duct.sniff(b"", "notes.txt") == 0


def test_a_log_is_recognised_under_any_name(tmp_path: Path) -> None:
    path = tmp_path / "renamed"
    path.write_text(json.dumps(classic_line()) + "\n")
    assert formats.recognise(path) == "duct"
    (run,) = duct.parse(path)
    assert len(list(run.windows)) == 1


def test_a_foreign_json_file_is_not_claimed(tmp_path: Path) -> None:
    path = tmp_path / "package.json"
    path.write_text('{"name": "x", "command": "y"}')
    assert formats.recognise(path) is None


def test_the_prototypes_own_file_name_tells_when_it_ran(tmp_path: Path) -> None:
    path = tmp_path / "2024-04-16T15:35:32-04:00_802267.stats.json"
    path.write_text(
        '{"cpu-user-time": 1.5, "cpu-system-time": "0.5", "memory-max-kb": 4, "elapsed-time": 2 }'
    )
    (tmp_path / "2024-04-16T15:35:32-04:00_802267.out").write_text("hello")
    (run,) = duct.parse(path)
    assert run.run.started_at == 1713296132.0
    assert run.run.summary == {"wait_cputime": 2.0, "wait_maxrss": 4096}
    assert run.outputs["stdout"].read_text() == "hello"
