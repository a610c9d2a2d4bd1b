"""The summary as a person sees it, drawn out."""

import json
from collections.abc import Mapping

import pytest

from jobmeter.recording import summarytext
from jobmeter.recording.outcome import Records

MIB = 1 << 20
GIB = 1 << 30


def figures(
    value: float, *keys: str, low: float | None = None, high: float | None = None, exact: bool = True
) -> object:
    return {
        "value": value,
        "low": value if low is None else low,
        "high": value if high is None else high,
        "keys": list(keys),
        "exact": exact,
    }


BUILD: dict[str, object] = {
    "cpu_seconds": figures(153.0, "cgroup_cputime"),
    "memory_peak_bytes": figures(1.21 * GIB, "cgroup_mem_peak"),
    "io_read_bytes": figures(212 * MIB, "wait_read_bytes"),
    "io_write_bytes": figures(388 * MIB, "wait_write_bytes"),
}
SHARES = [
    {"command": "cc1plus", "cpu_seconds": 124.0},
    {"command": "as", "cpu_seconds": 9.5},
    {"command": "ld", "cpu_seconds": 6.0},
    {"command": "make", "cpu_seconds": 0.5},
]


def make_records(headlines: Mapping[str, object] = BUILD, **end: object) -> Records:
    return Records(
        start={"run_id": "20261115T095001Z-7f3a9c", "job_id": "17"},
        context={"limits": {"cpus": 4.0, "memory_bytes": 16 * GIB}},
        end={
            "status": "completed",
            "exit_code": 0,
            "signal": None,
            "wall_seconds": 41.2,
            "samples": 41,
            "summary": {"proc_cputime_total": 153.0},
            "by_command": SHARES,
        }
        | end,
        headlines=dict(headlines),
    )


def drawn(records: Records, columns: int = 80) -> str:
    return "\n" + summarytext.summary_text(records, columns) + "\n"


def test_a_build() -> None:
    assert (
        drawn(make_records())
        == """
jobmeter: completed (exit 0) after 41.2 s
  CPU      2 min 33 s, 3.71 cores of 4       cgroup_cputime
  memory   1.21 GiB peak of 16 GiB (7.6 %)   cgroup_mem_peak
  IO       read 212 MiB, wrote 388 MiB       wait_read_bytes, wait_write_bytes
  who      cc1plus 81 %, as 6.2 %, ld 3.9 %  proc_cputime
  run      20261115T095001Z-7f3a9c
"""
    )


BOUNDED = BUILD | {
    "memory_peak_bytes": figures(
        972 * 1024, "cgroup_mem_peak", "cgroup_peak_mem_file", low=328 * 1024, high=976 * 1024, exact=False
    )
}


def test_a_source_too_long_for_80_columns_stands_below() -> None:
    assert (
        drawn(make_records(BOUNDED, by_command=[]))
        == """
jobmeter: completed (exit 0) after 41.2 s
  CPU      2 min 33 s, 3.71 cores of 4  cgroup_cputime
  memory   972 KiB peak of 16 GiB (<0.1 %)
           cgroup_mem_peak - cgroup_peak_mem_file
           between 328 KiB and 976 KiB
  IO       read 212 MiB, wrote 388 MiB  wait_read_bytes, wait_write_bytes
  run      20261115T095001Z-7f3a9c
"""
    )


def test_in_120_columns_it_stands_beside() -> None:
    assert (
        drawn(make_records(BOUNDED, by_command=[]), 120)
        == """
jobmeter: completed (exit 0) after 41.2 s
  CPU      2 min 33 s, 3.71 cores of 4      cgroup_cputime
  memory   972 KiB peak of 16 GiB (<0.1 %)  cgroup_mem_peak - cgroup_peak_mem_file
           between 328 KiB and 976 KiB
  IO       read 212 MiB, wrote 388 MiB      wait_read_bytes, wait_write_bytes
  run      20261115T095001Z-7f3a9c
"""
    )


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    reason = "processes that still run belong to another user: their input and output may not be read"
    records = make_records(
        BOUNDED,
        inexact={"wait_read_bytes": reason, "wait_write_bytes": reason},
        processes_left=[{"pid": 12345 + n, "command": "a-long-command"} for n in range(5)],
        dropped={"usage": 12, "stdout bytes": 1234567, "events": 3},
        summary={"proc_cputime_total": 120.0, "cgroup_oom_kill": 2},
    )
    lines = drawn(records, columns).splitlines()
    assert max(map(len, lines)) <= columns
    assert all(line.startswith("  ") for line in lines[2:])


def test_every_warning_is_said() -> None:
    records = make_records(
        {"cpu_seconds": figures(2.0, "wait_task_clock", low=1.0, exact=False)},
        status="killed",
        signal="SIGKILL",
        exit_code=137,
        by_command=[{"command": "sh", "cpu_seconds": 0.5}],
        summary={"proc_cputime_total": 1.0, "cgroup_oom_kill": 1},
        inexact={"wait_cputime": "sh ignores SIGCHLD: CPU time of its children is known from perf alone"},
        processes_left=[{"pid": 99, "command": "sl\x1b[2Jeep"}],
        dropped={"usage": 3},
    )
    assert (
        drawn(records)
        == """
jobmeter: killed (SIGKILL) after 41.2 s
  CPU      2 s, 0.05 cores of 4                        wait_task_clock (bounded)
  OOM      1 killed: the job reached its memory limit  cgroup_oom_kill
  who      sh 25 %                                     proc_cputime
           50 % not seen by sampling
  inexact  sh ignores SIGCHLD: CPU time of its children is known from perf alone
           wait_cputime
  left     1 still running: sl?[2Jeep (99)
           --wait-for-children waits for it
  dropped  3 of usage: the disk did not take them
  why      jobmeter analyze 20261115T095001Z-7f3a9c
  run      20261115T095001Z-7f3a9c
"""
    )


@pytest.mark.parametrize(
    ("home", "word"), [("/scratch/runs-1", "/scratch/runs-1"), ("/my runs/o'neil", "'/my runs/o'\\''neil'")]
)
def test_the_command_that_explains_names_the_home_that_is_not_looked_in(home: str, word: str) -> None:
    records = make_records({}, by_command=[], status="failed", exit_code=1)
    said = summarytext.summary_text(records, 120, None, home)
    assert f"  why      jobmeter analyze 20261115T095001Z-7f3a9c --home {word}\n" in said


def test_a_job_smaller_than_the_recorder_is_bounded_from_above() -> None:
    small = {"memory_peak_bytes": figures(12 * MIB, "wait_maxrss_floor", low=0.0, exact=False)}
    assert "  memory   at most 12 MiB of 16 GiB (0.1 %)  wait_maxrss_floor (bounded)\n" in drawn(
        make_records(small)
    )


def test_nothing_measured_is_nothing_claimed() -> None:
    records = make_records({}, by_command=[], exit_code=None, status="cancelled")
    assert (
        drawn(records)
        == """
jobmeter: cancelled (exit unknown) after 41.2 s
  run      20261115T095001Z-7f3a9c
"""
    )


def test_small_commands_that_are_not_listed_were_seen_all_the_same() -> None:
    """Only the largest twenty are listed; what all processes used is in the summary."""
    records = make_records(
        by_command=[{"command": "a", "cpu_seconds": 100.0}], summary={"proc_cputime_total": 152.9}
    )
    assert "not seen" not in drawn(records)


def test_a_job_of_short_processes_says_that_nobody_was_seen() -> None:
    records = make_records(
        by_command=[{"command": "a", "cpu_seconds": 0.1}], summary={"proc_cputime_total": 0.1}
    )
    assert "  who      100 % not seen by sampling" in drawn(records)


def test_for_machines_it_is_one_line() -> None:
    text = summarytext.summary_json(make_records(inexact={"k": "why"}))
    assert "\n" not in text
    told = json.loads(text)
    assert told["run_id"] == "20261115T095001Z-7f3a9c"
    assert told["limits"] == {"cpus": 4.0, "memory_bytes": 16 * GIB}
    assert told["inexact"] == {"k": "why"}
    assert "dropped" not in told


def test_gpus_and_energy_have_their_rows() -> None:
    records = make_records(
        {
            "gpu_util_percent": figures(93.4, "nvml_mean_util", exact=False),
            "gpu_memory_peak_bytes": figures(61 * GIB, "nvml_peak_proc_mem_total", exact=False),
            "energy_joules": figures(5400.0, "nvml_energy"),
        },
        summary={"nvml_energy": 5400.0, "nvml_name": "NVIDIA H200"},
        by_command=[],
    )
    records.context["options"] = {"energy_price": "0.31 EUR"}
    assert (
        drawn(records)
        == """
jobmeter: completed (exit 0) after 41.2 s
  GPU      93 % busy, 61 GiB peak  nvml_mean_util, nvml_peak_proc_mem_total
           NVIDIA H200
  energy   5.40 kJ = 0.0015 kWh, 0.00047 EUR
           nvml_energy
  run      20261115T095001Z-7f3a9c
"""
    )


def test_a_training_begins_with_how_far_it_came() -> None:
    steps = {"steps": "to step 599, loss 2.904 -> 0.4509", "ranks": "4 logged steps"}
    assert summarytext.summary_text(make_records({}, by_command=[]), 80, steps).splitlines()[1:] == [
        "  steps    to step 599, loss 2.904 -> 0.4509",
        "  ranks    4 logged steps",
        "  run      20261115T095001Z-7f3a9c",
    ]


def test_a_time_limit_is_the_reason_of_the_signal() -> None:
    records = make_records(
        {},
        by_command=[],
        status="cancelled",
        exit_code=124,
        signal="SIGTERM",
        ended_by="timeout",
        wall_seconds=5.01,
    )
    first = summarytext.summary_text(records).splitlines()[0]
    assert first == "jobmeter: cancelled (SIGTERM) after 5.01 s: the time limit (--timeout) ended it"
    records.context["options"] = {"timeout": 5.0}
    first = summarytext.summary_text(records).splitlines()[0]
    assert first == "jobmeter: cancelled (SIGTERM) after 5.01 s: the time limit of 5 s (--timeout) ended it"
    told = json.loads(summarytext.summary_json(records))
    assert (told["ended_by"], told["timeout_seconds"]) == ("timeout", 5.0)


def test_a_job_that_ended_in_time_has_no_reason_but_its_own() -> None:
    records = make_records({}, by_command=[])
    records.context["options"] = {"timeout": 60.0}
    assert summarytext.summary_text(records).splitlines()[0] == "jobmeter: completed (exit 0) after 41.2 s"
    told = json.loads(summarytext.summary_json(records))
    assert "ended_by" not in told
    assert "ended_by" not in json.loads(summarytext.summary_json(make_records()))
