"""The reading commands as people and programs meet them: real processes over real run folders."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from support import commands, corpus, folders
from support.commands import jobmeter, jobmeter_on_terminal

DONE = "20261115T095001Z-7f3a9c"
FAILED = "20261115T101500Z-000002"
LOST = "20261115T101500Z-00000a"
LIVE = "20261115T120000Z-000004"
EVIL = "20261115T130000Z-000005"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five runs: done, failed, lost, live, and one whose names try to act on the terminal."""
    home = tmp_path_factory.mktemp("reading") / "home"
    folders.write_run(home, run_id=DONE, seconds=20)
    folders.write_run(
        home,
        run_id=FAILED,
        seconds=5,
        started=folders.STARTED + 1500,
        start={"name": "train", "command": ["python", "train.py"]},
        end={
            "status": "failed",
            "exit_code": 2,
            "summary": {"proc_peak_pss_total": 2**30, "wait_cputime": 2.5},
        },
    )
    folders.write_run(
        home,
        run_id=LOST,
        seconds=5,
        ended=False,
        started=folders.STARTED + 1500,
        start=folders.dead_recorder() | {"host": os.uname().nodename},
    )
    live = folders.write_run(
        home,
        run_id=LIVE,
        seconds=5,
        ended=False,
        started=folders.STARTED + 7800,
        start=folders.this_recorder(),
    )
    folders.append(
        live / "events.jsonl",
        {"timestamp": folders.iso(folders.STARTED + 7803), "type": "oom_kill", "details": {"count": 1}},
    )
    evil = folders.write_run(
        home,
        run_id=EVIL,
        seconds=1,
        started=folders.STARTED + 11400,
        start={
            "name": "\x1b[2Jgone",
            "command": ["rm", "caf\udce9\x07", "\u202eevil"],
            "tags": {"k\x1b": "\x9b31m"},
        },
        end={"status": "killed", "exit_code": 137, "signal": "SIGKILL"},
    )
    (evil / "stdout").write_bytes(b"\x1b[31mred\x1b[0m \x1b]0;owned\x07\r\n\xff\n")
    return home


def test_ls_marks_live_lost_and_failed_runs(home: Path) -> None:
    answer = jobmeter(home, "ls", "-c", "id,status,name")
    assert answer.code == 0
    assert answer.text.splitlines() == [
        "RUN                      STATUS       NAME",
        f"{EVIL}  killed KILL  \\x1b[2Jgone",
        f"{LIVE}  running      nightly",
        f"{LOST}  lost         nightly",
        f"{FAILED}  failed 2     train",
        f"{DONE}  completed    nightly",
    ]


def test_ls_json_gives_raw_numbers_and_no_summary(home: Path) -> None:
    listed = {run["run_id"]: run for run in json.loads(jobmeter(home, "ls", "--json").out)}
    assert listed[DONE]["folder"] == str(home / "runs" / "2026-11" / DONE)
    assert [run["status"] for run in listed.values()] == ["killed", "running", "lost", "failed", "completed"]
    assert listed[DONE]["headline"]["cpu_seconds"]["value"] == 45.678901
    assert listed[DONE]["wall_seconds"] == 20.0
    assert listed[DONE]["started_at"] == "2026-11-15T09:50:01.123Z"
    assert listed[DONE]["disk_bytes"] > 1000
    assert listed[EVIL]["command"] == ["rm", "caf\udce9\x07", "\u202eevil"]
    assert all("summary" not in run for run in listed.values())
    assert "exit_code" not in listed[LIVE]


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (["--filter", "status=failed"], [FAILED]),
        (["--filter", "wall>10s or status=lost"], [LOST, DONE]),
        (["--filter", "not make"], [EVIL, FAILED]),
        (["--filter", "proc_peak_pss_total>=1GiB"], [FAILED]),
        (["--filter", "started>=2026-11-15T12:00 and tag.k=v"], [LIVE]),
        (["--sort", "wall"], [DONE, FAILED, EVIL, LIVE, LOST]),
        (["--sort", "wall", "--reverse"], [EVIL, FAILED, DONE, LIVE, LOST]),
        (["--sort", "started", "--reverse", "-n", "1"], [DONE]),
        (["-n", "2"], [EVIL, LIVE]),
        (["-n", "0"], [EVIL, LIVE, LOST, FAILED, DONE]),
    ],
)
def test_ls_filters_sorts_and_limits(home: Path, arguments: list[str], ids: list[str]) -> None:
    assert [run["run_id"] for run in json.loads(jobmeter(home, "ls", "--json", *arguments).out)] == ids


def test_ls_says_how_many_more_there_are(home: Path) -> None:
    assert jobmeter(home, "ls", "-n", "2").complaint == "2 of 5 runs; -n 0 shows all\n"
    assert jobmeter(home, "ls", "-n", "1", "-f", "make").complaint == "1 shown, more match; -n 0 shows all\n"
    assert jobmeter(home, "ls", "-f", "nothing-like-it").complaint == "no run matches the filter\n"
    assert jobmeter(home, "ls").complaint == ""


def test_an_empty_home_is_no_error(tmp_path: Path) -> None:
    answer = jobmeter(tmp_path / "home", "ls")
    assert (answer.code, answer.out) == (0, b"")
    assert answer.complaint == f"no runs in {tmp_path}/home yet; record one: jobmeter run -- COMMAND\n"
    assert jobmeter(tmp_path / "home", "ls", "--json").out == b"[]\n"


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_ls_fits_the_terminal(home: Path, columns: int) -> None:
    shown = jobmeter_on_terminal(home, "ls", columns=columns, env={"NO_COLOR": "1"})
    assert b"\x1b" not in shown.out
    assert max(map(len, shown.text.splitlines())) <= columns


def test_colour_is_for_terminals_that_take_it(home: Path) -> None:
    assert b"\x1b[31mfailed 2\x1b[0m" in jobmeter_on_terminal(home, "ls").out
    assert b"\x1b" not in jobmeter_on_terminal(home, "ls", env={"TERM": "dumb"}).out
    assert b"\x1b" not in jobmeter(home, "ls").out


def test_show_tells_the_run_on_a_page(home: Path) -> None:
    answer = jobmeter(home, "show", DONE)
    assert answer.text.splitlines()[:7] == [
        "nightly: make -j4",
        f"{DONE}  app  u@node7  /home/u/src",
        "",
        "status    completed, exit code 0",
        "time      20 s, 2026-11-15 09:50:01 to 09:50:21",
        "CPU       45.7 s = 2.28 cores of 4, 57 %                     wait_cputime",
        "memory    ~700 MiB peak, 8.5 % of the cgroup limit of 8 GiB  cgroup_mem_peak",
    ]
    assert "missing   nvml: no NVIDIA driver" in answer.text


def test_show_json_has_the_documented_shape(home: Path) -> None:
    shown = json.loads(jobmeter(home, "show", DONE, "--json").out)
    documented = {
        "run_id", "job_id", "name", "project", "status", "exit_code", "command", "cwd", "host", "started_at",
        "ended_at", "wall_seconds", "headline", "summary", "limits", "provenance",
    }  # fmt: skip
    assert documented <= shown.keys()
    assert shown["summary"]["proc_peak_rss_total"] == 812646400
    assert shown["limits"] == {"memory_bytes": 8589934592, "cpus": 4.0}
    assert set(shown["headline"]["cpu_seconds"]) == {"value", "low", "high", "keys", "exact"}
    assert "signal" not in shown
    assert "steps" not in shown


def test_show_all_explains_every_number(home: Path) -> None:
    lines = jobmeter(home, "show", DONE, "--all").text.splitlines()
    assert "wait_cputime                    45.7 s  what wait_cputime means; total over the run" in lines
    assert "proc_peak_rss_total            775 MiB  what proc_rss_total means; largest over the run" in lines


def test_a_run_is_found_by_prefix_last_and_folder(home: Path) -> None:
    for name in (EVIL, EVIL[:14], "last", str(folders.folder_of(home, EVIL))):
        assert json.loads(jobmeter(home, "show", name, "--json").out)["run_id"] == EVIL


def test_a_live_run_shows_what_it_used_so_far(home: Path) -> None:
    shown = jobmeter(home, "show", LIVE).text
    assert "status    running\n" in shown
    assert "so far, since 2026-11-15 12:00:01" in shown
    assert "events    12:00:04 oom_kill: count=1\n" in shown
    assert "CPU       " in shown


@pytest.mark.parametrize("arguments", [["ls"], ["show", EVIL], ["show", EVIL, "--all"], ["logs", EVIL]])
def test_no_name_and_no_log_acts_on_the_terminal(home: Path, arguments: list[str]) -> None:
    shown = jobmeter_on_terminal(home, *arguments, env={"NO_COLOR": "1"}).text
    assert all(letter.isprintable() or letter in "\n\t" for letter in shown)


def test_logs_are_exact_in_a_pipe_and_safe_on_a_terminal(home: Path) -> None:
    assert jobmeter(home, "logs", EVIL).out == b"\x1b[31mred\x1b[0m \x1b]0;owned\x07\r\n\xff\n"
    shown = jobmeter_on_terminal(home, "logs", EVIL).text
    assert shown == "\x1b[31mred\x1b[0m \\x1b]0;owned\\x07\n\\xff\n\x1b[0m"


def test_logs_of_a_stream_that_was_not_kept_say_so(home: Path) -> None:
    answer = jobmeter(home, "logs", DONE, "--stderr")
    assert (answer.code, answer.out, answer.complaint) == (
        0,
        b"",
        "jobmeter: no stderr was captured for this run\n",
    )


def test_following_a_real_run_ends_with_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    script = "echo first; read line; echo got $line; echo bad >&2"
    job = subprocess.Popen(
        [*commands.COMMAND, "run", "--quiet", "--", "sh", "-c", script],
        env=commands.environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert job.stdout is not None
    assert job.stdin is not None
    assert job.stdout.readline() == b"first\n"
    with subprocess.Popen(
        [*commands.COMMAND, "logs", "last", "--follow"],
        env=commands.environment(home),
        stdout=subprocess.PIPE,
    ) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == b"first\n"
        job.stdin.write(b"it\n")
        job.stdin.close()
        assert sorted(follower.stdout.read().splitlines()) == [b"bad", b"got it"]
        assert follower.wait(timeout=20) == 0
    assert job.wait(timeout=20) == 0
    job.stdout.close()
    assert job.stderr is not None
    job.stderr.close()
    lines = [json.loads(line) for line in jobmeter(home, "logs", "last", "--json").text.splitlines()]
    assert sorted((line["stream"], line["text"]) for line in lines) == [
        ("stderr", "bad"),
        ("stdout", "first"),
        ("stdout", "got it"),
    ]
    stamped = jobmeter(home, "logs", "last", "--timestamps", "-n", "1", "--stdout").text
    assert stamped == f"{next(line['timestamp'] for line in lines if line['text'] == 'got it')} got it\n"


def test_pp_reads_every_file_of_a_run_and_of_con_duct(home: Path) -> None:
    files = [*folders.folder_of(home, DONE).glob("*.jsonl"), *corpus.folder("con-duct").glob("*_info.json")]
    assert len(files) >= 5
    for file in files:
        answer = jobmeter(home, "pp", "-H", str(file))
        assert (answer.code, answer.complaint) == (0, "")
    assert (
        "\n    rss        10.4 MiB\n"
        in jobmeter(home, "pp", "-H", str(corpus.folder("con-duct") / "duct_demo_usage.json")).text
    )
    assert "  wait_cputime" in jobmeter(home, "pp", str(folders.folder_of(home, DONE) / "usage.jsonl")).text


def test_measurements_lists_every_key_once(home: Path) -> None:
    listed = json.loads(jobmeter(home, "measurements", "--json").out)
    keys = [entry["key"] for entry in listed]
    assert len(keys) == len(set(keys))
    assert {
        "wait_cputime",
        "cgroup_mem_peak",
        "proc_rss",
        "ps_rss",
        "psutil_rss",
        "host_mem_available",
        "psi_cpu_some",
    } <= set(keys)
    assert all(entry["available"] is True or entry["missing"] for entry in listed)
    assert jobmeter(home, "measurements", "ps_rss").text.splitlines()[0] == "ps  available, on request"


def test_doctor_finds_this_machine_sound(home: Path) -> None:
    answer = jobmeter(home, "doctor", "--json")
    found = {line["check"]: line for line in json.loads(answer.out)}
    assert {name: line["fact"] for name, line in found.items() if line["verdict"] == "fail"} == {}
    assert answer.code == 0
    assert found["measured job"]["verdict"] == "ok"
    assert set(found) == {
        "cache", "cgroup", "clocks", "descriptors", "disk", "home", "measured job", "perf", "pidfd", "pressure", "proc",
        "python", "sqlite", "subreaper",
    }  # fmt: skip


def test_doctor_fails_where_runs_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = jobmeter(tmp_path, "doctor", "--home", "/proc/nowhere", "--json")
    failed = [line["check"] for line in json.loads(answer.out) if line["verdict"] == "fail"]
    assert failed == ["home"]
    assert answer.code == 1


def test_a_closed_pipe_ends_the_list_quietly(home: Path) -> None:
    script = f"{' '.join(commands.COMMAND)} ls --json | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], env=commands.environment(home), capture_output=True, check=True
    )
    assert done.stdout in (b"141\n", b"0\n")
    assert done.stderr == b""


def test_a_live_run_is_not_removed(home: Path) -> None:
    answer = jobmeter(home, "rm", LIVE)
    assert (answer.code, answer.complaint.splitlines()[0]) == (2, f"jobmeter: run {LIVE} is running")


def test_garbage_in_run_folders_costs_only_itself(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folders.write_run(home, run_id=DONE, seconds=1)
    month = home / "runs" / "2026-11"
    for name, data in {
        "20261115T000000Z-aaaaaa": os.urandom(5000),
        "20261115T000000Z-bbbbbb": b"\n\n[]\n{}\nnull\n",
    }.items():
        (month / name).mkdir()
        (month / name / "run.jsonl").write_bytes(data)
    (month / "20261115T000000Z-cccccc" / "run.jsonl").mkdir(parents=True)
    (month / "20261115T000000Z-dddddd").mkdir()
    os.mkfifo(month / "20261115T000000Z-dddddd" / "run.jsonl")
    (month / "stray file").write_text("x")
    (home / "runs" / "stray").write_text("x")
    listed = jobmeter(home, "ls", "-c", "id,status")
    assert listed.code == 0
    assert DONE in listed.text
    for run in json.loads(jobmeter(home, "ls", "--json").out):
        assert jobmeter(home, "show", run["run_id"]).code == 0
        assert jobmeter(home, "logs", run["run_id"]).code == 0
