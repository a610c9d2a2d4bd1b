"""A stock Hugging Face Trainer against its own trainer_state.json."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.frameworks import Training

Train = Callable[..., Training]


def history(training: Training) -> list[dict[str, Any]]:
    """Read what the Trainer kept of its own log."""
    kept: list[dict[str, Any]] = json.loads((training.output / "trainer_state.json").read_text())[
        "log_history"
    ]
    return kept


def own(training: Training, metric: str) -> dict[int, Any]:
    return {row["step"]: row[metric] for row in history(training) if metric in row}


@pytest.fixture(scope="module")
def called(train: Train) -> Training:
    return train("hf_trainer", "callback")


@pytest.mark.parametrize(
    "metric", ["loss", "learning_rate", "grad_norm", "eval_loss", "eval_samples_per_second"]
)
def test_the_callback_tells_what_the_trainer_logged(called: Training, metric: str) -> None:
    assert called.series(metric) == own(called, metric)


def test_losses_are_told_at_the_steps_they_were_logged(called: Training) -> None:
    assert list(called.series("loss")) == [3, 6, 9, 12]
    assert list(called.series("eval_loss")) == [6, 12]


def test_the_row_that_sums_up_is_no_step(called: Training) -> None:
    told = {name for metrics in called.told().values() for name in metrics}
    assert "train_runtime" not in told
    last = history(called)[-1]
    summary = called.sdk()["summary"]
    for name in ("train_loss", "train_runtime", "train_samples_per_second", "train_steps_per_second"):
        assert summary[name] == last[name]


def test_every_step_says_how_long_it_took(called: Training) -> None:
    seconds = called.series("step_seconds")
    assert list(seconds) == list(range(1, 13))
    assert min(seconds.values()) > 0
    assert sum(seconds.values()) <= called.sdk()["summary"]["train_runtime"]
    assert set(called.series("batch_size").values()) == {4}


def test_a_step_is_one_record_and_an_evaluation_another(called: Training) -> None:
    assert called.records() == [1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11, 12, 12]


def test_waiting_for_data_is_part_of_a_step(called: Training) -> None:
    seconds, waits = called.series("step_seconds"), called.series("data_seconds")
    assert list(waits) == list(seconds)
    assert all(0 <= waits[step] < seconds[step] for step in waits)


def test_checkpoints_are_events_that_lead_to_files(called: Training) -> None:
    checkpoints = called.events("checkpoint")
    assert [checkpoint["step"] for checkpoint in checkpoints] == [6, 12]
    assert all(Path(checkpoint["path"], "model.safetensors").exists() for checkpoint in checkpoints)


def test_the_configuration_is_that_of_trainer_and_model(called: Training) -> None:
    sdk = called.sdk()
    config = sdk["config"]
    assert config["learning_rate"] == 0.01
    assert config["per_device_train_batch_size"] == 4
    assert config["model_config"]["n_embd"] == 16
    assert config["model_parameters"] > 1000
    assert sdk["name"] == "tiny"


def test_the_best_checkpoint_and_a_prediction_are_kept_with_the_run(called: Training) -> None:
    summary = called.sdk()["summary"]
    losses = own(called, "eval_loss")
    best = min(losses, key=lambda step: losses[step])
    assert summary["best_metric"] == losses[best]
    assert summary["best_model_checkpoint"].endswith(f"checkpoint-{best}")
    assert summary["test_loss"] > 0


ODD_MODEL = """
from transformers import TrainerControl, TrainerState, TrainingArguments
from jobmeter.hooks.transformers import JobmeterCallback

class Odd:
    class config:
        def to_dict(self): raise RuntimeError("not yet built")
    config = config()
    def num_parameters(self): raise ValueError("lazy")

class Arguments(TrainingArguments):
    def to_dict(self): raise TypeError("cannot be described")

args = Arguments(output_dir="out", report_to=[], use_cpu=True)
callback = JobmeterCallback()
callback.on_train_begin(args, TrainerState(), TrainerControl(), model=Odd())
print(dict(callback._run.config))
"""


def test_a_model_that_cannot_describe_itself_does_not_stop_its_training(tmp_path: Path) -> None:
    environment = os.environ | {"JOBMETER_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", ODD_MODEL],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "{'world_size': 1}\n"
    for told in ("cannot be described", "not yet built", "lazy"):
        assert done.stderr.count(told) == 1


def test_reporting_to_all_is_reporting_to_jobmeter_too() -> None:
    script = (
        "from transformers import TrainingArguments; from jobmeter.hooks import transformers as hook; "
        "hook.register(); hook.register(); print(TrainingArguments('x', report_to='all', use_cpu=True).report_to)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "['jobmeter']\n", done.stderr


@pytest.fixture(scope="module")
def reported(train: Train) -> Training:
    """Two ranks that know jobmeter by `report_to` alone."""
    return train("hf_trainer", "report_to", launcher=("torchrun", "--standalone", "--nproc-per-node=2"))


def test_report_to_needs_no_callback_in_the_script(reported: Training) -> None:
    assert reported.series("loss", rank=0) == own(reported, "loss")


def test_every_rank_tells_its_own_step_times_and_rank_0_the_metrics(reported: Training) -> None:
    assert list(reported.series("step_seconds", rank=0)) == list(range(1, 13))
    assert list(reported.series("step_seconds", rank=1)) == list(range(1, 13))
    assert reported.series("loss", rank=1) == {}
    assert set(reported.series("batch_size", rank=1).values()) == {8}
    assert reported.events("checkpoint", rank=1) == []
