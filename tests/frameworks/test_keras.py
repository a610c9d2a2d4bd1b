"""A Keras fit (torch underneath) against Keras's own CSVLogger and batch logs."""

import json
from collections.abc import Callable

import pytest

from support.frameworks import Training

Train = Callable[..., Training]


@pytest.fixture(scope="module")
def fitted(train: Train) -> Training:
    return train("keras_fit")


def test_batches_carry_what_keras_said_after_them(fitted: Training) -> None:
    batches = json.loads((fitted.output / "batches.json").read_text())
    assert len(batches) == 12
    told = fitted.series("loss")
    assert {step: told[step] for step in range(2, 13, 2)} == {
        step: batches[step - 1] for step in range(2, 13, 2)
    }


@pytest.mark.parametrize("metric", ["loss", "mae", "val_loss", "val_mae"])
def test_epochs_carry_what_the_csv_logger_wrote(fitted: Training, metric: str) -> None:
    rows = fitted.rows("own.csv")
    told = fitted.series(metric)
    assert [told[step] for step in (4, 8, 12)] == pytest.approx(
        [float(row[metric]) for row in rows], rel=1e-6
    )


def test_the_learning_rate_follows_its_schedule(fitted: Training) -> None:
    rates = fitted.series("learning_rate")
    assert rates[12] == pytest.approx(0.1 * 0.5 ** (12 / 5), rel=1e-5)


def test_every_step_says_how_long_it_took(fitted: Training) -> None:
    assert list(fitted.series("step_seconds")) == list(range(1, 13))


def test_the_configuration_names_model_and_optimizer(fitted: Training) -> None:
    config = fitted.sdk()["config"]
    assert config["epochs"] == 3
    assert config["model"] == "line"
    assert config["model_parameters"] == 5
    assert config["optimizer"]["name"] == "sgd"


def test_a_metric_of_several_numbers_is_refused_and_the_training_goes_on(fitted: Training) -> None:
    why = "a ndarray is not one number (can only convert an array of size 1 to a Python scalar)"
    said = fitted.finished.stderr.decode().splitlines()
    assert [line for line in said if line.startswith("jobmeter: metric")] == [
        f"jobmeter: metric pair refused: {why}",
        f"jobmeter: metric val_pair refused: {why}",
    ]
    assert fitted.series("pair") == {}
