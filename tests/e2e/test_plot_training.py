"""`jobmeter plot` of trainings: recorded with the SDK, imported without times, GPUs of a monitor's log."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from support import corpus
from support.commands import jobmeter
from support.recorder import Home

JOB = """
import time
import jobmeter

run = jobmeter.init(config={"lr": 0.1})
due = time.monotonic()
for step in range(40):
    due += 0.05
    time.sleep(max(0.0, due - time.monotonic()))
    run.log({"loss": 4.0 / (step + 1), "lr": 0.1, "tokens_per_second": 1000.0}, step=step)
    if step == 20:
        run.event("checkpoint", {"step": step})
        run.event("batch_size_changed", {"from": 32, "to": 16})
run.finish()
"""


def chart(home: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(jobmeter(home, "plot", *words, "--json").text)
    return found


@pytest.fixture
def trained(home: Home, tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(JOB)
    done = home.run("-q", "--sample-interval", "0.1", sys.executable, str(tmp_path / "train.py"))
    assert done.code == 0, done.stderr
    return home.path


def test_a_training_is_drawn_over_the_time_of_its_run(trained: Path) -> None:
    found = chart(trained, "last")
    assert [made["name"] for made in found["panels"]][:4] == ["loss", "throughput", "learning_rate", "cpu"]
    loss = found["panels"][0]["lines"][0]
    assert (loss["key"], loss["source"], len(loss["values"])) == ("loss", "sdk", 40)
    assert (loss["values"][0], loss["values"][-1]) == (4.0, 0.1)
    assert 0 < loss["times"][0] < loss["times"][-1] <= found["seconds"]
    assert [mark["label"] for mark in found["marks"]] == ["checkpoint", "batch size 32 to 16"]


def test_a_metric_is_plotted_by_name_also_on_a_logarithmic_axis(trained: Path) -> None:
    found = chart(trained, "last", "--keys", "loss,lr", "--log")
    assert [(made["title"], made["logarithmic"]) for made in found["panels"]] == [
        ("loss", True),
        ("lr", True),
    ]


def test_a_metric_that_was_not_logged_is_refused(trained: Path) -> None:
    answer = jobmeter(trained, "plot", "last", "--keys", "los")
    assert answer.code == 2
    assert "key not recorded in this run: los" in answer.complaint
    assert "did you mean loss?" in answer.complaint


def test_every_kind_of_output_shows_the_training(trained: Path, tmp_path: Path) -> None:
    text = jobmeter(trained, "plot", "last").text
    assert "loss   loss (sdk)" in text
    assert "batch size 32 to 16" in text
    jobmeter(trained, "plot", "last", "-o", str(tmp_path / "run.png"), "--theme", "dark", "--width", "900")
    with Image.open(tmp_path / "run.png") as image:
        assert image.size[0] == 900
    jobmeter(trained, "plot", "last", "-o", str(tmp_path / "run.html"))
    assert '"quantity":"metric"' in (tmp_path / "run.html").read_text()


def test_steps_without_times_are_drawn_over_steps(home: Home) -> None:
    jobmeter(home.path, "import", str(corpus.folder("hf-trainer-state") / "tiny.json"))
    found = chart(home.path, "last")
    assert found["first_step"] is not None
    assert found["panels"][0]["lines"][0]["source"] == "hf_trainer"
    assert "step " in jobmeter(home.path, "plot", "last").text.splitlines()[-1]


def test_the_eight_gpus_of_a_monitor_s_log_are_eight_lines(home: Home) -> None:
    jobmeter(home.path, "import", str(corpus.folder("nvidia-smi-csv") / "gpuglasses_8gpu.csv"))
    found = chart(home.path, "last")
    assert [made["name"] for made in found["panels"]] == ["gpu_memory", "gpu_power"]
    assert [line["label"] for line in found["panels"][1]["lines"]] == [f"GPU {n}" for n in range(8)]
    assert found["panels"][0]["limits"] == [{"label": "all of a GPU", "value": 85520809984.0, "source": ""}]
