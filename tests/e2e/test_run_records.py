"""What a recording leaves behind: series that add up to the summary, only what was asked for, and by whom."""

import json
import math
import os
import re
import signal
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from support import cgroups
from support.recorder import Home, events, keys_of, lines, records, sampled, series, usage, wait_for

MIB = 1 << 20
WRITING_CHILDREN = """
import os, time
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        with open('/dev/null', 'wb', buffering=0) as null:
            for _ in range(5): null.write(b'x' * 1000000); time.sleep(0.01)
        os._exit(0)
    time.sleep(0.4)
    os.waitpid(pid, 0)
"""


@pytest.mark.parametrize("own_cgroup", ["auto", "never"])
def test_the_series_of_a_counter_adds_up_to_its_total(own_cgroup: str, home: Home) -> None:
    """Children that ended and were not waited for yet are in nobody's account for a while."""
    done = home.run(
        "-q",
        "--own-cgroup",
        own_cgroup,
        "--sample-interval",
        "0.05",
        sys.executable,
        "-S",
        "-c",
        WRITING_CHILDREN,
    )
    summary = done.run["summary"]
    assert 10_000_000 <= summary["wait_wchar"] < 10_010_000
    for key in ("wait_wchar", "wait_rchar", "wait_write_bytes", "wait_cputime", "proc_cputime_total"):
        total = sum(value for _, value in series(done.folder, key))
        assert math.isclose(total, summary[key], abs_tol=1e-4), key
    if own_cgroup == "auto":
        total = sum(value for _, value in series(done.folder, "cgroup_cputime"))
        assert math.isclose(total, summary["cgroup_cputime"], abs_tol=1e-4)


def test_windows_follow_one_another_without_gaps(home: Home) -> None:
    done = home.run("-q", "--sample-interval", "0.25", "--report-interval", "0.5", "sleep", "4")
    spans = [line["clock"]["wait"] for line in usage(done.folder) if "wait" in line["clock"]]
    assert spans[0][0] == pytest.approx(done.run["clock"], abs=0.1)
    assert all(earlier[1] == later[0] for earlier, later in pairwise(spans))
    assert all(begin < end for begin, end in spans)
    assert done.run["samples"] == len(spans)
    regular = [round((end - spans[0][0]) / 0.25, 1) for _, end in spans[6:-1]]
    # no drift; when memory is short a sample may be taken in between, on a machine that stands still one is skipped
    on_time = {round(moment) for moment in regular if abs(moment - round(moment)) <= 0.2}
    assert len(on_time) >= 0.8 * (regular[-1] - regular[0]), regular


def test_a_short_job_has_totals_and_no_samples(home: Home) -> None:
    done = home.run("-q", "true")
    assert done.run["samples"] == 0
    assert 0 < done.run["summary"]["wait_cputime"] < 0.05
    assert not (done.folder / "usage.jsonl").exists()
    assert not (done.folder / "events.jsonl").exists()


def test_the_time_to_move_into_the_cgroup_is_not_the_jobs(home: Home) -> None:
    """The kernel takes up to 15 ms for it; strace makes it 4 seconds: the second write is the first move."""
    trace = ["strace", "-o", "/dev/null", "-e", "trace=write", "-e", "inject=write:delay_exit=4000000:when=2"]
    done = home.finish(home.start("-q", "true", before=trace))
    assert done.code == 0
    assert "own_cgroup" in done.run["provenance"]
    assert done.run["wall_seconds"] < 3


def test_the_start_is_on_disk_before_the_job_runs(home: Home) -> None:
    done = home.run("-q", "sh", "-c", f"cat {home.path}/runs/*/*/run.jsonl")
    start = json.loads(done.stdout.splitlines()[0])
    assert start["type"] == "start"
    assert start["command"][0] == "sh"
    assert start["recorder"]["pid"] > 0


def test_names_and_tags_are_recorded(home: Home) -> None:
    words = ["--name", "nightly", "--project", "app", "--tag", "k=v", "-m", "why", "--job-id", "17"]
    run = home.run("-q", *words, "true").run
    assert (run["name"], run["project"], run["tags"], run["message"], run["job_id"]) == (
        "nightly",
        "app",
        {"k": "v"},
        "why",
        "17",
    )


def test_only_the_asked_for_keys_are_recorded(home: Home) -> None:
    wanted = "proc_rss,proc_rss_total,wait_cputime"
    done = home.run("-q", "--measurements", wanted, "--sample-interval", "0.05", "sleep", "0.4")
    assert keys_of(done.folder) == {"proc_rss", "proc_last_rss", "proc_rss_total", "wait_cputime"}
    assert set(done.run["summary"]) == {"proc_peak_rss_total", "proc_mean_rss_total", "wait_cputime"}
    assert {m["key"] for m in done.run["measurements"]} == set(wanted.split(","))
    assert done.run["provenance"]["selected"] == sorted(wanted.split(","))


def test_only_the_asked_for_keys_are_recorded_of_a_short_job(home: Home) -> None:
    done = home.run("-q", "--measurements", "wait_minflt", "true")
    assert set(done.run["summary"]) == {"wait_minflt"}
    assert {m["key"] for m in done.run["measurements"]} == {"wait_minflt"}


def test_prefixes_and_exclusions_choose_keys(home: Home) -> None:
    done = home.run("-q", "--measurements", "wait,-wait_rchar", "--sample-interval", "0.05", "sleep", "0.2")
    assert {"wait_cputime", "wait_wchar"} <= keys_of(done.folder)
    everything = Home(home.path / "other").run(
        "-q", "--measurements", "-wait,-cgroup,-psi,-host", "sleep", "0.2"
    )
    assert {key.partition("_")[0] for key in keys_of(everything.folder)} == {"proc"}


def test_memory_that_is_not_measured_cannot_be_watched(home: Home, tmp_path: Path) -> None:
    words = ["--measurements", "wait_cputime", "--on-memory", "90% signal:USR1"]
    done = home.run(*words, "touch", str(tmp_path / "started"))
    assert done.code == 125
    assert done.stderr.decode().splitlines() == [
        "jobmeter: --on-memory needs a measurement of memory",
        "hint: add proc_rss_total or cgroup_mem_unreclaimable to --measurements",
    ]
    assert not (tmp_path / "started").exists()


CHECKPOINTING = """
import signal, sys, time
def save(number, frame):
    print('saved', flush=True)
signal.signal(signal.SIGUSR1, save)
held = []
while len(held) < 24: held.append(b'x' * (2 << 20)); time.sleep(0.02)
time.sleep(0.2)
"""


def test_a_job_near_its_memory_limit_is_told_once(home: Home, memory_limit: str) -> None:
    """128 MiB allowed, 48 MiB used: the signal comes at a quarter of the limit."""
    done = home.run(
        "-q",
        "--sample-interval",
        "0.05",
        "--on-memory",
        "25%",
        "signal:USR1",
        sys.executable,
        "-S",
        "-c",
        CHECKPOINTING,
        preexec_fn=lambda: cgroups.write(f"{memory_limit}/cgroup.procs", b"0"),
    )
    assert (done.code, done.stdout) == (0, b"saved\n")
    (event,) = events(done.folder, "memory_threshold")
    assert event["details"]["limit_bytes"] == 128 * MIB
    assert event["details"]["signal"] == "SIGUSR1"
    assert 32 * MIB <= event["details"]["used_bytes"] < 48 * MIB
    assert done.run["limits"]["memory_bytes"] == 128 * MIB
    assert done.run["limits"]["memory_source"] == "cgroup"


def test_the_summary_is_text_or_json_or_nothing(home: Home) -> None:
    text = home.run("sh", "-c", "sleep 0.1; exit 3").stderr.decode()
    assert re.fullmatch(r"jobmeter: failed \(exit 3\) after (\d{3} ms|\d\.\d+ s)", text.splitlines()[0])
    assert "cgroup_cputime" in text
    (first,) = home.folders()
    assert first.name in text
    told = json.loads(home.run("--summary", "json", "sh", "-c", "sleep 0.1; exit 3").stderr)
    (second,) = set(home.folders()) - {first}
    assert (told["exit_code"], told["status"], told["run_id"]) == (3, "failed", second.name)
    assert set(told["headline"]["cpu_seconds"]) == {"value", "low", "high", "keys", "exact"}
    assert told["summary"]["wait_cputime"] == records(second)["end"]["summary"]["wait_cputime"]
    assert home.run("--summary", "none", "true").stderr == b""
    assert home.run("-q", "--summary", "json", "true").stderr == b""


def test_info_is_for_people_and_for_readers_of_con_ducts(home: Home) -> None:
    done = home.run("-q", "sh", "-c", "exit 3")
    info = json.loads((done.folder / "info.json").read_text())
    assert info["execution_summary"]["exit_code"] == 3
    assert info["execution_summary"]["command"] == "sh -c exit 3"
    assert info["execution_summary"]["wait_cputime"] == done.run["summary"]["wait_cputime"]
    assert info["output_paths"]["stdout"] == f"{done.folder}/stdout"


def test_settings_come_from_system_user_project_variable_and_flag(home: Home, tmp_path: Path) -> None:
    user, project = tmp_path / "xdg/jobmeter", tmp_path / "project/.jobmeter"
    user.mkdir(parents=True)
    project.mkdir(parents=True)
    (user / "config.toml").write_text("name = 'user'\nproject = 'user'\nmessage = 'user'\nsummary = 'none'\n")
    (project / "config.toml").write_text("project = 'project'\nmessage = 'project'\n")
    env = home.environ(
        XDG_CONFIG_HOME=str(tmp_path / "xdg"), JOBMETER_MESSAGE="variable", JOBMETER_TAG="a=1,b=2"
    )
    done = home.run("--job-id", "flag", "true", env=env, cwd=tmp_path / "project")
    run = done.run
    assert (run["name"], run["project"], run["message"], run["job_id"]) == (
        "user",
        "project",
        "variable",
        "flag",
    )
    assert run["tags"] == {"a": "1", "b": "2"}
    assert done.stderr == b""


def test_a_project_keeps_its_runs_in_its_own_folder(home: Home, tmp_path: Path) -> None:
    (tmp_path / "project/.jobmeter").mkdir(parents=True)
    (tmp_path / "project/src").mkdir()
    env = home.environ()
    del env["JOBMETER_HOME"]
    home.run("-q", "true", env=env, cwd=tmp_path / "project/src")
    assert len(list((tmp_path / "project/.jobmeter/runs").glob("*/*/run.jsonl"))) == 1


def test_who_used_it_is_told_by_command(home: Home, tmp_path: Path) -> None:
    for name in ("heavy", "light"):
        (tmp_path / name).symlink_to(sys.executable)
    burn = "import time\nwhile time.process_time() < {}: pass\ntime.sleep(0.1)"
    script = f'"{tmp_path}/heavy" -S -c "$1" & "{tmp_path}/light" -S -c "$2" & wait'
    done = home.run("--sample-interval", "0.05", "sh", "-c", script, "sh", burn.format(0.4), burn.format(0.1))
    by_command = {share["command"]: share for share in done.run["by_command"]}
    assert 0.38 <= by_command["heavy"]["cpu_seconds"] <= 0.6
    assert 0.08 <= by_command["light"]["cpu_seconds"] <= 0.25
    assert by_command["heavy"]["processes"] == 1
    assert done.run["by_command"][0]["command"] == "heavy"
    assert "heavy " in done.stderr.decode()


def test_a_secret_on_the_command_line_is_not_written_down(home: Home) -> None:
    done = home.run(
        "-q", "--sample-interval", "0.05", "sh", "-c", "sleep 0.3", "sh", "--password=hunter2hunter2"
    )
    assert done.code == 0
    for path in done.folder.iterdir():
        assert b"hunter2" not in path.read_bytes(), path.name


def test_interrupting_a_sleeping_job_leaves_a_whole_folder(home: Home) -> None:
    process = home.start("-q", "sleep", "60", start_new_session=True)
    wait_for(lambda: sampled(home.path))
    os.kill(process.pid, signal.SIGTERM)
    done = home.finish(process)
    for name in ("run.jsonl", "usage.jsonl", "events.jsonl"):
        assert lines(done.folder / name)
    assert not list(done.folder.glob("*.part"))
