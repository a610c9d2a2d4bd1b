"""A Keras fit of a line: `keras_fit.py FOLDER`; its own logs are Keras's CSVLogger and a list of batches."""

import json
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np

from jobmeter.hooks.keras import JobmeterCallback


class Batches(keras.callbacks.Callback):
    """Keep what Keras says after every batch."""

    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self.losses.append(float((logs or {})["loss"]))


class Pair(keras.metrics.Metric):  # type: ignore[misc]  # keras has no types
    """A metric that is two numbers, as a confusion matrix is many."""

    def update_state(self, *_: Any, **__: Any) -> None:
        """Keep nothing."""

    def result(self) -> Any:
        """Give both."""
        return keras.ops.ones(2)


def main(folder: str) -> None:
    """Fit 3 epochs of 5 batches with a falling learning rate."""
    keras.utils.set_random_seed(7)
    inputs = np.random.default_rng(1).normal(size=(20, 4)).astype("float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)], name="line")
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=5, decay_rate=0.5)
    model.compile(optimizer=keras.optimizers.SGD(schedule), loss="mse", metrics=["mae", Pair(name="pair")])
    batches = Batches()
    model.fit(
        inputs,
        inputs.sum(1, keepdims=True),
        batch_size=4,
        epochs=3,
        validation_split=0.2,
        verbose=0,
        callbacks=[batches, keras.callbacks.CSVLogger(f"{folder}/own.csv"), JobmeterCallback(every=2)],
    )
    Path(folder, "batches.json").write_text(json.dumps(batches.losses))


if __name__ == "__main__":
    main(sys.argv[1])
