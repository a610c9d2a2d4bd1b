"""Advice that a later run followed: predicted beside actual."""

import pytest

from jobmeter.analysis import followup
from jobmeter.model.report import Prediction, Recommendation, Severity
from jobmeter.model.run import Run, Status
from jobmeter.model.view import RunView
from support import cases
from support.views import GIB


def predicted(quantity: str, after: float) -> Prediction:
    return Prediction(
        quantity=quantity, unit="u", before=2 * after, after=after, low=0.9 * after, high=1.1 * after
    )


def advice(path: str | None, value: object, *predictions: Prediction) -> Recommendation:
    return Recommendation(
        rule="num_workers",
        severity=Severity.INFO,
        title="t",
        action="a",
        impact="i",
        config_path=path,
        recommended_value=value,
        predictions=predictions,
    )


def trained(workers: object, gib: float = 4, **facts: object) -> Run:
    known: dict[str, object] = {
        "context": {"config": {"dataloader_num_workers": workers}},
        "headline": cases.headlines(memory_peak_bytes=gib * GIB),
    }
    return cases.run(**(known | facts))


def view(run: Run) -> RunView:
    return RunView(run=run, series={}, steps=cases.steps([9.0] * 3 + [0.5] * 17))


def test_what_was_predicted_stands_beside_what_came() -> None:
    advised = [advice("dataloader_num_workers", 0, predicted("memory_peak_bytes", 5.0 * GIB))]
    (one,) = followup.followed(view(trained(0)), trained(2), advised)
    assert (one.rule, one.actual, one.error_percent, one.is_kept) == ("num_workers", 4.0 * GIB, 25.0, False)
    assert one.as_record() == {
        "rule": "num_workers",
        "run_id": "20261114T000000Z-aaaaaa",
        "config_path": "dataloader_num_workers",
        "value": 0,
        "predicted": advised[0].predictions[0].as_record(),
        "actual": 4.0 * GIB,
        "error_percent": 25.0,
    }


@pytest.mark.parametrize(
    ("quantity", "actual"), [("step_seconds", 0.5), ("wall_seconds", 4.0), ("nvml_energy", None)]
)
def test_every_number_that_can_be_predicted_is_found_again(quantity: str, actual: float | None) -> None:
    advised = [advice("--num-workers", 0, predicted(quantity, 1.0))]
    found = [one.actual for one in followup.followed(view(trained(0)), trained(2), advised)]
    assert found == ([] if actual is None else [actual])


@pytest.mark.parametrize(
    ("path", "value", "now", "before"),
    [
        ("dataloader_num_workers", 0, 1, 2),
        ("dataloader_num_workers", 0, 0, 0),
        ("dataloader_num_workers", None, None, 2),
        ("PYTORCH_CUDA_ALLOC_CONF", "x", 0, 2),
        (None, 0, 0, 2),
    ],
)
def test_advice_that_was_not_followed_is_not_counted(
    path: str | None, value: object, now: object, before: object
) -> None:
    advised = [advice(path, value, predicted("memory_peak_bytes", 1.0))]
    assert followup.followed(view(trained(now)), trained(before), advised) == ()


def test_a_run_that_goes_on_has_followed_nothing_yet() -> None:
    advised = [advice("dataloader_num_workers", 0, predicted("memory_peak_bytes", 1.0))]
    assert followup.followed(view(trained(0, status=Status.RUNNING)), trained(2), advised) == ()


def limited(gib: float, cpus: float = 4.0, seconds: float | None = None) -> Run:
    slurm = {} if seconds is None else {"time_limit_seconds": seconds}
    return trained(0, limits=cases.limits(gib, cpus), context=cases.context(slurm=slurm))


@pytest.mark.parametrize(
    ("path", "value", "later", "kept"),
    [
        ("--mem", "2048M", limited(2), True),
        ("--mem", "2048M", limited(3), False),
        ("--mem", "plenty", limited(2), False),
        ("--cpus-per-task", 1, limited(16, 1.0), True),
        ("--time", "1-01:00:00", limited(16, 4.0, 90000.0), True),
        ("--time", "1-01:00:00", limited(16), False),
    ],
)
def test_requests_are_followed_by_what_was_granted(path: str, value: object, later: Run, kept: bool) -> None:
    advised = [advice(path, value, predicted("memory_peak_bytes", 4.0 * GIB))]
    found = followup.followed(view(later), limited(16, 4.0, 3600.0), advised)
    assert [one.is_kept for one in found] == [True] * kept


def test_runs_differ_in_settings_or_in_requests() -> None:
    assert followup.differs(trained(0), trained(2))
    assert followup.differs(limited(2), limited(3))
    assert not followup.differs(trained(2), trained(2))


def test_nothing_that_came_is_off_by_nothing() -> None:
    advised = [advice("dataloader_num_workers", 0, predicted("wall_seconds", 1.0))]
    (one,) = followup.followed(view(trained(0, wall_seconds=0.0)), trained(2), advised)
    assert (one.error_percent, one.as_record()["error_percent"]) == (None, None)
