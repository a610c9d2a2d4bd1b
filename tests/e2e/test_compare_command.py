"""`jobmeter compare` over trainings that were really recorded."""

import json
import sys
from pathlib import Path

import pytest

from support.commands import jobmeter, jobmeter_on_terminal
from support.recorder import Home

TRAINING = """
import sys, jobmeter
rate = float(sys.argv[2])
run = jobmeter.init(config={"lr": rate, "model": {"depth": 4}})
for step in range(50):
    run.log({"loss": 2.0 - step * rate, "batch_size": 8}, step=step)
run.finish()
"""


@pytest.fixture
def trained(home: Home, tmp_path: Path) -> tuple[Home, list[str]]:
    """Record three trainings with another learning rate each."""
    script = tmp_path / "train.py"
    script.write_text(TRAINING)
    for rate in ("0.01", "0.02", "0.03"):
        assert home.run("-q", "--", sys.executable, str(script), "--lr", rate).code == 0
    found = json.loads(jobmeter(home.path, "ls", "--json").text)
    return home, [run["run_id"] for run in reversed(found)]


def test_two_trainings_are_told_apart_by_settings_and_loss(trained: tuple[Home, list[str]]) -> None:
    home, ids = trained
    found = json.loads(jobmeter(home.path, "compare", ids[0], ids[1], "--json").text)
    assert found["runs"] == ids[:2]
    settings = {one["path"]: one["values"] for one in found["config"]}
    assert settings["lr"] == [0.01, 0.02]
    assert settings["--lr"] == ["0.01", "0.02"]
    assert "model.depth" not in settings
    loss = next(one for one in found["metrics"] if one["key"] == "loss")
    assert loss["winner"] == ids[1]
    assert loss["values"] == pytest.approx([1.51, 1.02])
    assert found["loss_at_step"][-1] == {"step": 49, "values": pytest.approx([1.51, 1.02])}


@pytest.mark.parametrize("count", [2, 3])
def test_the_page_fits_80_columns(trained: tuple[Home, list[str]], count: int) -> None:
    home, ids = trained
    answer = jobmeter_on_terminal(home.path, "compare", *ids[:count], env={"NO_COLOR": "1"})
    lines = answer.text.splitlines()
    assert answer.code == 0
    assert max(map(len, lines)) <= 80
    assert [line[0] for line in lines[:count]] == list("ABC")[:count]
    assert any(line.startswith("cpu_seconds") for line in lines)
    assert any(line.split()[:2] == ["loss", "at"] for line in lines)


@pytest.mark.parametrize("words", [("last",), ("last", "last"), ("last", "nobody")])
def test_what_cannot_be_compared_is_bad_input(
    trained: tuple[Home, list[str]], words: tuple[str, ...]
) -> None:
    answer = jobmeter(trained[0].path, "compare", *words)
    assert (answer.code, answer.out) == (2, b"")
    assert b"Traceback" not in answer.err
