"""Advice where a training waits for its data."""

import pytest

from jobmeter.analysis import loading
from jobmeter.analysis.case import Case
from jobmeter.model.steps import Step, Steps
from support import cases, views
from support.cases import advised, only


def waiting(step: list[float], wait: list[float] | None, config: object = None, **facts: object) -> Case:
    """Build a training that tells how long it waits, on 4 cores that do next to nothing."""
    cpu = views.counter("wait_cputime", [(second, 0.1) for second in range(1, 60)])
    return cases.case(
        series=[cpu],
        told={"steps": cases.steps(step, wait)},
        context={"config": {"num_workers": 0} if config is None else config},
        **({"limits": cases.limits(8, 4.0)} | facts),  # type: ignore[arg-type]
    )


def test_workers_are_added_until_loading_is_not_what_a_step_waits_for() -> None:
    advice = only("more_workers", waiting([1.0] * 20, [0.8] * 20))
    assert (advice.current_value, advice.recommended_value) == (0, 4)
    (predicted,) = advice.predictions
    assert (predicted.quantity, predicted.before, predicted.after) == ("step_seconds", 1.0, 0.2)
    assert advice.evidence[0].sentence == "a step waits 800 ms for its data, 80 % of its time, with 0 workers"


def test_workers_that_are_too_slow_are_joined_by_more() -> None:
    advice = only("more_workers", waiting([1.0] * 20, [0.5] * 20, {"num_workers": 1}))
    assert (advice.config_path, advice.recommended_value) == ("num_workers", 2)
    assert advice.predictions[0].after == 0.5


def test_cores_that_are_busy_are_not_made_faster_by_workers() -> None:
    cpu = views.counter("wait_cputime", [(second, 3.9) for second in range(1, 60)])
    case = waiting([1.0] * 20, [0.8] * 20)
    busy = cases.case(
        series=[cpu],
        told={"steps": case.view.steps},
        context=case.view.run.context,
        limits=cases.limits(8, 4.0),
    )
    assert advised("more_workers", busy) == []


def test_a_training_that_rarely_waits_is_left() -> None:
    assert advised("more_workers", waiting([1.0] * 20, [0.1] * 20)) == []
    assert advised("more_workers", waiting([1.0] * 20, None)) == []


def test_a_starved_gpu_is_said_where_the_training_tells_nothing() -> None:
    starved = [cases.finding("gpu_starved")]
    advice = only("more_workers", waiting([1.0] * 3, None, {"num_workers": 1}, findings=starved))
    assert (advice.recommended_value, advice.predictions) == (4, ())
    assert advised("more_workers", waiting([1.0] * 3, None, {"num_workers": 4}, findings=starved)) == []
    assert advised("more_workers", waiting([1.0] * 3, None, {}, findings=starved)) == []


LONG = [3.0 if place % 10 == 4 else 0.0 for place in range(43)]
STEPS = [0.5 + wait for wait in LONG]


def test_long_waits_now_and_then_are_covered_by_a_longer_queue() -> None:
    config = {"num_workers": 1, "prefetch_factor": 2}
    advice = only("prefetch", waiting(STEPS, LONG, config))
    assert (advice.config_path, advice.current_value, advice.recommended_value) == ("prefetch_factor", 2, 8)
    (predicted,) = advice.predictions
    assert (predicted.before, predicted.after) == (0.8, 0.5)
    assert advised("more_workers", waiting(STEPS, LONG, config)) == []


def test_the_queue_has_a_length_unasked() -> None:
    advice = only("prefetch", waiting(STEPS, LONG, {"num_workers": 1, "prefetch_factor": None}))
    assert (advice.current_value, advice.config_path) == (2, "prefetch_factor")
    assert only("prefetch", waiting(STEPS, LONG, {"num_workers": 2})).config_path is None


@pytest.mark.parametrize(
    "config",
    [{"num_workers": 0}, {"num_workers": 1, "prefetch_factor": 64}, {"num_workers": 1, "prefetch_factor": 0}],
)
def test_a_queue_that_cannot_be_longer_is_left(config: dict[str, object]) -> None:
    assert advised("prefetch", waiting(STEPS, LONG, config)) == []


def test_a_queue_that_would_not_help_is_left() -> None:
    endless = [60.0 if place == 7 else 0.0 for place in range(20)]
    steps = [0.001 + wait for wait in endless]
    assert advised("prefetch", waiting(steps, endless, {"num_workers": 1})) == []


@pytest.mark.parametrize(
    ("steps", "waits", "config"),
    [
        ([1.0] * 20, [0.5] * 20, {}),
        ([1.0] * 20, [0.5] * 20, {"num_workers": True}),
        ([1.0] * 20, [0.5] * 20, {"num_workers": -1}),
        ([1.0] * 5, [0.5] * 5, None),
        ([1.0] * 20, [2.0] * 20, None),
        ([1.0] * 20, [-1.0] * 20, None),
    ],
)
def test_times_that_make_no_sense_are_not_divided(
    steps: list[float], waits: list[float], config: object
) -> None:
    assert loading.told(waiting(steps, waits, config).view) is None


def test_the_cpu_time_of_a_step_is_measured_while_steps_go_on() -> None:
    told = loading.told(waiting([1.0] * 20, [0.5] * 20).view)
    assert told is not None
    assert (told.cpu_seconds, told.cores) == (pytest.approx(0.1), 4.0)


@pytest.mark.parametrize(
    "series", [[], [views.gauge("wait_cputime", [(1, 1.0)])], [views.counter("wait_cputime", [(1000, 1.0)])]]
)
def test_the_cpu_time_of_a_step_is_not_known_without_samples(series: list[object]) -> None:
    case = waiting([1.0] * 20, [0.5] * 20, limits=cases.limits())
    bare = cases.case(series=series, told={"steps": case.view.steps}, context=case.view.run.context)  # type: ignore[arg-type]
    told = loading.told(bare.view)
    assert told is not None
    assert (told.cpu_seconds, told.cores) == (None, None)


def without_clock(moment: float | None) -> Steps:
    metrics = {"step_seconds": 1.0, "data_seconds": 0.5}
    return views.steps(
        *(Step(timestamp=moment, step=step, rank=0, source="sdk", metrics=metrics) for step in range(20))
    )


def test_steps_without_a_clock_have_no_cpu_time() -> None:
    cpu = views.counter("wait_cputime", [(1, 1.0)])
    case = cases.case(
        series=[cpu], told={"steps": without_clock(None)}, context={"config": {"num_workers": 0}}
    )
    told = loading.told(case.view)
    assert told is not None
    assert told.cpu_seconds is None


def test_the_mean_step_leaves_the_first_ones_out() -> None:
    assert loading.mean_step(waiting([9.0] * 3 + [1.0] * 17, None).view) == 1.0
    assert loading.mean_step(waiting([1.0] * 3, None).view) is None


def test_batches_are_pinned_where_a_gpu_starves() -> None:
    facts = {
        "headline": cases.headlines(gpu_memory_peak_bytes=1e9),
        "context": {"config": {"pin_memory": False}},
        "findings": [cases.finding("gpu_starved")],
    }
    assert only("pin_memory", cases.case(**facts)).recommended_value is True  # type: ignore[arg-type]
    assert advised("pin_memory", cases.case(**(facts | {"findings": []}))) == []  # type: ignore[arg-type]
    assert advised("pin_memory", cases.case(**(facts | {"headline": {}}))) == []  # type: ignore[arg-type]


def test_a_training_s_own_word_is_taken_before_what_its_log_says() -> None:
    told = [
        Step(
            timestamp=views.STARTED + step,
            step=step,
            rank=0,
            source=source,
            metrics={"step_seconds": seconds},
        )
        for source, seconds in (("log:hf", 9.0), ("sdk", 1.0))
        for step in range(20)
    ]
    view = cases.case(told={"steps": views.steps(*told)}).view
    assert loading.mean_step(view) == 1.0
