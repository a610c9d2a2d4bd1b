"""Training runs as people meet them: real processes whose steps are read back by real commands."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from support.commands import jobmeter

LOOP = """
    import sys
    for row in range(40):
        print({"loss": round(4 / (row + 1), 4), "learning_rate": 1e-4, "epoch": row / 40})
"""
MAPPED = """
    import json, mmap, os, signal, sys
    folder = sys.argv[1]
    fd = os.open(folder + "/steps.jsonl", os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(fd, 1 << 20)
    room, at = mmap.mmap(fd, 1 << 20), 0
    for step in range(500):
        line = json.dumps({"step": step, "rank": 0, "source": "sdk", "metrics": {"loss": 1 / (step + 1)}})
        room[at : at + len(line) + 1] = line.encode() + b"\\n"
        at += len(line) + 1
    room[at : at + 9] = b'{"step": '
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("steps") / "home"
    jobmeter(home, "run", "-q", "--", sys.executable, "-c", textwrap.dedent(LOOP))
    return home


def read(home: Path, *arguments: str) -> str:
    done = jobmeter(home, *arguments)
    assert done.code == 0, done.complaint
    return done.text


def test_a_script_that_only_prints_has_steps(home: Path) -> None:
    shown = json.loads(read(home, "show", "last", "--json"))
    steps = shown["steps"]
    assert (steps["count"], steps["last_step"], steps["source"]) == (40, 40, "log:hf")
    assert steps["metrics"]["loss"] == {"first": 4.0, "last": 0.1, "min": 0.1, "max": 4.0}
    assert "loss 4 -> 0.1" in read(home, "show", "last")


def test_runs_are_found_and_sorted_by_what_they_logged(home: Path) -> None:
    found = json.loads(
        read(home, "ls", "--json", "--filter", "loss<0.2 steps.last_step=40", "--sort", "loss")
    )
    assert [run["steps"]["last_step"] for run in found] == [40]
    assert json.loads(read(home, "ls", "--json", "--filter", "loss>1")) == []
    assert read(home, "ls", "-c", "loss,steps.last_step").splitlines() == ["LOSS  STEP", " 0.1    40"]


def test_steps_are_printed_as_json_csv_and_a_table(home: Path) -> None:
    rows = json.loads(read(home, "steps", "last", "--json"))
    assert [row["metrics"]["loss"] for row in rows] == [round(4 / (n + 1), 4) for n in range(40)]
    table = list(csv.DictReader(io.StringIO(read(home, "steps", "last", "--csv", "-m", "loss", "-n", "2"))))
    assert [(row["step"], row["loss"]) for row in table] == [("39", "0.1026"), ("40", "0.1")]
    printed = read(home, "steps", "last", "-n", "1", "-m", "lr").splitlines()
    assert [line.split()[0] for line in printed] == ["STEP", "40"]
    assert printed[1].endswith("0.0001")


def test_an_export_carries_the_steps(home: Path) -> None:
    document = json.loads(read(home, "export", "last", "--format", "json"))
    assert (len(document["steps"]), document["run"]["steps"]["count"]) == (40, 40)
    rows = list(csv.DictReader(io.StringIO(read(home, "export", "last", "--format", "csv"))))
    losses = [row for row in rows if row["key"] == "step_loss"]
    assert (len(losses), losses[-1]["step"], losses[-1]["value"]) == (40, "40", "0.1")


@pytest.mark.parametrize("arguments", [("--rank", "9"), ("--metric", "x"), ("--json", "--csv"), ("-n", "-1")])
def test_bad_input_is_one_sentence_and_exit_code_2(home: Path, arguments: tuple[str, ...]) -> None:
    done = jobmeter(home, "steps", "last", *arguments)
    assert done.code == 2
    assert done.complaint.startswith("jobmeter: ")
    assert "Traceback" not in done.complaint


def test_a_writer_killed_in_the_middle_of_a_line_loses_that_line_only(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = jobmeter(home, "run", "-q", "--", "true")
    assert done.code == 0
    (folder,) = (home / "runs").glob("*/*")
    script = textwrap.dedent(MAPPED)
    died = subprocess.run([sys.executable, "-c", script, str(folder)], env=os.environ, check=False)
    assert died.returncode == -signal.SIGKILL
    assert (folder / "steps.jsonl").stat().st_size == 1 << 20
    shown = json.loads(read(home, "show", "last", "--json"))
    assert (shown["steps"]["count"], shown["steps"]["last_step"]) == (500, 499)
    assert "unreadable_lines" not in shown["provenance"]["dropped"]


def test_a_log_that_the_next_run_overwrote_keeps_its_losses_from_the_first(tmp_path: Path) -> None:
    """`jobmeter run -- train > train.log` twice, indexed late: the second's losses are not the first's."""
    home, log = tmp_path / "home", tmp_path / "train.log"
    for loss in ("3.25", "1.50"):
        printing = f"for n in range(40): print({{'loss': {loss} - n / 1000, 'epoch': n / 10}})"
        with log.open("wb") as out:
            words = [sys.executable, "-m", "jobmeter", "run", "-q", "--name", loss, "--home", str(home)]
            subprocess.run([*words, sys.executable, "-c", printing], stdout=out, check=True)
    listed = {row["name"]: row for row in json.loads(read(home, "ls", "--json"))}
    assert listed["1.50"]["steps"]["metrics"]["loss"]["first"] == 1.5
    assert "steps" not in listed["3.25"]
    shown = jobmeter(home, "logs", listed["3.25"]["run_id"])
    assert (shown.code, shown.text) == (2, "")
    assert shown.complaint.splitlines()[0] == (
        f"jobmeter: stdout went to {log}, which was overwritten since: its lines are not this run's"
    )
    assert read(home, "logs", listed["1.50"]["run_id"]) == log.read_text()
