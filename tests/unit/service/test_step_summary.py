"""What a run's steps come to when several tell of them."""

import math

from jobmeter.model.run import Run, Status
from jobmeter.model.steps import MetricSummary, Number, Step, StepSummary
from jobmeter.service import step_summary
from jobmeter.stores import Batch, StepStatistics, memory

RUN = Run(run_id="r", job_id="r", status=Status.COMPLETED, command=())


def told(**by_writer: list[Step]) -> list[StepStatistics]:
    store = memory.MemoryStore()
    store.append(Batch(run=RUN, final=True, fields={}, steps=by_writer))
    return store.step_statistics("r")


def step(
    number: int, source: str = "sdk", *, rank: int = 0, at: float | None = None, **metrics: Number
) -> Step:
    return Step(
        timestamp=float(number) if at is None else at, step=number, rank=rank, source=source, metrics=metrics
    )


def summary(**by_writer: list[Step]) -> StepSummary:
    found = step_summary.summarise(told(**by_writer))
    assert found is not None
    return found


def test_no_steps_have_no_summary() -> None:
    assert step_summary.summarise([]) is None


def test_the_sdk_is_believed_before_a_file_and_a_file_before_a_log() -> None:
    log = [step(n, "log:hf", loss=9.0, lr=1.0, grad_norm=5.0) for n in range(50)]
    file = [step(n, "hf_trainer", loss=8.0, lr=2.0) for n in range(40)]
    sdk = [step(n, loss=7.0) for n in range(3)]
    found = summary(a=log, b=file, c=sdk)
    assert (found.source, found.count, found.last_step) == ("sdk", 3, 2)
    assert {name: (one.last, one.source) for name, one in found.metrics.items()} == {
        "loss": (7.0, ""),
        "lr": (2.0, "hf_trainer"),
        "grad_norm": (5.0, "log:hf"),
    }


def test_of_two_parsers_the_one_that_found_a_loss_leads() -> None:
    bars = [step(n, "log:tqdm", **{"it/s": 3.0}) for n in range(900)]
    rows = [step(n, "log:hf", loss=1.0) for n in range(0, 900, 100)]
    found = summary(a=bars, b=rows)
    assert (found.source, found.count, found.metrics["steps_per_second"].source) == ("log:hf", 9, "log:tqdm")


def test_metrics_go_by_the_name_of_their_quantity_in_its_unit() -> None:
    found = summary(a=[step(1, train_loss=2.0, learning_rate=0.1, step_time_ms=250.0, own=4)])
    assert {name: one.last for name, one in found.metrics.items()} == {
        "loss": 2.0,
        "lr": 0.1,
        "own": 4,
        "step_seconds": 0.25,
    }


def test_two_names_of_one_quantity_stay_apart() -> None:
    found = summary(a=[step(1, loss=2.0), step(2, loss=1.0), step(2, train_loss=1.5)])
    assert {name: one.last for name, one in found.metrics.items()} == {"loss": 1.0, "train_loss": 1.5}


def test_a_loss_that_became_nan_is_not_hidden() -> None:
    found = summary(a=[step(1, loss=2.0), step(2, loss=0.5), step(3, loss=math.nan)])
    assert found.metrics["loss"] == MetricSummary(first=2.0, last="NaN", low=0.5, high=2.0, not_finite=1)


def test_a_process_that_went_on_where_another_ended_is_counted_on() -> None:
    first = [step(n, at=float(n), loss=float(10 - n)) for n in range(5)]
    second = [step(n, at=100.0 + n, loss=float(n)) for n in range(3, 6)]
    found = summary(b=first, a=second)
    assert (found.count, found.last_step) == (8, 5)
    assert (found.metrics["loss"].first, found.metrics["loss"].last) == (10.0, 5.0)
    assert found.steps_per_second == 1.0


def test_the_lowest_rank_tells_for_all() -> None:
    found = summary(a=[step(1, rank=1, loss=5.0), step(1, rank=0, loss=4.0), step(2, rank=0, loss=3.0)])
    assert (found.rank, found.count, found.metrics["loss"].last) == (0, 2, 3.0)


def test_ranks_are_named_only_where_there_are_several() -> None:
    alone = told(a=[step(1, loss=1.0)])
    several = told(a=[step(1, loss=1.0), step(1, rank=3, loss=1.0)])
    assert step_summary.ranks(RUN, alone) == ()
    assert step_summary.ranks(RUN, several) == (0, 3)


def test_steps_without_a_time_have_no_pace() -> None:
    untimed = [Step(timestamp=None, step=n, rank=0, source="sdk", metrics={"loss": 1.0}) for n in range(3)]
    assert summary(a=untimed).steps_per_second is None
