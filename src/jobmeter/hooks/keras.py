"""Keras 3: `model.fit(..., callbacks=[JobmeterCallback()])`.

Keras reports the mean since the epoch began, not the loss of a batch; that is what the steps carry. A step is
one call of `train_function` (`steps_per_execution` batches); steps count from 1 and go on over epochs. Reading
a metric waits for the device: `every=N` reads every Nth step only.
"""

from typing import TYPE_CHECKING, Any

from keras import ops
from keras.callbacks import Callback

from jobmeter.hooks import framework

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmeter.hooks.run import Run


class JobmeterCallback(Callback):
    """Tell jobmeter the metrics of batches and epochs, the learning rate and the time of steps."""

    def __init__(self, run: "Run | None" = None, *, every: int = 1, **init: Any) -> None:
        super().__init__()
        self._given = run
        self._every = max(1, every)
        self._init = init
        self._run: Run | None = None
        self._clock = framework.StepClock()
        self._step = 0

    def on_train_begin(self, logs: "Mapping[str, Any] | None" = None) -> None:
        """Open the run and note how the training is set up."""
        if self._run is None:
            self._run = framework.open_run(self._given, config=self._config(), **self._init)
        self._run.event("training_start", {"step": self._step})

    def on_epoch_begin(self, epoch: int, logs: "Mapping[str, Any] | None" = None) -> None:
        """Begin the epoch's first step."""
        self._clock.restart()

    def on_train_batch_begin(self, batch: int, logs: "Mapping[str, Any] | None" = None) -> None:
        """Note that the batch is there."""
        self._clock.data_ready()

    def on_train_batch_end(self, batch: int, logs: "Mapping[str, Any] | None" = None) -> None:
        """Tell about the step."""
        self._step += 1
        metrics = self._clock.lap()
        if self._step % self._every == 0:
            metrics |= _numbers(logs) | self._learning_rate()
        if self._run is not None:
            self._run.log(metrics, step=self._step)

    def on_epoch_end(self, epoch: int, logs: "Mapping[str, Any] | None" = None) -> None:
        """Tell the epoch's metrics, validation among them, at its last step."""
        if self._run is not None:
            self._run.log(_numbers(logs) | self._learning_rate() | {"epoch": epoch}, step=self._step)

    def on_train_end(self, logs: "Mapping[str, Any] | None" = None) -> None:
        """Keep the last epoch's metrics with the run."""
        if self._run is not None:
            self._run.event("training_end", {"step": self._step})
            self._run.summary.update(_numbers(logs))

    def _learning_rate(self) -> dict[str, object]:
        rate = getattr(getattr(self.model, "optimizer", None), "learning_rate", None)
        return {} if rate is None else {"learning_rate": ops.convert_to_numpy(rate)}

    def _config(self) -> dict[str, object]:
        config: dict[str, object] = dict(self.params or {})
        config["model"] = self.model.name
        if self.model.built:
            config["model_parameters"] = self.model.count_params()
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None:
            config["optimizer"] = optimizer.get_config()
        return config


def _numbers(logs: "Mapping[str, Any] | None") -> dict[str, object]:
    """Take the values out of the tensors of any backend; what is not one number the run refuses by name."""
    return {name: ops.convert_to_numpy(value) for name, value in (logs or {}).items()}
