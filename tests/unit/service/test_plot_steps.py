"""What a training logged, in its plot: loss, pace and rate over time, ranks behind the first, steps without times."""

from dataclasses import replace
from math import inf, nan

import pytest
from tests.support import views
from tests.support.views import STARTED, event

from jobmeter.model.panel import Panel, Quantity, Role
from jobmeter.model.run import Provenance
from jobmeter.model.steps import StepSeries, StepSummary
from jobmeter.model.view import RunView
from jobmeter.service import plot_steps, plotting
from jobmeter.service.plot_source import Metric, Told


def metric(
    quantity: str, values: list[float], *, rank: int = 0, name: str = "", clock: bool = True
) -> Metric:
    times = tuple(STARTED + 0.5 * n for n in range(len(values))) if clock else None
    series = StepSeries(
        metric=name or quantity,
        source="sdk",
        rank=rank,
        steps=tuple(range(10, 10 + len(values))),
        values=tuple(values),
        timestamps=times,
    )
    return Metric(quantity, series)


def bare(**facts: object) -> RunView:
    return views.view([], (), started_at=None, wall_seconds=None, **facts)


def panels(*metrics: Metric, view: RunView | None = None, logarithmic: bool = False) -> dict[str, Panel]:
    told = Told(metrics=metrics)
    chart = plotting.describe(view or views.build_run(), told=told, logarithmic=logarithmic)
    return {made.name: made for made in chart.panels}


def test_a_training_begins_with_its_loss_its_pace_and_its_rate() -> None:
    found = panels(
        metric("loss", [3.0, 1.0]), metric("tokens_per_second", [50.0, 60.0]), metric("lr", [1e-4, 2e-4])
    )
    assert list(found)[:4] == ["loss", "throughput", "learning_rate", "cpu"]


def test_the_loss_is_drawn_over_the_time_all_panels_share() -> None:
    line = panels(metric("loss", [3.0, 2.0, 1.0], name="train/loss"))["loss"].lines[0]
    assert (line.key, line.source, line.role) == ("train/loss", "sdk", Role.MAIN)
    assert line.times == (0.0, 0.5, 1.0)
    assert line.values == (3.0, 2.0, 1.0)


def test_the_best_loss_is_marked_not_the_largest() -> None:
    made = panels(metric("loss", [3.0, 0.5, 1.0]))["loss"]
    assert [(peak.label, peak.value, peak.seconds) for peak in made.peaks] == [("best", 0.5, 0.5)]


def test_the_best_accuracy_is_the_largest() -> None:
    made = panels(metric("accuracy", [0.1, 0.9, 0.8]))["loss"]
    assert (made.title, made.peaks[0].value) == ("accuracy", 0.9)


def test_the_loss_of_an_evaluation_stands_beside_that_of_the_training() -> None:
    made = panels(metric("loss", [3.0, 2.0]), metric("eval_loss", [3.1, 2.1]))["loss"]
    assert [(line.key, line.role) for line in made.lines] == [
        ("loss", Role.MAIN),
        ("eval_loss", Role.OTHER),
    ]
    assert made.lines[1].figure == "best 2.1"


def test_the_first_rank_is_strong_and_the_others_are_pale_and_named_together() -> None:
    made = panels(*(metric("loss", [3.0, 2.0], rank=rank) for rank in range(4)))["loss"]
    assert [(line.label, line.role) for line in made.lines] == [
        ("rank 0", Role.MAIN),
        ("rank 1", Role.PEER),
        ("rank 2", Role.PEER),
        ("rank 3", Role.PEER),
    ]
    assert made.peers == "ranks 1-3"


def test_the_noise_of_other_ranks_is_folded_into_its_mean() -> None:
    noisy = [1.0, 3.0] * 2000
    first, other = panels(metric("loss", noisy), metric("loss", noisy, rank=1))["loss"].lines
    assert (first.low is None, other.low is None) == (False, True)
    assert (len(other.values), set(other.values)) == (250, {2.0})


def test_ranks_with_holes_between_them_are_counted() -> None:
    made = panels(*(metric("loss", [3.0, 2.0], rank=rank) for rank in (0, 3, 7)))["loss"]
    assert made.peers == "2 other ranks"


def test_ranks_that_were_left_out_are_said() -> None:
    told = Told(metrics=(metric("loss", [3.0, 2.0]),), ranks_left_out=448)
    assert plotting.describe(views.build_run(), told=told).notes[0] == "448 further ranks are not drawn"


@pytest.mark.parametrize(
    ("values", "bottom", "top"),
    [
        ([4.0, 1.0], 0.0, 4.0),
        ([4.0, 3.0], 2.92, 4.0),
        ([2.0, 2.0], 0.0, 2.0),
        ([1.0, -1.0], -1.16, 1.0),
        ([0.0, 0.0], 0.0, 1.0),
    ],
)
def test_the_axis_of_a_loss_begins_where_its_changes_can_be_seen(
    values: list[float], bottom: float, top: float
) -> None:
    made = panels(metric("loss", values))["loss"]
    assert (made.bottom, made.top) == (pytest.approx(bottom), pytest.approx(top))


def test_negative_losses_have_an_axis_that_is_not_empty() -> None:
    made = panels(metric("loss", [-1.0, -3.0]))["loss"]
    assert made.bottom < -3.0
    assert made.top > -1.0


def test_a_logarithmic_axis_is_drawn_only_when_asked_for_and_for_metrics_only() -> None:
    values = metric("loss", [10.0, 0.1]), metric("tokens_per_second", [5.0, 6.0])
    assert not panels(*values)["loss"].logarithmic
    asked = panels(*values, logarithmic=True)
    assert (asked["loss"].logarithmic, asked["loss"].bottom) == (True, 0.1)
    assert not asked["throughput"].logarithmic
    assert not asked["cpu"].logarithmic


def test_what_is_not_above_0_is_a_gap_on_a_logarithmic_axis() -> None:
    made = panels(metric("loss", [10.0, -1.0, 0.0, 1.0]), logarithmic=True)["loss"]
    assert made.lines[0].values == (10.0, None, None, 1.0)


def test_a_loss_that_is_not_finite_is_a_gap_and_the_moment_it_began_is_marked() -> None:
    told = Told(metrics=(metric("loss", [3.0, nan, inf, 1.0]),))
    chart = plotting.describe(views.build_run(), told=told)
    assert chart.panels[0].lines[0].values == (3.0, None, None, 1.0)
    assert [(mark.label, mark.seconds, mark.severe) for mark in chart.marks] == [("loss nan", 0.5, True)]


def test_a_loss_beyond_what_can_be_drawn_is_a_gap() -> None:
    made = panels(metric("loss", [3.0, 1e308, 1.0]))["loss"]
    assert (made.lines[0].values, made.top) == ((3.0, None, 1.0), 3.0)


def test_metrics_are_shown_in_base_units() -> None:
    made = panels(metric("loss", [2.0, 1.0]), metric("step_seconds", [500.0, 250.0], name="ms/step"))[
        "throughput"
    ]
    assert (made.title, made.quantity) == ("time per step", Quantity.SECONDS)
    assert made.lines[0].values == (0.5, 0.25)


def test_the_pace_is_told_by_the_times_of_steps_where_nothing_else_tells_it() -> None:
    made = panels(metric("loss", [3.0, 2.0, 1.0]))["throughput"]
    assert made.lines[0].values == (None, 2.0, 2.0)
    assert made.lines[0].source == "by the times of sdk"


def test_steps_without_times_are_drawn_over_steps() -> None:
    told = Told(metrics=(metric("loss", [3.0, 2.0, 1.0], clock=False),))
    view = bare(
        events=[event(0, "checkpoint", step=11), event(0, "checkpoint", step=99), event(0, "start")],
        provenance=Provenance(origin="hf_trainer"),
        steps=StepSummary(count=3, last_step=12),
    )
    chart = plotting.describe(view, told=told)
    assert (chart.first_step, chart.seconds) == (10, 2)
    assert [made.name for made in chart.panels] == ["loss"]
    assert chart.panels[0].lines[0].times == (0.0, 1.0, 2.0)
    assert [(mark.label, mark.seconds) for mark in chart.marks] == [("checkpoint", 1.0)]
    assert chart.facts == ("completed, exit 0", "to step 12", "measured by hf_trainer")
    assert chart.notes == ()


def test_steps_without_times_beside_samples_are_named_not_drawn() -> None:
    told = Told(metrics=(metric("loss", [3.0, 2.0], clock=False),))
    chart = plotting.describe(views.build_run(), told=told)
    assert "loss" not in {made.name for made in chart.panels}
    assert chart.notes[0] == "the steps have no times, so they cannot be drawn beside what was measured"


def test_an_imported_log_with_times_is_drawn_without_a_single_sample() -> None:
    told = Told(metrics=(metric("loss", [3.0, 2.0, 1.0]),))
    chart = plotting.describe(bare(), told=told)
    assert (chart.first_step, chart.seconds) == (None, 1.0)
    assert [made.name for made in chart.panels] == ["loss", "throughput"]
    assert chart.notes == ()


def test_the_end_of_an_imported_run_may_not_be_known() -> None:
    from jobmeter.model.run import Status

    view = bare(status=Status.LOST, exit_code=None, provenance=Provenance(origin="log"))
    chart = plotting.describe(view, told=Told(metrics=(metric("loss", [3.0, 2.0], clock=False),)))
    assert chart.facts[0] == "its end is not known"


def test_a_metric_can_be_asked_for_by_name_and_has_a_panel_of_its_own() -> None:
    told = Told(
        metrics=(metric("grad_norm", [3.0, 2.0]), metric("loss", [1.0, 2.0])), names=("grad_norm", "loss")
    )
    chart = plotting.describe(views.build_run(), keys=("grad_norm", "loss", "cgroup_cputime"), told=told)
    assert [made.title for made in chart.panels] == ["grad_norm", "loss", "cgroup_cputime"]


def test_a_metric_nobody_logged_is_refused_with_what_was() -> None:
    told = Told(metrics=(), names=("grad_norm", "loss"))
    with pytest.raises(Exception, match="key not recorded in this run: los") as refused:
        plotting.describe(views.build_run(), keys=("los",), told=told)
    assert refused.value.hint == "did you mean loss?"  # type: ignore[attr-defined]  # a UsageError has one


def test_a_loss_under_a_name_of_its_own_is_found() -> None:
    assert plot_steps.wanted({"my_loss", "lr", "tok/s"}) == {
        "loss": "my_loss",
        "tokens_per_second": "tok/s",
        "lr": "lr",
    }


def test_where_no_name_is_known_the_first_is_drawn() -> None:
    assert plot_steps.wanted({"zeta", "alpha"}) == {"loss": "alpha"}
    assert panels(metric("loss", [1.0, 2.0], name="alpha"))["loss"].title == "alpha"


@pytest.mark.parametrize(
    ("name", "quantity", "values"),
    [
        ("memory_bytes", Quantity.BYTES, (5.0, 6.0)),
        ("data_seconds", Quantity.SECONDS, (5.0, 6.0)),
        ("tokens_per_second", Quantity.PLAIN_PER_SECOND, (5.0, 6.0)),
    ],
)
def test_a_metric_asked_for_has_the_unit_of_its_quantity(
    name: str, quantity: Quantity, values: tuple[float, ...]
) -> None:
    told = Told(metrics=(metric(name, list(values)),))
    (made,) = plotting.describe(views.build_run(), keys=(name,), told=told).panels
    assert (made.quantity, made.lines[0].values) == (quantity, values)


def test_steps_at_one_and_the_same_moment_have_no_pace() -> None:
    still = metric("loss", [3.0, 2.0, 1.0])
    told = Told(metrics=(Metric("loss", replace(still.series, timestamps=(STARTED,) * 3)),))
    assert "throughput" not in {made.name for made in plotting.describe(views.build_run(), told=told).panels}


def test_a_loss_that_never_was_a_number_has_no_best() -> None:
    made = panels(metric("loss", [nan, nan]))["loss"]
    assert (made.peaks, made.top) == ((), 1.0)


def test_a_metric_asked_for_that_has_no_times_is_left_out_and_named() -> None:
    told = Told(metrics=(metric("loss", [3.0, 2.0], clock=False),))
    chart = plotting.describe(views.build_run(), keys=("loss",), told=told)
    assert chart.panels == ()
    assert chart.notes == ("loss: the steps have no times, so they cannot be drawn beside what was measured",)
