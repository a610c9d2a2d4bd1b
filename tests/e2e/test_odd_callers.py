"""Callers and folders nobody expects: closed outputs, numbers beyond every float, children that outlive the command."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.recorder import Home
from support.training import train

JOBMETER = f"{sys.executable} -m jobmeter"


def test_a_closed_stdout_is_no_reason_to_break(home: Home) -> None:
    home.run("-q", "true")
    done = subprocess.run(
        ["sh", "-c", f"{JOBMETER} ls >&-"], env=home.environ(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("number", ["1e999", "1" + "0" * 400, "NaN", "-1e309"])
def test_a_number_nobody_can_hold_costs_that_number_only(number: str, home: Home) -> None:
    home.run("-q", "true")
    (records,) = Path(home.path).glob("runs/*/*/run.jsonl")
    text = records.read_text()
    before = text.partition('"wait_cputime": ')[2].partition(",")[0]
    records.write_text(text.replace(f'"wait_cputime": {before}', f'"wait_cputime": {number}'))
    home.run("-q", "false")
    for words in ("ls", "show last", "show last --json", "ls --json"):
        done = subprocess.run(
            [sys.executable, "-m", "jobmeter", *words.split()],
            env=home.environ(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("config", ["{'n': 10**400}", "{'batch_size': 10**400, 'a': {'b': [-10**400]}}"])
def test_a_setting_nobody_can_hold_hides_no_run(config: str, home: Home) -> None:
    home.run("-q", "true")
    train(home, f"jobmeter.init(config={config}, name='odd').finish()")
    for words in ("ls", "show last", "analyze last", "size last", "rm odd", "ls"):
        done = subprocess.run(
            [sys.executable, "-m", "jobmeter", *words.split()],
            env=home.environ(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (words, done.stderr)
        assert b"Traceback" not in done.stderr


def test_what_children_use_is_not_laid_on_the_commands_time_alone(home: Home) -> None:
    burn = f"{sys.executable} -S -c 'import time\nwhile time.process_time() < 0.6: pass' & exit 0"
    done = home.run("-q", "--wait-for-children", "sh", "-c", burn)
    assert done.run["summary"]["wait_cputime"] >= 0.6
    assert done.run["wall_seconds"] >= 0.5
