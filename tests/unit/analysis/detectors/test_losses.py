"""Losses that are no number, that went up for good, that stand still."""

from math import inf, nan

import numpy as np
import pytest

from jobmeter.analysis import losses
from jobmeter.analysis.detectors import loss_diverged, loss_nan, loss_plateau
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Status
from jobmeter.model.steps import Column, Step, Steps, StepTable
from support import curves, views

STEPS = 400


def falling(
    count: int = STEPS, *, start: float = 4.0, end: float = 1.0, noise: float = 0.05
) -> curves.Values:
    return end + (start - end) * np.exp(-np.arange(count) / (count / 8)) + curves.noise(count, noise)


def training(values: curves.Values, *, name: str = "loss", rank: int = 0, **more: curves.Values) -> Steps:
    times = np.arange(1, len(values) + 1)
    return curves.training(times, rank=rank, **{name: values}, **more)


def nans(values: curves.Values, *, status: Status = Status.COMPLETED, **more: curves.Values) -> list[Finding]:
    return list(loss_nan.detect(curves.run(steps=training(values, **more), status=status)))


# loss_nan


def test_a_loss_that_is_nan_to_the_end_is_critical_from_its_first_step_on() -> None:
    [found] = nans([2.0, 1.5, 1.25, nan, nan, nan, nan])
    assert found.severity is Severity.CRITICAL
    assert (
        found.sentence == "loss is no number from step 4 on, 4 of 7 values; the last value before it was 1.25"
    )
    assert found.figures == {"step": 4, "last_step": 7, "count": 4, "at_end": 1, "rank_count": 1}
    assert found.begin == curves.STARTED + 4


def test_a_loss_that_never_was_a_number_says_so() -> None:
    [found] = nans([nan, nan])
    assert found.sentence.endswith("no value before it")


def test_an_infinite_loss_is_none_either() -> None:
    assert nans([2.0, 1.0, inf, inf, inf])[0].figures["step"] == 3


def test_a_step_that_a_loss_scaler_skipped_is_fine() -> None:
    assert nans([2.0, nan, 1.9, 1.8, *([1.7] * 300), nan, nan, 1.6]) == []
    assert nans([2.0, 1.9, 1.8, 1.7, nan]) == []


def test_the_last_step_of_a_job_that_failed_is_not() -> None:
    [found] = nans([2.0, 1.9, 1.8, 1.7, nan], status=Status.FAILED)
    assert found.figures["step"] == 5


def test_infinite_gradients_of_the_warm_up_are_fine() -> None:
    assert nans([2.0] * 30, grad_norm=[inf, nan, inf, *([1.0] * 27)]) == []


def test_a_stretch_it_came_back_from_is_a_warning() -> None:
    [found] = nans([2.0, 1.9, nan, nan, nan, nan, 1.8, 1.7])
    assert found.severity is Severity.WARNING
    assert found.sentence.startswith("loss was no number from step 3 to 6 and came back")


def test_single_ones_again_and_again_are_a_warning() -> None:
    values = np.full(100, 1.5)
    values[5:90:10] = nan
    [found] = nans(values)
    assert found.sentence.startswith("loss was no number 9 times between step 6 and 86")


def test_a_loss_of_zero_without_a_gradient_is_a_nan_left_out() -> None:
    [found] = nans([2.0, 1.5, 0.0, 0.0, 0.0], grad_norm=[1.0, 1.0, nan, nan, nan])
    assert found.figures["step"] == 3
    assert nans([2.0, 1.5, 1.2, 1.0, 0.0], grad_norm=[1.0, 1.0, 1.0, 1.0, nan]) == []
    assert nans([0.0] * 5, grad_norm=[1.0] * 5) == []


def test_one_evaluation_that_ends_in_nan_is_enough() -> None:
    [found] = nans([2.0, 1.5, 1.0], eval_loss=[2.0, 1.5, nan])
    assert found.key == "eval_loss"


def test_many_ranks_are_one_finding_by_the_first_of_them() -> None:
    late = training([1.0, 1.0, 1.0, nan, nan, nan])
    soon = training([1.0, 1.0, nan, nan, nan, nan], rank=1)
    [found] = loss_nan.detect(curves.run(steps=Steps((*late.tables, *soon.tables))))
    assert (found.rank, found.figures["step"], found.figures["rank_count"]) == (1, 3, 2)


def test_what_a_resumed_loop_took_again_does_not_count() -> None:
    told = [(1, 2.0), (2, nan), (3, nan), (4, nan), (2, 1.5), (3, 1.2), (4, 1.0)]
    rows = [
        Step(timestamp=None, step=step, rank=0, source="sdk", metrics={"loss": value}) for step, value in told
    ]
    view = curves.run(steps=views.steps(*rows))
    assert list(loss_nan.detect(view)) == []
    [loss] = losses.told(view.steps)
    assert loss.steps.tolist() == [1, 2, 3, 4]
    assert loss.moment(0) is None


def test_the_sdk_is_believed_before_a_log() -> None:
    log = curves.training([1, 2, 3], source="log:generic", loss=[nan, nan, nan])
    sdk = training([1.0, 1.0, 1.0])
    view = curves.run(steps=Steps((*log.tables, *sdk.tables)))
    assert list(loss_nan.detect(view)) == []
    csv = curves.training([1, 2, 3], source="csv", loss=[nan, nan, nan])
    assert len(list(loss_nan.detect(curves.run(steps=Steps((*log.tables, *csv.tables)))))) == 1


def test_a_loss_told_only_where_the_loop_went_back_is_none() -> None:
    table = StepTable(
        writer="steps.jsonl",
        source="sdk",
        rank=0,
        steps=[1, 2, 1, 2],
        timestamps=None,
        columns={"loss": Column([1], [nan])},
    )
    assert list(losses.told(Steps((table,)))) == []


# loss_diverged


def diverged(values: curves.Values, **more: curves.Values) -> list[Finding]:
    return list(loss_diverged.detect(curves.run(steps=training(values, **more))))


def test_a_loss_that_explodes_is_critical() -> None:
    [found] = diverged(np.append(falling(300), np.geomspace(1.0, 1e6, 100)))
    assert found.severity is Severity.CRITICAL
    assert found.figures["best"] == pytest.approx(1.0, abs=0.1)
    assert 300 <= int(found.figures["step"]) <= 400


def test_a_loss_that_gave_back_what_it_had_gained_is_a_warning() -> None:
    [found] = diverged(np.append(falling(300), np.full(100, 3.5) + curves.noise(100, 0.05)))
    assert found.severity is Severity.WARNING
    assert found.sentence.startswith("loss began at 3.")
    assert "ended at 3.5" in found.sentence


def test_a_loss_that_only_grows_never_learned() -> None:
    [found] = diverged(np.geomspace(2.0, 1e9, 12))
    assert found.severity is Severity.CRITICAL


def test_a_loss_that_becomes_infinite_has_no_last_figure() -> None:
    [found] = diverged([*falling(40), *np.geomspace(2, 1e300, 10), *([inf] * 20)])
    assert "last" not in found.figures
    assert found.sentence.endswith("ended at infinity")


def test_negative_losses_count_too() -> None:
    values = np.append(np.linspace(0.0, -5.0, 200), np.full(100, -1.0)) + curves.noise(300, 0.05)
    assert len(diverged(values)) == 1


@pytest.mark.parametrize(
    "values",
    [
        falling(),
        falling(noise=0.5),
        np.full(STEPS, 0.1) + np.abs(curves.noise(STEPS, 0.1)),
        np.append(np.append(falling(200), np.full(10, 50.0)), falling(200, start=1.0)),
        np.append(falling(390, end=0.01, noise=0.001), np.full(10, 0.03)),
        np.append(falling(300, start=0.5, end=0.45, noise=0.005), np.full(100, 0.5)),
        np.array([2.0, 1.0, 9.0]),
        np.full(STEPS, inf),
        np.ones(STEPS),
    ],
    ids=[
        "falling",
        "noisy",
        "flat",
        "a spike",
        "a little at the end",
        "little gained",
        "few",
        "inf",
        "constant",
    ],
)
def test_silent(values: curves.Values) -> None:
    assert diverged(values) == []


def test_without_a_loss_there_is_nothing_to_say() -> None:
    only_evaluated = training(np.geomspace(1, 1e9, 40), name="eval_loss")
    for detector in (loss_diverged, loss_plateau, loss_nan):
        assert list(detector.detect(curves.run())) == []
    assert list(loss_diverged.detect(curves.run(steps=only_evaluated))) == []


# loss_plateau


def plateau(values: curves.Values) -> list[Finding]:
    return list(loss_plateau.detect(curves.run(steps=training(values))))


def test_a_loss_that_stands_still_for_half_of_the_steps_is_told() -> None:
    values = np.append(np.linspace(4.0, 1.0, 200), np.ones(200)) + curves.noise(400, 0.02)
    [found] = plateau(values)
    assert found.severity is Severity.INFO
    assert 180 <= int(found.figures["step"]) <= 220
    assert found.figures["still_ratio"] == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize(
    "values",
    [
        np.linspace(4.0, 1.0, 400) + curves.noise(400, 0.05),
        np.ones(400) + curves.noise(400, 0.1),
        np.ones(400),
        np.append(np.linspace(4.0, 1.0, 300), np.ones(100)) + curves.noise(400, 0.02),
        np.append(falling(300), np.full(100, 3.5)),
        np.append(falling(300), np.full(100, inf)),
        falling(60),
        np.append(np.linspace(4.0, 2.0, 390), np.linspace(1.0, 0.0, 10)),
    ],
    ids=["falls on", "never fell", "constant", "short", "diverged", "infinite", "few", "falls at the end"],
)
def test_no_plateau(values: curves.Values) -> None:
    assert plateau(values) == []
