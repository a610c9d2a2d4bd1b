"""Single keys, cleaned; numbers of the summary; thresholds of the job's own config."""

import math

import pytest

from jobmeter.analysis import readings
from jobmeter.model.run import Headline
from support import curves, views

NAN = math.nan


def test_what_makes_no_sense_is_left_out() -> None:
    series = views.counter("cgroup_throttled", [(1, 1.0), (2, NAN), (3, -1.0), (4, 3.0)])
    found = readings.first(curves.run(series), "cgroup_throttled")
    assert found is not None
    assert found.values.tolist() == [1.0, 3.0]
    assert found.rates.tolist() == [1.0, 3.0]


def test_a_counter_that_covers_no_time_is_none() -> None:
    series = views.counter("cgroup_throttled", [(1, 1.0)], span=0.0)
    assert readings.first(curves.run(series), "cgroup_throttled") is None


def test_a_counter_without_spans_has_no_rate() -> None:
    found = readings.first(curves.run(curves.gauge("cgroup_throttled", [1.0, 2.0])), "cgroup_throttled")
    assert found is not None
    assert found.rates.tolist() == [0.0, 0.0]


def test_the_first_key_that_says_anything_is_taken() -> None:
    view = curves.run(curves.gauge("a", [NAN]), curves.gauge("b", [2.0]), curves.gauge("c", [3.0]))
    found = readings.first(view, "absent", "a", "b", "c")
    assert found is not None
    assert found.key == "b"
    assert readings.first(view, "a") is None


def test_one_instance_is_asked_for_by_name() -> None:
    view = curves.run(curves.gauge("nvml_util", [2.0], instance="GPU-b"))
    found = readings.of(view, "nvml_util", "GPU-b")
    assert found is not None
    assert found.values.tolist() == [2.0]
    assert readings.of(view, "nvml_util", "GPU-a") is None


def test_numbers_of_the_summary_are_numbers() -> None:
    run = curves.run(summary={"a": "word", "b": math.inf, "c": 3}).run
    assert readings.number(run, "absent", "a", "b", "c") == 3.0
    assert readings.number(run, "a") is None


def test_cores_used_need_cpu_time_and_time() -> None:
    cpu = Headline(value=30.0, low=30.0, high=30.0, keys=("cgroup_cputime",), exact=True)
    assert readings.used_cores(curves.run(headline={"cpu_seconds": cpu}, wall_seconds=20.0).run) == 1.5
    assert readings.used_cores(curves.run(headline={"cpu_seconds": cpu}, wall_seconds=0.0).run) is None
    assert readings.used_cores(curves.run(wall_seconds=20.0).run) is None


@pytest.mark.parametrize(
    ("context", "source"),
    [
        ({}, None),
        ({"limits": "odd"}, None),
        ({"limits": {"memory_source": 3}}, None),
        ({"limits": {"memory_source": "slurm"}}, "slurm"),
    ],
)
def test_who_set_a_limit(context: dict[str, object], source: str | None) -> None:
    assert readings.limit_source(curves.run(context=context).run, "memory") == source


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        (None, (0.85, 0.95)),
        ({"memory_warning_threshold": 0.5, "memory_critical_threshold": 0.6}, (0.5, 0.6)),
        ({"memory_warning_threshold": "much", "memory_critical_threshold": 7}, (0.85, 0.95)),
        ({"memory_warning_threshold": 0.99}, (0.99, 0.99)),
    ],
)
def test_the_thresholds_of_the_jobs_own_config_win(wishes: object, expected: tuple[float, float]) -> None:
    assert readings.thresholds(curves.run(context={"monitoring": wishes}).run) == expected
