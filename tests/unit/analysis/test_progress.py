"""Steps as they went forward."""

import numpy as np

from jobmeter.analysis import progress
from jobmeter.model.steps import Step, Steps
from support import curves, views
from support.curves import STARTED


def step(number: int, seconds: float | None, source: str = "sdk", **metrics: float) -> Step:
    stamp = None if seconds is None else STARTED + seconds
    return Step(timestamp=stamp, step=number, rank=0, source=source, metrics=metrics)


def test_the_loop_itself_is_believed_before_files_and_logs() -> None:
    told = [
        curves.training(np.arange(20.0), source=source).tables[0] for source in ("log:hf", "wandb", "sdk")
    ]
    found = progress.told(Steps(tuple(told)))
    assert found is not None
    assert found.source == "sdk"
    assert progress.told(Steps(tuple(told[:2]))).source == "wandb"  # type: ignore[union-attr]


def test_the_lowest_rank_speaks_for_all() -> None:
    told = [curves.training(np.arange(20.0), rank=rank).tables[0] for rank in (3, 0, 1)]
    assert progress.told(Steps(tuple(told))).rank == 0  # type: ignore[union-attr]


def test_what_a_resumed_loop_replaced_is_left_out() -> None:
    rows = [step(number, 1.0 * number) for number in range(1, 21)]
    rows += [step(number, 100.0 + number) for number in range(11, 31)]
    found = progress.told(views.steps(*rows))
    assert found is not None
    assert found.steps.tolist() == list(range(1, 31))
    assert found.times[10] == STARTED + 111


def test_steps_without_a_clock_or_written_at_once_are_left_out() -> None:
    assert progress.told(views.steps(*(step(number, None) for number in range(20)))) is None
    mixed = [step(number, number if number % 2 else None) for number in range(40)]
    assert progress.told(views.steps(*mixed)).steps.tolist() == list(range(1, 40, 2))  # type: ignore[union-attr]
    sparse = [step(number, 1.0 if number < 3 else None) for number in range(40)]
    assert progress.told(views.steps(*sparse)) is None
    assert progress.told(views.steps(*(step(number, 5.0) for number in range(40)))) is None
    assert progress.told(Steps()) is None


def test_a_metric_comes_with_its_own_times_in_base_units() -> None:
    rows = [
        step(number, number, **({"step_time_ms": 250.0} if number % 5 == 0 else {})) for number in range(40)
    ]
    found = progress.told(views.steps(*rows))
    assert found is not None
    name, times, values = progress.column(found, "step_seconds")  # type: ignore[misc]
    assert name == "step_time_ms"
    assert (times - STARTED).tolist() == [0, 5, 10, 15, 20, 25, 30, 35]
    assert set(values.tolist()) == {0.25}
    assert progress.column(found, "tokens_per_second") is None


def test_a_metric_of_every_step_needs_no_rows() -> None:
    found = progress.told(curves.training(np.arange(20.0), tokens_per_second=[*([5.0] * 19), np.nan]))
    assert found is not None
    _, times, values = progress.column(found, "tokens_per_second")  # type: ignore[misc]
    assert (len(times), values.tolist()) == (19, [5.0] * 19)
