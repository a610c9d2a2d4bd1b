"""Scripts that know nothing of jobmeter: what they print, read back, against the framework's own log.

Frameworks print fewer digits than they keep: each number is compared as the framework rounded it.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from jobmeter.model.steps import Step
from jobmeter.model.view import Event
from jobmeter.service import index
from support.frameworks import Training

Train = Callable[..., Training]


def read(training: Training) -> tuple[list[Step], list[Event]]:
    """Give steps and events as every command that shows them finds them."""
    with index.open_index(training.finished.home, path=training.output.parent / "index.db") as opened:
        opened.refresh()
        tables = opened.ask(lambda store: store.steps(training.folder.name))
        events = opened.ask(lambda store: store.events(training.folder.name))
    return [step for table in tables for step in table.rows()], list(events)


def found(training: Training, metric: str) -> dict[int, Any]:
    """Give one metric by step as it was found in what the script printed."""
    steps = [step for step in read(training)[0] if metric in step.metrics]
    assert all(step.source.startswith("log:") for step in steps)
    return {step.step: step.metrics[metric] for step in steps}


def kept_by_trainer(training: Training, metric: str) -> dict[int, Any]:
    history = json.loads((training.output / "trainer_state.json").read_text())["log_history"]
    return {row["step"]: float(f"{row[metric]:.4g}") for row in history if metric in row}


@pytest.mark.parametrize(
    "metric",
    [
        "loss",
        "learning_rate",
        "grad_norm",
        "epoch",
        "eval_loss",
        "eval_samples_per_second",
        "eval_steps_per_second",
    ],
)
def test_a_stock_trainer_prints_its_log(train: Train, metric: str) -> None:
    trained = train("hf_trainer")
    assert found(trained, metric) == kept_by_trainer(trained, metric)


def test_the_summary_of_a_stock_trainer_is_read(train: Train) -> None:
    trained = train("hf_trainer")
    (summary,) = [event.details for event in read(trained)[1] if event.type == "summary"]
    history = json.loads((trained.output / "trainer_state.json").read_text())["log_history"]
    for name in ("train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss"):
        assert summary[name] == float(f"{history[-1][name]:.4g}")


@pytest.mark.parametrize("metric", ["train_loss", "lr", "samples_per_second"])
def test_a_lightning_bar_shows_every_step(train: Train, metric: str) -> None:
    fitted = train("lightning_fit", "tqdm")
    rows = fitted.rows("own/version_0/metrics.csv")
    # the bar shows three digits
    own = {int(row["step"]): float(row[metric]) for row in rows if row[metric]}
    assert found(fitted, metric) == pytest.approx(own, rel=5e-3)


def test_a_lightning_bar_shows_validation_and_speed(train: Train) -> None:
    fitted = train("lightning_fit", "tqdm")
    rows = fitted.rows("own/version_0/metrics.csv")
    own = [float(row["val_loss"]) for row in rows if row["val_loss"]]
    assert found(fitted, "val_loss") == pytest.approx(dict(zip((7, 15), own, strict=True)), rel=5e-3)
    assert min(found(fitted, "it/s").values()) > 0


def test_a_lightning_bar_drawn_by_rich_ends_with_the_last_step(train: Train) -> None:
    fitted = train("lightning_fit")
    last = [row for row in fitted.rows("own/version_0/metrics.csv") if row["train_loss"]][-1]
    assert found(fitted, "train_loss") == {15: pytest.approx(float(last["train_loss"]), abs=5e-4)}
    assert found(fitted, "lr") == {15: pytest.approx(float(last["lr"]), abs=5e-4)}
    assert list(found(fitted, "it/s")) == [15]


@pytest.mark.parametrize(
    ("metric", "own"), [("loss", "loss"), ("lr", "lr"), ("samples/s", "samples_per_second")]
)
def test_a_bare_loop_prints_its_steps(train: Train, metric: str, own: str) -> None:
    looped = train("torch_loop")
    kept = {int(row["step"]): float(row[own]) for row in looped.rows("own.csv")}
    assert found(looped, metric) == pytest.approx(kept, rel=1e-6, abs=5e-7)


@pytest.mark.parametrize(
    ("job", "words", "last_step", "loss"),
    [
        ("hf_trainer", (), 12, 3.907),
        ("hf_trainer", ("callback",), 12, 3.9073944),
        ("lightning_fit", ("tqdm",), 15, 0.804),
        ("lightning_fit", ("logger",), 15, 0.8039716),
        ("torch_loop", (), 19, 1.435011),
        ("torch_loop", ("watch",), 19, 1.4350106),
    ],
)
def test_show_tells_loss_rate_and_speed_however_they_came(
    train: Train, job: str, words: tuple[str, ...], last_step: int, loss: float
) -> None:
    steps = train(job, *words).shown()["steps"]
    assert steps["last_step"] == last_step
    assert steps["metrics"]["loss"]["last"] == pytest.approx(loss, rel=1e-6)
    assert steps["metrics"]["lr"]["last"] > 0
    assert steps["steps_per_second"] > 0


def test_show_tells_the_throughput_the_trainer_summed_up(train: Train) -> None:
    trained = train("hf_trainer", "callback")
    history = json.loads((trained.output / "trainer_state.json").read_text())["log_history"]
    results = trained.shown()["results"]
    assert results["train_samples_per_second"] == history[-1]["train_samples_per_second"]
    assert results["train_steps_per_second"] == history[-1]["train_steps_per_second"]
