"""Memory by batch size: a line through what was seen, with an interval that says how far to trust it."""

import pytest

from jobmeter.analysis import fits
from jobmeter.model.run import Status
from jobmeter.model.view import RunView
from support import cases, views
from support.views import GIB

HOST, GPU = "memory_peak_bytes", "gpu_memory_peak_bytes"


def trained(batch: int, gib: float, run_id: str = "r", **facts: object) -> dict[str, object]:
    config = {"per_device_train_batch_size": batch, "dataloader_num_workers": 2}
    return {
        "run_id": run_id,
        "headline": cases.headlines(memory_peak_bytes=gib * GIB),
        "context": {"config": config},
    } | facts


def test_two_batches_make_a_line() -> None:
    line = fits.line([(8, 10.0), (16, 16.0)])
    assert line is not None
    assert (line.fixed, line.slope) == (4.0, 0.75)
    assert line.at(12) == fits.Estimate(13.0, 13.0 * 0.97, 13.0 * 1.03)
    # twice as far away as the two points are from one another
    half = 0.03 * 3**0.5 * 28.0
    far = line.at(32)
    assert (far.value, far.low, far.high) == pytest.approx((28.0, 28.0 - half, 28.0 + half))


def test_points_that_scatter_widen_the_interval_and_distance_does_too() -> None:
    line = fits.line([(8, 10.0), (8, 11.0), (16, 16.0), (16, 17.5)])
    assert line is not None
    near, far = line.at(16), line.at(64)
    assert near.high - near.value > 0.03 * near.value
    assert (far.high - far.value) / far.value > 0.1
    many = fits.line([(x, 10.0 + x + (x % 3)) for x in range(1, 30)])
    assert many is not None
    assert 0 < many.scatter < 1.2
    assert many.at(15).high - many.at(15).value > 1.7 * many.scatter


@pytest.mark.parametrize(
    "points",
    [
        [],
        [(8, 10.0)],
        [(8, 10.0), (8, 12.0)],
        [(8, 12.0), (16, 10.0)],
        [(8, 10.0), (16, float("nan"))],
        [(8, 1.0), (0, 1.0)],
    ],
)
def test_without_two_batches_or_without_a_rise_there_is_no_line(points: list[tuple[float, float]]) -> None:
    assert fits.line(points) is None


def test_a_line_never_begins_below_nothing() -> None:
    line = fits.line([(8, 1.0), (16, 10.0)])
    assert line is not None
    assert line.fixed == 0.0
    assert line.slope == pytest.approx((8 * 1 + 16 * 10) / (8 * 8 + 16 * 16))


def test_a_line_from_the_origin_that_misses_its_points_says_so() -> None:
    line = fits.line([(4, 30.0), (8, 80.0)])
    assert line is not None
    seen = line.at(8)
    assert seen.value == pytest.approx(76.0)
    assert seen.low < 80.0 < seen.high


def test_the_largest_batch_within_a_limit_leaves_room_for_the_interval() -> None:
    line = fits.line([(8, 10.0), (16, 16.0)])
    assert line is not None
    assert line.largest(line.at(32).high) == 32
    assert line.largest(28.0) == 30
    assert line.largest(1.0) == 0
    rough = fits.line([(8, 10.0), (8, 11.0), (16, 16.0), (16, 17.5)])
    assert rough is not None
    assert rough.at(rough.largest(30.0)).high <= 30.0


def test_earlier_runs_of_the_same_settings_are_taken_together() -> None:
    other_workers = trained(
        64, 90, context={"config": {"per_device_train_batch_size": 64, "dataloader_num_workers": 0}}
    )
    history = (
        cases.run(**trained(8, 10)),
        cases.run(**trained(4, 99, status=Status.FAILED)),
        cases.run(**other_workers),
    )
    view = RunView(run=cases.run(**trained(16, 16)), series={}, history=history)
    line = fits.by_batch(view, HOST)
    assert line is not None
    assert [batch for batch, _ in line.points] == [8.0, 16.0]


def test_batches_that_changed_within_a_run_are_told_apart() -> None:
    memory = views.gauge(
        "cgroup_mem_unreclaimable",
        [(second, (2 if second < 20 else 6 if second < 40 else 4) * GIB) for second in range(1, 60)],
    )
    events = (
        cases.changed(0, 2),
        cases.changed(19.5, 8),
        cases.changed(39.5, 4),
        cases.changed(58.5, 1),
        cases.changed(59, "auto"),
    )
    view = RunView(run=cases.run(), series={("cgroup_mem_unreclaimable", ""): memory}, events=events)
    line = fits.by_batch(view, HOST)
    assert line is not None
    assert line.points == ((2.0, 2.0 * GIB), (4.0, 4.0 * GIB), (8.0, 6.0 * GIB))


def test_changes_without_memory_or_of_no_size_tell_nothing() -> None:
    view = RunView(run=cases.run(), series={}, events=(cases.changed(1, 2), cases.changed(2, True)))
    assert fits.by_batch(view, GPU) is None


@pytest.mark.parametrize(
    ("facts", "batch"),
    [
        ({"context": {"config": {"batch_size": 4}}}, 4.0),
        ({"context": {"config": {"batch_size": 0}}}, None),
        ({"steps": cases.step_summary(batch_size=(16, 16))}, 16.0),
        ({"steps": cases.step_summary(batch_size=(8, 16))}, None),
        ({"steps": cases.step_summary(batch_size=(0, 0))}, None),
        ({"steps": cases.step_summary()}, None),
        ({}, None),
    ],
)
def test_the_batch_size_of_a_run(facts: dict[str, object], batch: float | None) -> None:
    assert fits.batch_of(cases.run(**facts)) == batch
