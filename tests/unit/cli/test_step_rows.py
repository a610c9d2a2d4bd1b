"""A training in one line."""

import pytest

from jobmeter.cli.render.rows import Row
from jobmeter.cli.render.screen import Style
from jobmeter.cli.render.step_rows import step_rows
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import MetricSummary, StepSummary


def rows(steps: StepSummary | None = None, **facts: object) -> list[Row]:
    run = Run(run_id="r", job_id="r", status=Status.COMPLETED, command=(), steps=steps, **facts)  # type: ignore[arg-type]
    return list(step_rows(run))


def summary(count: int = 1200, last_step: int = 1199, **metrics: MetricSummary) -> StepSummary:
    return StepSummary(
        count=count, last_step=last_step, source="sdk", steps_per_second=1.2, metrics=dict(metrics)
    )


LOSS = MetricSummary(first=2.45, last=0.32, low=0.28, high=2.5)


def test_steps_are_one_tidy_line() -> None:
    assert rows(summary(loss=LOSS)) == [Row("steps", "1,200  loss 2.45 -> 0.32 (best 0.28)  1.2 it/s", "sdk")]


def test_a_loop_that_logs_every_tenth_step_says_where_it_stands() -> None:
    assert rows(summary(120, 1200, loss=LOSS))[0].body.startswith("120 to step 1,200  loss ")


def test_a_loss_that_is_nan_stands_out() -> None:
    (row,) = rows(summary(loss=MetricSummary(first=2.0, last="NaN", low=1.5, high=2.0, not_finite=9)))
    assert (row.body, row.style) == ("1,200  loss 2 -> NaN (best 1.5)  1.2 it/s", Style.BAD)


def test_the_best_accuracy_is_the_largest() -> None:
    accuracy = MetricSummary(first=0.1, last=0.8, low=0.1, high=0.9)
    assert rows(summary(accuracy=accuracy))[0].body == "1,200  accuracy 0.1 -> 0.8 (best 0.9)  1.2 it/s"


def test_a_slow_loop_is_told_by_the_time_a_step_takes() -> None:
    slow = StepSummary(count=5, last_step=5, source="log:hf", steps_per_second=0.4)
    assert rows(slow) == [Row("steps", "5  2.5 s/it", "log:hf")]


@pytest.mark.parametrize(
    ("ranks", "world", "body", "style"),
    [
        ((0, 1, 2, 3), 4, "all 4", Style.PLAIN),
        ((0, 1, 2, 5), 8, "0-2, 5 of 8; never seen: 3-4, 6-7", Style.WARN),
        ((0, 1, 7), None, "0-1, 7", Style.PLAIN),
    ],
)
def test_ranks_that_never_appeared_are_named(
    ranks: tuple[int, ...], world: int | None, body: str, style: Style
) -> None:
    assert rows(ranks=ranks, world_size=world) == [Row("ranks", body, style=style)]


def test_what_the_job_said_of_itself_is_shown_and_cleaned() -> None:
    (row,) = rows(results={"best\x1b": 0.25, "note": "fine", **{f"k{n}": n for n in range(9)}})
    assert row.body == "best\\x1b 0.25  note fine  k0 0  k1 1  k2 2  k3 3  and 5 more, see --json"


def test_a_run_that_logged_nothing_has_no_row() -> None:
    assert rows() == []


def test_ranks_of_other_recorders_are_not_missing() -> None:
    run = Run(run_id="r", job_id="j", status=Status.COMPLETED, command=(), ranks=(2,), world_size=4)
    others = [
        Run(run_id=f"r{rank}", job_id="j", status=Status.COMPLETED, command=(), ranks=(rank,))
        for rank in (0, 1)
    ]
    assert list(step_rows(run, others)) == [
        Row("ranks", "2 of 4; elsewhere in the job: 0-1; never seen: 3", style=Style.WARN)
    ]


def test_what_data_held_back_came_to_stands_below() -> None:
    eval_loss = MetricSummary(first=2.5, last=0.4, low=0.4, high=2.5)
    found = rows(summary(loss=LOSS, eval_loss=eval_loss))
    assert [row.body for row in found[1:]] == ["eval_loss 2.5 -> 0.4"]


def test_ends_that_read_the_same_are_said_once() -> None:
    flat = MetricSummary(first=3.9071, last=3.9072, low=3.9071, high=3.9072)
    assert rows(summary(loss=flat))[0].body == "1,200  loss 3.907  1.2 it/s"


def test_more_records_than_steps_are_called_records() -> None:
    assert rows(summary(605, 599, loss=LOSS))[0].body.startswith("605 records to step 599  loss ")
