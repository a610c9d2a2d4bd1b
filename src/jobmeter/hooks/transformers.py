"""Hugging Face Trainer: `Trainer(callbacks=[JobmeterCallback()])`, or `register()` and `report_to="jobmeter"`.

Rank 0 tells the metrics, which the Trainer has already averaged over the ranks; every rank tells its own
step times. `batch_size` is what was asked for, over all ranks: the last batch of an epoch may be smaller.
"""

import os
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

from jobmeter.hooks import framework
from jobmeter.hooks.complaints import Complaints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from transformers import TrainerControl, TrainerState, TrainingArguments

    from jobmeter.hooks.run import Run

NAME = "jobmeter"
_NO_PROJECT = "huggingface"
"""What `TrainingArguments.project` says when nobody set it."""


class JobmeterCallback(TrainerCallback):
    """Tell jobmeter what a Trainer logs, how long its steps take, and where its checkpoints are."""

    def __init__(self, run: "Run | None" = None, **init: Any) -> None:
        self._given = run
        self._init = init
        self._run: Run | None = None
        self._clock = framework.StepClock()

    def _open(self, args: "TrainingArguments", state: "TrainerState", model: object = None) -> "Run":
        if self._run is None:
            named = {"project": _project(args), "name": _name(args)}
            init = {key: value for key, value in named.items() if value} | self._init
            told = Complaints(strict=bool(self._init.get("strict")))
            self._run = framework.open_run(self._given, config=_config(args, model, told), **init)
        return self._run

    def on_train_begin(
        self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **more: Any
    ) -> None:
        """Open the run and note how the training is set up."""
        run = self._open(args, state, more.get("model"))
        if state.is_world_process_zero:
            run.event("training_start", {"step": state.global_step, "max_steps": state.max_steps})
        self._clock.restart()

    def on_epoch_begin(
        self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **more: Any
    ) -> None:
        """Begin the epoch's first step."""
        self._clock.restart()

    def on_step_begin(
        self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **more: Any
    ) -> None:
        """Note that the batches of the step are there."""
        self._clock.data_ready()

    def on_step_end(
        self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **more: Any
    ) -> None:
        """Tell how long the step took, on every rank."""
        seconds = self._clock.lap()
        seconds["batch_size"] = _batch_size(args, state)
        # where the Trainer is about to log this step, both make one record
        more_follows = control.should_log and state.is_world_process_zero
        self._open(args, state).log(seconds, step=state.global_step, commit=not more_follows)

    def on_log(
        self,
        args: "TrainingArguments",
        state: "TrainerState",
        control: "TrainerControl",
        logs: "Mapping[str, object] | None" = None,
        **more: Any,
    ) -> None:
        """Tell what the Trainer logs; its last row sums up the run and belongs to no step."""
        if not logs or not state.is_world_process_zero:
            return
        run = self._open(args, state, more.get("model"))
        if "train_runtime" in logs and "train_loss" in logs:
            run.summary.update(logs)
        else:
            run.log(logs, step=state.global_step)

    def on_evaluate(
        self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **more: Any
    ) -> None:
        """Leave the evaluation out of the next step's time."""
        self._clock.restart()

    def on_predict(
        self,
        args: "TrainingArguments",
        state: "TrainerState",
        control: "TrainerControl",
        metrics: "Mapping[str, object]",
        **more: Any,
    ) -> None:
        """Keep the metrics of a prediction with the run."""
        if state.is_world_process_zero:
            self._open(args, state, more.get("model")).summary.update(metrics)

    def on_save(
        self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **more: Any
    ) -> None:
        """Tell where the checkpoint is; its saving is no part of a step."""
        if state.is_world_process_zero:
            details: dict[str, object] = {"step": state.global_step}
            path = os.path.join(str(args.output_dir), f"checkpoint-{state.global_step}")
            if os.path.isdir(path):
                details["path"] = os.path.abspath(path)
            self._open(args, state).event("checkpoint", details)
        self._clock.restart()

    def on_train_end(
        self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **more: Any
    ) -> None:
        """Tell that the training is over, and which checkpoint was its best."""
        if not state.is_world_process_zero:
            return
        run = self._open(args, state)
        run.event("training_end", {"step": state.global_step})
        if state.best_model_checkpoint is not None:
            best = {"best_metric": state.best_metric, "best_model_checkpoint": state.best_model_checkpoint}
            run.summary.update(best)


def register() -> None:
    """Make `TrainingArguments(report_to="jobmeter")` known to the Trainer, and part of "all"."""
    from transformers import integrations
    from transformers.integrations import integration_utils

    if NAME in integration_utils.INTEGRATION_TO_CALLBACK:
        return
    integration_utils.INTEGRATION_TO_CALLBACK[NAME] = JobmeterCallback
    others = integration_utils.get_available_reporting_integrations

    def available() -> list[str]:
        return [*others(), NAME]

    integration_utils.get_available_reporting_integrations = available
    integrations.get_available_reporting_integrations = available


def _project(args: "TrainingArguments") -> str | None:
    project = getattr(args, "project", None)
    return None if project == _NO_PROJECT else project


def _name(args: "TrainingArguments") -> str | None:
    # older releases fill the name in from the output folder
    return None if args.run_name == args.output_dir else args.run_name


def _batch_size(args: "TrainingArguments", state: "TrainerState") -> int:
    per_device = state.train_batch_size or args.train_batch_size
    return int(per_device * args.gradient_accumulation_steps * args.world_size)


def _config(args: "TrainingArguments", model: Any, told: Complaints) -> dict[str, object]:
    """Describe the training: its arguments as they are called, the model's and the adapter's apart.

    Arguments and models are often classes of the script's own: one that cannot describe itself costs that part.
    """
    config: dict[str, object] = dict(told.attempt("describing the training's arguments", args.to_dict) or {})
    config["world_size"] = args.world_size
    parts = {
        "model_config": lambda: _plain(getattr(model, "config", None)),
        "model_peft_config": lambda: _plain(getattr(model, "peft_config", None)),
        "model_parameters": lambda: model.num_parameters() if hasattr(model, "num_parameters") else None,
    }
    for name, describe in parts.items():
        described = told.attempt(f"describing {name}", describe)
        if described is not None:
            config[name] = described
    return config


def _plain(described: Any) -> object:
    """Turn a configuration object, or the adapters' dict of them, into plain values."""
    if hasattr(described, "to_dict"):
        return described.to_dict()
    if isinstance(described, dict):
        return {name: _plain(part) for name, part in described.items()}
    return described
