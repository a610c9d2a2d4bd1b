"""A Lightning fit against Lightning's own CSVLogger."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.frameworks import Training

Train = Callable[..., Training]


def own(training: Training, metric: str) -> dict[int, float]:
    rows = training.rows("own/version_0/metrics.csv")
    return {int(row["step"]): float(row[metric]) for row in rows if row[metric]}


@pytest.fixture(scope="module")
def logged(train: Train) -> Training:
    return train("lightning_fit", "logger")


@pytest.mark.parametrize("metric", ["train_loss", "lr", "samples_per_second", "val_loss", "epoch"])
def test_the_logger_tells_what_the_csv_logger_wrote(logged: Training, metric: str) -> None:
    assert logged.series(metric) == pytest.approx(own(logged, metric), rel=1e-7)


def test_every_step_of_the_fit_is_told(logged: Training) -> None:
    assert list(logged.series("train_loss")) == list(range(16))
    assert list(logged.series("step_seconds")) == list(range(16))
    assert set(logged.series("batch_size").values()) == {4}


def test_a_step_is_one_record_and_a_validation_another(logged: Training) -> None:
    assert logged.records() == [0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15]


def test_hyperparameters_become_the_configuration(logged: Training) -> None:
    assert logged.sdk()["config"]["rate"] == 0.05


def test_a_checkpoint_is_an_event_that_leads_to_a_file(logged: Training) -> None:
    checkpoints = logged.events("checkpoint")
    assert [checkpoint["step"] for checkpoint in checkpoints] == [8, 16]
    assert Path(checkpoints[-1]["path"]).exists()


def test_the_end_of_the_fit_is_told(logged: Training) -> None:
    assert logged.events("training_end") == [{"status": "success"}]


def test_fabric_logs_through_the_same_logger(train: Train) -> None:
    fabric = train("fabric_loop")
    losses = {int(row["step"]): float(row["loss"]) for row in fabric.rows("own.csv")}
    assert fabric.series("train/loss") == losses
    assert fabric.series("train/hp/best") == {0: 0.5}


def test_a_fabric_run_is_named_and_configured_by_its_logger(train: Train) -> None:
    fabric = train("fabric_loop")
    sdk = fabric.sdk()
    assert (sdk["project"], sdk["config"]) == ("lines", {"rate": 0.1})
    run_id = fabric.folder.name
    assert fabric.finished.stdout.decode().splitlines()[-1] == f"lines {run_id} {run_id}"
