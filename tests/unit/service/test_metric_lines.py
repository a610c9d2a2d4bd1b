"""One metric over steps, for charts."""

import math
import random
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import Number, Step, StepSeries
from jobmeter.service import metric_lines
from jobmeter.stores import Batch, Store, memory

RUN = Run(run_id="r", job_id="r", status=Status.COMPLETED, command=())


def store_of(**by_writer: list[Step]) -> Store:
    store = memory.open_store(Path())
    store.append(Batch(run=RUN, final=True, fields={}, steps=by_writer))
    return store


def step(
    number: int, at: float | None = 0.0, *, source: str = "sdk", rank: int = 0, **metrics: Number
) -> Step:
    return Step(timestamp=at, step=number, rank=rank, source=source, metrics=metrics)


def line(store: Store, metric: str = "loss", points: int = 1000, **wanted: object) -> StepSeries:
    asked: dict[str, object] = {"rank": None, "source": None} | wanted
    return metric_lines.read(store, RUN, metric, points=points, **asked)  # type: ignore[arg-type]


def test_a_metric_is_found_by_its_name_or_its_quantity() -> None:
    store = store_of(a=[step(1, 5.0, train_loss=2.0), step(2, 6.0, other=1), step(3, 7.0, train_loss=1.0)])
    found = line(store)
    assert found == StepSeries(
        metric="train_loss", source="sdk", rank=0, steps=(1, 3), values=(2.0, 1.0), timestamps=(5.0, 7.0)
    )
    assert line(store, "train_loss") == found


def test_what_a_resumed_loop_repeated_is_replaced() -> None:
    numbers = [1, 2, 3, 4, 3, 4, 5]
    store = store_of(a=[step(n, float(t), loss=t) for t, n in enumerate(numbers)])
    assert (line(store).steps, line(store).values) == ((1, 2, 3, 4, 5), (0, 1, 4, 5, 6))


def test_a_resume_in_another_process_continues_the_line() -> None:
    first = [step(n, float(n), loss=n) for n in (1, 2, 3)]
    second = [step(n, 100.0 + n, loss=10 * n) for n in (3, 4)]
    assert line(store_of(z=first, a=second)).values == (1, 2, 30, 40)


def test_two_that_write_at_once_are_not_mixed() -> None:
    trainer = [step(n, float(n), loss=n) for n in range(10)]
    fork = [step(n, 5.0 + n, loss=-1) for n in range(3)]
    assert line(store_of(a=fork, b=trainer)).values == tuple(range(10))


def test_an_evaluation_that_reports_an_earlier_step_replaces_no_loss() -> None:
    store = store_of(a=[step(1, loss=1), step(2, loss=2), step(1, eval_loss=9), step(3, loss=3)])
    assert line(store).steps == (1, 2, 3)


def test_the_best_source_counts_unless_another_is_named() -> None:
    store = store_of(a=[step(1, source="log:hf", loss=9)], b=[step(1, loss=1), step(1, rank=2, loss=5)])
    assert line(store).values == (1,)
    assert line(store, source="log:hf").values == (9,)
    assert line(store, rank=2).values == (5,)


def test_an_unknown_metric_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="run r has no metric accuracy") as error:
        line(store_of(a=[step(1, loss=1, lr=2)]), "accuracy")
    assert error.value.hint == "it has loss, lr"


@pytest.mark.parametrize("points", [5, 50, 997])
def test_a_thinned_line_keeps_its_ends_and_its_extremes(points: int) -> None:
    draw = random.Random(7)
    values = [draw.gauss(0, 1) for _ in range(20_000)]
    values[12_345], values[777] = 99.0, -99.0
    found = line(store_of(a=[step(n, loss=value) for n, value in enumerate(values)]), points=points)
    assert len(found.steps) <= points
    assert (found.steps[0], found.steps[-1]) == (0, 19_999)
    assert (max(found.values), min(found.values)) == (99.0, -99.0)
    assert list(found.steps) == sorted(found.steps)
    assert all(values[step] == value for step, value in zip(found.steps, found.values, strict=True))


def test_a_single_nan_survives_thinning() -> None:
    values = [1.0] * 10_000
    values[5_000], values[5_001], values[5_002] = math.nan, -3.0, math.inf
    found = line(store_of(a=[step(n, loss=value) for n, value in enumerate(values)]), points=100)
    assert 5_000 in found.steps
    assert 5_001 in found.steps


def test_steps_without_a_time_make_a_line_without_times() -> None:
    assert line(store_of(a=[step(1, None, loss=1)])).timestamps is None
    assert line(store_of(a=[step(1, None, loss=1), step(2, 3.0, loss=1)])).timestamps == (None, 3.0)
