"""Leaks, and the growth that is none."""

import numpy as np
import pytest

from jobmeter.analysis.detectors import leak
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Limits, Status
from support import curves
from support.curves import GIB, MIB

SECONDS = np.arange(600.0)


def look(values: curves.Values, **facts: object) -> list[Finding]:
    return list(leak.detect(curves.run(curves.memory(values), **facts)))


def grains(deviation_mib: float = 1.0) -> curves.Values:
    return curves.noise(len(SECONDS), deviation_mib * MIB)


def test_steady_growth_is_a_leak_with_its_slope_and_its_interval() -> None:
    [found] = look(500 * MIB + SECONDS * MIB + grains(0.1))
    assert found.severity is Severity.WARNING
    assert found.figures["slope_bytes_per_second"] == pytest.approx(MIB, rel=0.01)
    low, high = found.figures["low_bytes_per_second"], found.figures["high_bytes_per_second"]
    assert low <= MIB * 1.001
    assert high >= MIB * 0.999
    assert "seconds_to_limit" not in found.figures
    assert found.sentence == (
        "memory grew steadily by 60 MiB a minute over the last 9 min 30 s and never came back: a leak, unless it was "
        "still loading data"
    )


def test_the_time_to_the_limit_is_told() -> None:
    [found] = look(500 * MIB + SECONDS * MIB, limits=Limits(memory_bytes=4 * GIB))
    assert found.figures["seconds_to_limit"] == pytest.approx(4096 - 1099, rel=0.01)
    assert found.sentence.endswith("the limit of 4 GiB would have been reached in 49 min 57 s")
    [live] = look(500 * MIB + SECONDS * MIB, limits=Limits(memory_bytes=4 * GIB), status=Status.RUNNING)
    assert live.sentence.endswith("the limit of 4 GiB will be reached in 49 min 57 s")


def test_a_leak_that_nearly_reached_the_limit_is_critical_and_one_far_from_it_is_not() -> None:
    values = 500 * MIB + SECONDS * MIB
    assert [one.severity for one in look(values, limits=Limits(memory_bytes=1150 * MIB))] == [
        Severity.CRITICAL
    ]
    assert [one.severity for one in look(values, limits=Limits(memory_bytes=900 * GIB))] == [Severity.INFO]


def test_noise_and_a_collector_do_not_hide_a_leak() -> None:
    assert len(look(500 * MIB + SECONDS * MIB + grains(60.0))) == 1
    assert len(look(500 * MIB + SECONDS * MIB + (SECONDS % 40) * 5 * MIB)) == 1


def test_a_leak_that_begins_later_is_measured_from_there() -> None:
    values = 100 * MIB + np.maximum(0, SECONDS - 300) * 2 * MIB + grains()
    [found] = look(values)
    assert found.figures["slope_bytes_per_second"] == pytest.approx(2 * MIB, rel=0.02)
    assert found.begin == pytest.approx(curves.STARTED + 300, abs=5)


def test_a_leak_that_quickens_is_measured_whole() -> None:
    values = np.where(SECONDS < 300, SECONDS, 300 + 3 * (SECONDS - 300)) * MIB + grains()
    [found] = look(values)
    assert found.begin == pytest.approx(curves.STARTED + 30, abs=2)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(500 * MIB + grains(5.0), id="flat"),
        pytest.param(500 * MIB + (SECONDS % 40) * 5 * MIB, id="a collector's sawtooth"),
        pytest.param(np.minimum(SECONDS * 5, 1000) * MIB + grains(), id="warm-up, then flat"),
        pytest.param(np.log1p(SECONDS) * 200 * MIB + grains(), id="a logarithm"),
        pytest.param(1000 * MIB * (1 - np.exp(-SECONDS / 150)) + grains(), id="a cache that fills"),
        pytest.param(1000 * MIB * (1 - np.exp(-SECONDS / 400)) + grains(), id="a cache that fills slowly"),
        pytest.param(500 * MIB + (SECONDS // 200) * 300 * MIB + grains(), id="three steps"),
        pytest.param(500 * MIB + (SECONDS // 60) * 100 * MIB + grains(), id="ten steps"),
        pytest.param(2000 * MIB + SECONDS * 0.05 * MIB + grains(), id="too little to matter"),
        pytest.param(2000 * MIB - SECONDS * MIB, id="shrinking"),
        pytest.param(np.where(SECONDS < 500, SECONDS * 2, 100) * MIB, id="loaded and given back"),
        pytest.param(
            np.where(SECONDS < 500, 200 * MIB, 200 * MIB + (SECONDS - 500) * 5 * MIB), id="a late rise"
        ),
    ],
)
def test_other_shapes_are_no_leaks(values: curves.Values) -> None:
    assert look(values) == []


def test_growth_that_fell_back_in_between_counts_from_the_fall() -> None:
    values = np.where(SECONDS < 300, SECONDS * 4, (SECONDS - 300) * 2) * MIB + 100 * MIB
    [found] = look(values)
    assert found.begin == pytest.approx(curves.STARTED + 300, abs=5)


def test_one_random_walk_in_a_hundred_at_most_is_taken_for_a_leak() -> None:
    walks = [2000 * MIB + np.cumsum(curves.noise(600, 3 * MIB, seed)) for seed in range(100)]
    assert sum(len(look(walk)) for walk in walks) <= 1


def test_a_few_seconds_prove_nothing() -> None:
    assert look((SECONDS * 50 * MIB)[:20]) == []
    assert list(leak.detect(curves.run(curves.memory((SECONDS * 50 * MIB)[:60], every=0.2)))) == []


def test_memory_of_a_gpu_can_leak_too_and_has_no_limit_here() -> None:
    series = curves.gauge("nvml_proc_mem_total", 2 * GIB + SECONDS * 4 * MIB)
    [found] = leak.detect(curves.run(series, limits=Limits(memory_bytes=GIB)))
    assert found.sentence.startswith("GPU memory grew steadily by 240 MiB a minute")
    assert "seconds_to_limit" not in found.figures


def test_a_build_that_fills_and_frees_memory_file_after_file_does_not_leak() -> None:
    tooth = np.linspace(50, 160, 200)
    assert look(np.concatenate([tooth, tooth, tooth]) * MIB + grains(0.5)) == []


def test_memory_given_back_after_loading_does_not_hide_a_leak() -> None:
    loading = np.linspace(0, 2000, 40)
    growing = np.linspace(1000, 1500, 560)
    assert len(look(np.concatenate([loading, growing]) * MIB + grains(0.5))) == 1


def test_growth_on_a_gpu_is_not_held_against_the_limit_of_the_host() -> None:
    grown = curves.gauge("nvml_proc_mem_total", np.linspace(40.0, 41.0, 200) * GIB)
    assert list(leak.detect(curves.run(grown))) == []
    assert list(leak.detect(curves.run(grown, limits=Limits(memory_bytes=2 * GIB)))) == []
