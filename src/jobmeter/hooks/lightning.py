"""Lightning and Fabric: `Trainer(logger=JobmeterLogger(), callbacks=[JobmeterCallback()])`, `Fabric(loggers=...)`.

The logger gets what a LightningModule logs, on rank 0 only, as Lightning's own loggers do. Step times come
from the callback, on every rank: a logger is not told when a step ends. Lightning counts steps from 0.
"""

import os
from typing import TYPE_CHECKING, Any

from jobmeter.hooks import framework

try:
    from lightning.fabric.utilities.rank_zero import rank_zero_only
    from lightning.pytorch.callbacks import Callback
    from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
except ModuleNotFoundError:  # the same code under the name it is distributed by alone
    from lightning_fabric.utilities.rank_zero import rank_zero_only
    from pytorch_lightning.callbacks import Callback
    from pytorch_lightning.loggers.logger import Logger, rank_zero_experiment

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.callbacks import ModelCheckpoint

    from jobmeter.hooks.run import Run


class JobmeterLogger(Logger):
    """Log to the active run, or to one of its own that begins with the first use."""

    def __init__(self, run: "Run | None" = None, *, prefix: str = "", **init: Any) -> None:
        super().__init__()
        self._given = run
        self._prefix = prefix
        self.init = init
        self._run: Run | None = None
        self._checkpoints: set[str] = set()

    def __getstate__(self) -> dict[str, object]:
        return _without_run(self)

    @property
    def name(self) -> str:
        """Give the project, which Lightning uses as a folder's name."""
        project = self.init.get("project") if self._run is None else self._run.project
        return str(project or "jobmeter")

    @property
    def version(self) -> str | None:
        """Give the run's id."""
        return None if self._run is None else self._run.id

    @property
    @rank_zero_experiment
    def experiment(self) -> "Run":
        """Give the run itself."""
        if self._run is None:
            self._run = framework.open_run(self._given, **self.init)
        return self._run

    @rank_zero_only
    def log_metrics(self, metrics: "Mapping[str, Any]", step: int | None = None) -> None:
        """Record what was logged, under the step Lightning says."""
        if self._prefix:
            metrics = {f"{self._prefix}{name}": value for name, value in metrics.items()}
        self.experiment.log(metrics, step=step)

    @rank_zero_only
    def log_hyperparams(self, params: "Mapping[str, Any] | Namespace", *args: Any, **kwargs: Any) -> None:
        """Add hyperparameters to the run's configuration, their first metrics to its steps."""
        self.experiment.config.update(params if hasattr(params, "items") else vars(params))
        metrics = args[0] if args else kwargs.get("metrics")
        if isinstance(metrics, dict):
            self.log_metrics(metrics, step=0)

    def after_save_checkpoint(self, checkpoint_callback: "ModelCheckpoint") -> None:
        """Tell where a new checkpoint is; Lightning calls this on rank 0 alone."""
        named = (checkpoint_callback.last_model_path, checkpoint_callback.best_model_path)
        present = {path for path in (*named, *checkpoint_callback.best_k_models) if path}
        # the step is Lightning's to keep: a newer release may stop telling it
        step = getattr(checkpoint_callback, "_last_global_step_saved", None)
        for path in sorted(present - self._checkpoints):
            details: dict[str, object] = {"path": os.path.abspath(path)}
            if step is not None:
                details["step"] = step
            self.experiment.event("checkpoint", details)
        self._checkpoints = present

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Note how a fit or a test ended; the run goes on, for the next one may follow."""
        if self._run is not None:
            self._run.event("training_end", {"status": status})


class JobmeterCallback(Callback):
    """Tell how long steps take, how much of it waits for data, and the size of their batches, on every rank."""

    def __init__(self, run: "Run | None" = None, **init: Any) -> None:
        self._given = run
        self._init = init
        self._run: Run | None = None
        self._clock = framework.StepClock()
        self._steps_done = 0
        self._samples: int | None = None

    def __getstate__(self) -> dict[str, object]:
        return _without_run(self)

    def on_train_start(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Open the run as the logger did, or would have on this rank."""
        if self._run is None:
            told = [logger.init for logger in trainer.loggers if isinstance(logger, JobmeterLogger)]
            self._run = framework.open_run(self._given, **(told[0] if told else {}) | self._init)
        self._steps_done = trainer.global_step
        if trainer.is_global_zero:
            self._run.event("training_start", {"step": trainer.global_step, "world_size": trainer.world_size})
        self._clock.restart()

    def on_train_batch_start(
        self, trainer: "Trainer", pl_module: "LightningModule", batch: object, batch_idx: int
    ) -> None:
        """Note that the batch is there."""
        self._clock.data_ready()

    def on_train_batch_end(
        self, trainer: "Trainer", pl_module: "LightningModule", outputs: object, batch: object, batch_idx: int
    ) -> None:
        """Tell about the step once its last batch is done: accumulated batches are one step."""
        length = framework.batch_length(batch)
        if length is not None:
            self._samples = (self._samples or 0) + length
        if trainer.global_step == self._steps_done or self._run is None:
            return
        self._steps_done = trainer.global_step
        metrics = self._clock.lap()
        if self._samples is not None:
            metrics["batch_size"] = self._samples
        self._samples = None
        step = _step(trainer)
        self._run.log(metrics, step=step, commit=not _logger_follows(trainer, step))

    def on_validation_end(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Leave the validation out of the next step's time."""
        self._clock.restart()


def _without_run(reporter: JobmeterLogger | JobmeterCallback) -> dict[str, object]:
    """Give what a spawned process needs: it opens the run anew."""
    return vars(reporter) | {"_given": None, "_run": None}


def _step(trainer: "Trainer") -> int:
    """Number the step as Lightning's loggers do: optimizer steps of one batch count once."""
    step = getattr(trainer.fit_loop.epoch_loop, "_batches_that_stepped", trainer.global_step - 1)
    return int(step)


def _logger_follows(trainer: "Trainer", step: int) -> bool:
    """Tell whether our logger is about to log this step: then both make one record."""
    every = trainer.log_every_n_steps
    is_due = every > 0 and (step + 1) % every == 0
    return (
        is_due and trainer.is_global_zero and any(isinstance(one, JobmeterLogger) for one in trainer.loggers)
    )
