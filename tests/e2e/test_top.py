"""`jobmeter top` on runs that really go on: in a real terminal, in a pipe, of a home and of a server."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import commands, ptys, server
from support.recorder import wait_for

EVIL = "train\x1b]0;owned\x07\x1b[31m"
TRAINING = """
import sys, time
import jobmeter
run = jobmeter.init(config={"max_steps": 100_000})
held = bytearray(b"x") * (64 << 20)
for step in range(100_000):
    run.log({"loss": 2 / (step + 1)}, step=step)
    print(f"the loop is at {step}", flush=True)
    time.sleep(0.05)
"""
RULES = """
[channels.nobody]
url = "http://127.0.0.1:9/"
allow = ["127.0.0.0/8"]
[rules.memory-high]
key = "memory"
value = "32MiB"
for = "0.2s"
"""
QUICK = ("--capture", "all", "--sample-interval", "0.1s", "--report-interval", "0.2s")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep a training and a sleeper running, and an alert firing."""
    home = tmp_path_factory.mktemp("top") / "home"
    home.mkdir(mode=0o700)
    (home / "alerts.toml").write_text(RULES)
    script = home.parent / "train.py"
    script.write_text(TRAINING)
    jobs = [start(home, "--name", EVIL, *QUICK, "--", sys.executable, str(script))]
    try:
        # the newest stands first: which that is must not depend on who is scheduled first
        wait_for(lambda: list(home.glob("runs/*/*/run.jsonl")), seconds=60)
        jobs.append(start(home, "--name", "sleeper", *QUICK, "--", "sleep", "600"))
        wait_for(lambda: is_told(home), seconds=60)
        yield home
    finally:
        for job in jobs:
            job.send_signal(signal.SIGTERM)
        for job in jobs:
            job.wait(30)


def start(home: Path, *words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*commands.COMMAND, "run", "-q", *words],
        env=commands.environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def is_told(home: Path) -> bool:
    found = board(home)
    return (
        len(found["lines"]) == 2
        and bool(found["alerts"])
        and any("loss" in one for one in found["lines"].values())
    )


def board(home: Path) -> dict[str, Any]:
    done = commands.jobmeter(home, "top", "--json")
    assert done.code == 0, done.complaint
    found: dict[str, Any] = json.loads(done.text)
    return found


def watching(home: Path, *words: str, **more: str) -> ptys.Screen:
    environ = commands.environment(home, **({"TERM": "xterm-256color"} | more))
    return ptys.Screen([*commands.COMMAND, "top", *words], environ, home.parent)


def test_in_a_pipe_it_is_one_plain_look(home: Path) -> None:
    done = commands.jobmeter(home, "top")
    assert done.code == 0, done.complaint
    assert "\x1b" not in done.text
    lines = done.text.splitlines()
    assert lines[0].startswith("2 running")
    assert lines[1].split()[:4] == ["RUN", "STATUS", "HOST", "TIME"]
    (training,) = (line for line in lines if "train" in line and "running" in line)
    assert re.search(r"running +\S+ +\d+:\d\d +[━─]{12} +\d+ % +\d:\d\d:\d\d +\d+(\.\d+)? MiB", training)
    assert "█" in training
    (alert,) = (line for line in lines if "memory-high" in line)
    assert "train" in alert


def test_json_has_the_same(home: Path) -> None:
    found = board(home)
    living = found["living"]
    assert living["runs"] == 2
    (training,) = (run for job in living["jobs"] for run in job["runs"] if run["name"] == EVIL)
    lines = found["lines"][training["run_id"]]
    assert set(lines) == {"memory", "cpu", "loss"}
    assert max(lines["memory"]["values"]) > 64 << 20
    assert lines["memory"]["last"] > 64 << 20
    (sleeper,) = (run for job in living["jobs"] for run in job["runs"] if run["name"] == "sleeper")
    assert {"steps", "wall_seconds", "verdict", "project"}.isdisjoint(sleeper)  # absent, and not null


def test_where_nothing_runs_the_command_to_type_is_told(tmp_path: Path) -> None:
    done = commands.jobmeter(tmp_path / "home", "top")
    assert (done.code, done.text.splitlines()[1]) == (0, "nothing runs now: jobmeter run -- make -j4")


def test_runs_are_walked_through_opened_and_left_by_keys(home: Path) -> None:
    shown = watching(home, "--interval", "0.5")
    try:
        before = shown.settings()
        shown.expect("2 running", 30)
        shown.expect("memory-high", 30)
        shown.type("j\r")  # the newest stands first
        shown.expect("the loop is at", 30)
        shown.type("\x1b")
        shown.expect("PROGRESS", 30)
        shown.type("k\r")
        shown.expect("no output so far", 30)
        shown.type("q")
        assert shown.wait(30) == 0
        assert b"\x1b]0;owned" not in shown.seen
        assert shown.settings() == before
    finally:
        shown.close()


def test_what_is_shown_moves_with_the_run(home: Path) -> None:
    shown = watching(home, "--interval", "0.5")
    try:
        shown.expect("2 running", 30)
        shown.type("j\r")
        first = int(shown.expect(r"the loop is at \d+", 30).split()[-1])
        wait_for(lambda: int(shown.expect(r"the loop is at \d+", 30).split()[-1]) > first + 20, seconds=60)
        shown.type("\x03")
        assert shown.wait(30) == 0
    finally:
        shown.close()


def test_a_small_window_is_no_reason_to_fail(home: Path) -> None:
    shown = watching(home, "--interval", "0.5")
    try:
        shown.expect("2 running", 30)
        shown.resize(6, 24)
        shown.resize(50, 160)
        shown.expect("STATUS", 30)
        shown.type("q")
        assert shown.wait(30) == 0
    finally:
        shown.close()


def test_a_server_is_watched_by_its_address(home: Path) -> None:
    with server.serving(home) as served:
        done = commands.jobmeter(home, "top", "--server", served.url, env={"JOBMETER_TOKEN": served.token})
        assert done.code == 0, done.complaint
        assert done.text.splitlines()[0] == f"2 running · {served.url}"
        assert "sleeper" in done.text
        refused = commands.jobmeter(
            home, "top", "--server", served.url, env={"JOBMETER_TOKEN": "jm_" + "x" * 40}
        )
        assert refused.code == 2
        assert "wants a token" in refused.complaint
        shown = watching(home, "--server", served.url, "--interval", "0.5", JOBMETER_TOKEN=served.token)
        try:
            shown.expect("2 running", 30)
            shown.type("j\r")
            shown.expect("the loop is at", 30)
            served.stop()
            shown.expect("cannot be reached", 30)
            shown.type("q")
            assert shown.wait(30) == 0
        finally:
            shown.close()
    gone = commands.jobmeter(home, "top", "--server", served.url)
    assert gone.code == 2
    assert "cannot be reached" in gone.complaint


def test_without_the_package_it_says_what_to_install(home: Path) -> None:
    hidden = "import sys; sys.modules['textual'] = None; from jobmeter.__main__ import start; start()"
    shown = ptys.Screen(
        [sys.executable, "-c", hidden, "top"], commands.environment(home) | {"TERM": "xterm"}, home.parent
    )
    try:
        shown.expect(re.escape("pip install 'jobmeter[top]'"), 30)
        assert shown.wait(30) == 2
    finally:
        shown.close()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--interval", "0"), "--interval 0 is out of range"),
        (("--server", "ftp://example.org"), "not a server's address"),
        (("--server", "http://example.org"), "unencrypted"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    done = commands.jobmeter(tmp_path / "home", "top", *words)
    assert done.code == 2
    assert sentence in done.complaint
    assert "Traceback" not in done.complaint
