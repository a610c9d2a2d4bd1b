"""Advice on a run that was really recorded, written into its config, followed by the next run and held against it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support import commands

TRAINING = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
import jobmeter

config = json.load(open(sys.argv[1]))
run = jobmeter.init(name="waits", config=config)
workers = config["num_workers"]

def load(_):
    time.sleep(0.06)

with ThreadPoolExecutor(workers or 1) as pool:
    ready = pool.map(load, range(40)) if workers else map(load, range(40))
    for step in range(40):
        began = time.monotonic()
        next(ready)
        waited = time.monotonic() - began
        time.sleep(0.01)
        run.log({"step_seconds": time.monotonic() - began, "data_seconds": waited}, step=step)
"""


def analyze(home: Path, *words: str) -> commands.Answer:
    return commands.jobmeter(home, "analyze", "last", *words, env={"COLUMNS": "80"})


def train(home: Path, script: Path, config: Path) -> None:
    done = commands.jobmeter(home, "run", "-q", "--", sys.executable, str(script), str(config))
    assert done.code == 0, done.complaint


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a training that waits for every batch."""
    folder = tmp_path_factory.mktemp("applied")
    (folder / "train.py").write_text(TRAINING)
    (folder / "config.json").write_text('{\n  "lr": 0.1,\n  "num_workers": 0\n}\n')
    train(folder / "home", folder / "train.py", folder / "config.json")
    return folder


def test_advice_is_applied_followed_and_held_against_the_next_run(folder: Path) -> None:
    home, config, new = folder / "home", folder / "config.json", folder / "new.json"
    told: dict[str, Any] = json.loads(analyze(home, "--json").text)
    (advice,) = [one for one in told["recommendations"] if one["rule"] == "more_workers"]
    assert (advice["config_path"], advice["current_value"]) == ("num_workers", 0)
    assert "followed" not in told

    done = analyze(home, "--apply", str(config), "-o", str(new), "--only", "more_workers")
    assert done.code == 0, done.complaint
    assert '-  "num_workers": 0' in done.text.splitlines()
    assert f'+  "num_workers": {advice["recommended_value"]}' in done.text.splitlines()
    assert "1 settings changed" in done.complaint
    assert json.loads(new.read_text()) == {"lr": 0.1, "num_workers": advice["recommended_value"]}

    train(home, folder / "train.py", new)
    (followed,) = json.loads(analyze(home, "--json").text)["followed"]
    assert (followed["rule"], followed["predicted"]) == ("more_workers", advice["predicted"][0])
    # the next run waits less; by how much is for the bench, a busy machine may slow it
    assert followed["actual"] < followed["predicted"]["before"]
    page = analyze(home).text
    assert "followed  more_workers (num_workers: " in page
    assert "predicted" in page


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--apply", "config.json"), "--apply does not change config.json unasked"),
        (("-o", "new.json"), "-o and --only belong to --apply"),
        (("--only", "leak"), "-o and --only belong to --apply"),
        (("--apply", "gone.json", "-o", "new.json"), "cannot read gone.json: no such file or directory"),
    ],
)
def test_what_cannot_be_applied_is_one_sentence(folder: Path, words: tuple[str, ...], sentence: str) -> None:
    done = analyze(folder / "home", *words)
    assert done.code == 2
    assert sentence in done.complaint
    assert "Traceback" not in done.complaint
