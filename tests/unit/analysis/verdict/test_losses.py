"""Verdicts on how the loss went, with or without a failure."""

from math import inf, nan

import pytest

from jobmeter.analysis.verdict import court
from jobmeter.model.report import Cause, LogError, Verdict
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import Column, Steps, StepTable
from jobmeter.model.view import RunView


def decide(
    *errors: LogError, exit_code: int | None = 0, status: Status = Status.COMPLETED, **columns: list[float]
) -> Verdict:
    rows = max(map(len, columns.values()), default=0)
    table = StepTable(
        writer="steps.jsonl",
        source="sdk",
        rank=0,
        steps=tuple(range(1, rows + 1)),
        timestamps=None,
        columns={
            name: Column(None if len(v) == rows else tuple(range(len(v))), v) for name, v in columns.items()
        },
    )
    run = Run(run_id="r", job_id="r", status=status, command=("x",), exit_code=exit_code)
    return court.decide(RunView(run=run, series={}, steps=Steps((table,)), log_errors=errors))


def row(**more: object) -> LogError:
    known: dict[str, object] = {"level": "WARNING", "type": "nan_loss", "message": "loss nan"} | more
    return LogError(signature="nan_loss", **known)  # type: ignore[arg-type]


def test_a_loss_that_stays_nan_is_told_although_the_run_ended_well() -> None:
    found = decide(loss=[3.0, 2.0, nan, nan, nan])
    assert found.cause is Cause.NAN_LOSS
    assert found.sentence == "loss became NaN at step 3 and stayed so"


def test_a_single_nan_is_a_skipped_step() -> None:
    assert decide(loss=[3.0, nan, 2.0, 1.9]).cause is Cause.COMPLETED
    assert decide(loss=[3.0, 2.0, 1.9, nan]).cause is Cause.COMPLETED


def test_zero_with_a_nan_gradient_row_after_row_is_a_filtered_nan() -> None:
    assert decide(loss=[2.0, 0.0, 0.0, 0.0], grad_norm=[1.0, nan, nan, nan]).cause is Cause.NAN_LOSS
    assert decide(loss=[0.0], grad_norm=[nan]).cause is Cause.COMPLETED
    assert decide(loss=[0.0, 0.0, 0.0], grad_norm=[1.0, 1.0]).cause is Cause.COMPLETED


def test_the_loss_on_held_back_data_counts_too() -> None:
    assert decide(eval_loss=[nan, nan], lr=[0.1]).cause is Cause.NAN_LOSS


def test_rows_of_the_output_count_where_no_steps_tell() -> None:
    found = decide(row(count=4, fields={"metric": "co"}), exit_code=None, status=Status.LOST)
    assert found.sentence == "co is NaN, told 4 times and never a number again"
    assert decide(row()).sentence == "the loss is NaN, told once and never a number again"
    assert decide(row(survived=True)).cause is Cause.COMPLETED
    assert decide(row(), loss=[3.0, 2.0]).cause is Cause.COMPLETED


def test_a_job_that_stopped_for_it_says_so() -> None:
    found = decide(row(level="ERROR"), exit_code=1, status=Status.FAILED)
    assert found.sentence == "the job stopped because its loss became NaN"


def test_another_failure_comes_before_a_nan() -> None:
    other = LogError(level="ERROR", type="x", message="CUDA out of memory", signature="cuda_oom")
    assert decide(row(), other, exit_code=1, status=Status.FAILED, loss=[nan] * 4).cause is Cause.OOM_CUDA
    fault = LogError(level="ERROR", type="ValueError", message="ValueError: x", signature="exception")
    assert (
        decide(fault, exit_code=1, status=Status.FAILED, loss=[1.0] * 9 + [99.0] * 9).cause is Cause.EXCEPTION
    )


@pytest.mark.parametrize("last", [90.0, inf])
def test_a_loss_far_above_its_beginning_diverged(last: float) -> None:
    found = decide(loss=[4.0, 3.9, 3.8, 3.5, 3.4, 3.3, 3.0, 8.0, 20.0, last, last, last])
    assert found.cause is Cause.DIVERGED
    assert found.sentence.startswith("loss diverged: it began at 3.9, was 3.4 at best and ended at")


def test_a_loss_that_falls_or_is_short_or_negative_did_not() -> None:
    assert decide(loss=[4.0 - n / 10 for n in range(20)]).cause is Cause.COMPLETED
    assert decide(loss=[1.0, 50.0, 90.0]).cause is Cause.COMPLETED
    assert decide(loss=[-1.0] * 10 + [50.0] * 10).cause is Cause.COMPLETED
    assert decide(val_loss=[1.0] * 10 + [50.0] * 10).cause is Cause.COMPLETED


def test_a_run_that_goes_on_is_judged_by_its_loss() -> None:
    assert decide(exit_code=None, status=Status.RUNNING, loss=[2.0, nan, nan, nan]).cause is Cause.NAN_LOSS
