"""con-duct's files from jobmeter's own windows: laid together, null where not measured."""

import json

import pytest

from jobmeter.exporters import duct, duct_lines
from jobmeter.model.run import Provenance, Run, Status, Value
from jobmeter.model.view import RunView, Window

BOOT_TO_START = 5000.0
MEMORY_BYTES = 1000 * 4096


def job_window(second: int, rss: int, cpu_seconds: float) -> Window:
    clock = (BOOT_TO_START + second - 1, BOOT_TO_START + second)
    return Window(
        timestamp=1000.0 + second,
        num_samples=1,
        clock={"wait": clock, "proc": clock},
        values={("proc_rss_total", ""): rss, ("wait_cputime", ""): cpu_seconds},
    )


def process_window(second: int, values: dict[tuple[str, str], Value | dict[str, int]]) -> Window:
    clock = {"proc": (BOOT_TO_START, BOOT_TO_START + second)}
    return Window(timestamp=1000.0 + second, num_samples=2, clock=clock, values=values)


WINDOWS = [
    job_window(1, 8192, 0.5),
    job_window(2, 4096, 0.25),
    process_window(
        2,
        {
            ("proc_rss", "7@499900"): 4096,
            ("proc_pdcpu", "7@499900"): 50.0,
            ("proc_state", "7@499900"): {"R": 1, "S": 1},
            ("proc_cmd", "7@499900"): "sh -c work",
            ("proc_rss", "rest"): 4096,
        },
    ),
    job_window(3, 4096, 0.0),
    process_window(3, {("proc_state", "7@499900"): {"S": 1}}),
    job_window(4, 4096, 1.0),
]


def run(**changes: object) -> Run:
    facts: dict[str, object] = {
        "run_id": "20261115T095001Z-7f3a9c",
        "job_id": "20261115T095001Z-7f3a9c",
        "status": Status.COMPLETED,
        "command": ("sh", "-c", "work"),
        "cwd": "/home/u",
        "host": "node7",
        "exit_code": 0,
        "started_at": 1000.0,
        "ended_at": 1004.0,
        "wall_seconds": 4.0,
        "samples": 4,
        "summary": {"wait_cputime": 1.75, "proc_peak_rss_total": 8192, "proc_mean_rss_total": 5120.0},
        "context": {
            "host": {"cpus": 4, "memory_bytes": MEMORY_BYTES, "system": "Linux", "distribution": "Debian 12"},
            "user": {"uid": 1000, "name": "u"},
            "environment": {"SLURM_JOB_ID": "17", "HOME": "/home/u"},
            "recorder": {"version": "0.1.0", "pid": 1},
        },
    }
    return Run(**(facts | changes))  # type: ignore[arg-type]  # keyword by keyword


def lines() -> list[dict[str, object]]:
    return list(duct_lines.lines(WINDOWS, MEMORY_BYTES))


def test_a_report_of_processes_closes_a_line_and_the_rest_is_one_more() -> None:
    assert [line["num_samples"] for line in lines()] == [2, 1, 1]
    assert lines()[2]["processes"] == {}


def test_totals_are_the_largest_sum_and_averages_its_mean() -> None:
    first = lines()[0]
    assert first["totals"] == {"pmem": 0.2, "pcpu": 50.0, "rss": 8192, "vsz": None}
    averages = {"rss": 6144.0, "vsz": None, "pmem": pytest.approx(0.15), "pcpu": 37.5, "num_samples": 2}
    assert first["averages"] == averages


def test_a_process_has_con_ducts_fields_and_its_interval_percentage() -> None:
    assert lines()[0]["processes"] == {
        "7": {
            "pcpu": 50.0,
            "pmem": 0.1,
            "rss": 4096,
            "timestamp": "1970-01-01T00:16:42.000000+00:00",
            "etime": "00:03",
            "stat": {"R": 1, "S": 1},
            "cmd": "sh -c work",
        }
    }


def test_a_process_that_did_not_move_is_listed_as_it_was_and_idle() -> None:
    (process,) = lines()[1]["processes"].values()  # type: ignore[attr-defined]  # plain JSON
    assert process["rss"] == 4096
    assert process["cmd"] == "sh -c work"
    assert process["pcpu"] == 0.0
    assert process["stat"] == {"S": 1}
    assert process["etime"] == "00:04"


def test_a_process_that_ended_is_not_listed_again() -> None:
    gone = [*WINDOWS[:3], job_window(3, 4096, 0.0), process_window(3, {("proc_state", "8@500200"): {"R": 1}})]
    last = list(duct_lines.lines(gone, MEMORY_BYTES))[-1]
    assert list(last["processes"]) == ["8"]  # type: ignore[call-overload]  # plain JSON


def counted(second: int, alive: int) -> Window:
    window = job_window(second, 8192, 0.0)
    return Window(
        timestamp=window.timestamp,
        num_samples=1,
        clock=window.clock,
        values=window.values | {("proc_count", ""): alive},
    )


def moved(second: int, *pids: int) -> Window:
    return process_window(second, {("proc_rss", f"{pid}@499900"): 4096 for pid in pids})


def listed(windows: list[Window], report_seconds: float | None = None) -> list[list[str]]:
    return [list(line["processes"]) for line in duct_lines.lines(windows, None, report_seconds)]  # type: ignore[call-overload]  # plain JSON


def test_processes_that_did_not_move_are_listed_while_as_many_are_alive() -> None:
    windows = [counted(1, 2), moved(1, 7, 8), counted(2, 2), moved(2, 8), counted(3, 3), moved(3, 9)]
    assert listed(windows) == [["7", "8"], ["7", "8"], ["7", "8", "9"]]


def test_when_one_ended_only_those_that_moved_are_listed() -> None:
    windows = [counted(1, 2), moved(1, 7, 8), counted(2, 1), moved(2, 8)]
    assert listed(windows) == [["7", "8"], ["8"]]


def test_a_job_that_only_waits_still_gets_its_lines_in_time() -> None:
    windows = [counted(1, 1), moved(1, 7), *(counted(second, 1) for second in range(2, 11))]
    lines = list(duct_lines.lines(windows, None, 3.0))
    assert [line["num_samples"] for line in lines] == [1, 3, 3, 3]
    assert [line["processes"]["7"]["etime"] for line in lines] == ["00:02", "00:05", "00:08", "00:11"]  # type: ignore[index]  # plain JSON
    assert "stat" not in lines[1]["processes"]["7"]  # type: ignore[index]  # plain JSON


def test_what_was_used_after_the_last_process_ended_joins_the_last_line() -> None:
    last = Window(
        timestamp=1003.0, num_samples=1, clock={"wait": (1.0, 2.0)}, values={("wait_cputime", ""): 0.9}
    )
    (line,) = duct_lines.lines([counted(1, 1), moved(1, 7), last], None)
    assert line["totals"]["pcpu"] == 90.0  # type: ignore[index]  # plain JSON
    assert line["totals"]["rss"] == 8192  # type: ignore[index]  # plain JSON
    assert line["num_samples"] == 1


def test_a_run_that_was_never_sampled_has_no_lines() -> None:
    only = Window(
        timestamp=1003.0, num_samples=1, clock={"wait": (1.0, 2.0)}, values={("wait_cputime", ""): 0.9}
    )
    assert list(duct_lines.lines([only], None)) == []


def test_the_summary_takes_the_totals_of_record() -> None:
    summary = duct.execution_summary(run(), WINDOWS, prefix="p_")
    assert summary["peak_rss"] == 8192
    assert summary["average_rss"] == 5120.0
    assert summary["peak_pcpu"] == 100.0
    assert summary["average_pcpu"] == 43.75
    assert summary["peak_pmem"] == pytest.approx(0.2)
    assert summary["peak_vsz"] is None
    assert summary["num_reports"] == 3
    assert summary["num_samples"] == 4


def test_cpu_time_that_is_only_a_bound_gives_no_average_of_record() -> None:
    flagged = run(provenance=Provenance(inexact={"wait_cputime": "a child ignored SIGCHLD"}))
    assert duct.execution_summary(flagged, WINDOWS, prefix="p_")["average_pcpu"] == 43.75
    short = run(provenance=Provenance(inexact={"wait_cputime": "a child ignored SIGCHLD"}), samples=0)
    assert duct.execution_summary(short, [], prefix="p_")["average_pcpu"] is None


def test_a_run_without_samples_has_every_key_and_null_for_what_was_not_measured() -> None:
    bare = run(summary={}, samples=0, wall_seconds=0.001)
    summary = duct.execution_summary(bare, [], prefix="p_")
    measured = [f"{stat}_{name}" for stat in ("peak", "average") for name in ("rss", "vsz", "pmem", "pcpu")]
    assert {name: summary[name] for name in measured} == dict.fromkeys(measured)
    assert summary["num_reports"] == 0


def test_the_info_file_has_the_keys_of_schema_0_2_3() -> None:
    parts = duct.render(RunView(run=run(), series={}), WINDOWS, prefix="logs/p_")
    info = json.loads(b"".join(parts["info.json"]))
    assert list(info) == [
        "command", "system", "env", "gpu", "duct_version", "schema_version", "execution_summary",
        "output_paths", "working_directory", "message",
    ]  # fmt: skip
    assert info["command"] == "sh -c work"
    assert info["env"] == {"SLURM_JOB_ID": "17"}
    assert info["duct_version"] == "jobmeter 0.1.0"
    assert info["schema_version"] == "0.2.3"
    assert info["output_paths"]["usage"] == "logs/p_usage.jsonl"
    assert info["system"]["memory_total"] == MEMORY_BYTES
    assert info["system"]["distro_pretty_name"] == "Debian 12"
    assert info["system"]["distro_codename"] == ""
    assert len(info["system"]) == 19


def test_an_argument_of_any_bytes_can_be_exported() -> None:
    parts = duct.render(RunView(run=run(command=("cat", "\udcff")), series={}), [], prefix="p_")
    assert json.loads(b"".join(parts["info.json"]))["command"] == "cat \udcff"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "00:00"), (62.9, "01:02"), (11045, "03:04:05"), (183845, "2-03:04:05")]
)
def test_ages_are_written_as_ps_does(seconds: float, text: str) -> None:
    assert duct_lines.elapsed(seconds) == text
