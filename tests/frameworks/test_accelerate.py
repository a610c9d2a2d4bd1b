"""A loop under Accelerate, alone and as two processes, against what it logged."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.frameworks import Training

Train = Callable[..., Training]
TORCHRUN = ("torchrun", "--standalone", "--nproc-per-node=2")


def own(training: Training, metric: str) -> dict[int, Any]:
    rows = json.loads((training.output / "own.json").read_text())
    return {step: row[metric] for step, row in enumerate(rows)}


@pytest.mark.parametrize("metric", ["train/loss", "lr"])
def test_a_registered_tracker_tells_what_was_logged(train: Train, metric: str) -> None:
    training = train("accelerate_loop")
    assert training.series(metric) == own(training, metric)
    assert len(training.series(metric)) == 6


def test_the_project_and_the_configuration_are_those_given(train: Train) -> None:
    sdk = train("accelerate_loop").sdk()
    assert (sdk["project"], sdk["name"]) == ("lines", "line")
    assert sdk["config"] == {"rate": 0.1, "layers": 1}


def test_of_two_processes_the_main_one_alone_logs(train: Train) -> None:
    training = train("accelerate_loop", launcher=TORCHRUN)
    assert training.series("train/loss", rank=0) == own(training, "train/loss")
    assert training.told(rank=1) == {}
