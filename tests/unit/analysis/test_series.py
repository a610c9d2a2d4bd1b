"""Curves: which series shows a resource, and what becomes of uneven samples."""

from dataclasses import replace

import numpy as np
import pytest

from jobmeter.analysis import series
from jobmeter.analysis.series import Resource
from jobmeter.model.measurement import Kind, Unit
from jobmeter.model.view import Series
from support import curves, views
from support.curves import GIB, MIB


def only(view: object, resource: Resource) -> series.Curve:
    [found] = series.curves(view, resource)  # type: ignore[arg-type]
    return found


def test_memory_is_what_the_kernel_cannot_drop_never_what_it_cached() -> None:
    view = curves.run(
        curves.gauge("cgroup_mem_current", [GIB] * 8), curves.gauge("cgroup_mem_unreclaimable", [MIB] * 8)
    )
    assert only(view, Resource.MEMORY).key == "cgroup_mem_unreclaimable"
    assert (
        list(series.curves(curves.run(curves.gauge("cgroup_mem_current", [GIB] * 8)), Resource.MEMORY)) == []
    )


def test_a_counter_becomes_a_rate() -> None:
    found = only(curves.run(curves.cpu([0.5, 1.5, 2.0, 2.0, 2.0], every=10.0)), Resource.CPU)
    assert found.unit == "cores"
    assert found.step_seconds == 10.0
    assert found.values.tolist() == [0.5, 1.5, 2.0, 2.0, 2.0]
    assert (found.begin, found.end) == (curves.STARTED, curves.STARTED + 50)


def test_a_curve_does_not_begin_before_its_run() -> None:
    late = curves.cpu([1.0] * 6, every=10.0)
    assert only(curves.run(late, started_at=curves.STARTED + 7), Resource.CPU).begin == curves.STARTED + 7
    assert only(curves.run(late, started_at=curves.STARTED - 90), Resource.CPU).begin == curves.STARTED
    assert only(curves.run(late, started_at=None), Resource.CPU).begin == curves.STARTED
    assert only(curves.run(late, started_at=curves.STARTED + 3600), Resource.CPU).begin == curves.STARTED + 10


def test_percent_of_a_core_becomes_cores_and_percent_of_a_host_stays() -> None:
    assert only(curves.run(curves.gauge("ps_pcpu_total", [150.0] * 6)), Resource.CPU).values[0] == 1.5
    host = only(curves.run(curves.gauge("buildstats_cpu", [48.0] * 6)), Resource.CPU)
    assert (host.unit, host.values[0]) == ("percent", 48.0)


def test_a_key_nobody_defined_is_taken_as_bytes() -> None:
    view = curves.run(curves.gauge("proc_rss_total", [5.0] * 6))
    assert only(view, Resource.MEMORY).unit == "bytes"


def test_every_gpu_has_a_curve_of_its_own() -> None:
    view = curves.run(
        curves.gauge("nvml_util", [90.0] * 6, instance="GPU-b"),
        curves.gauge("nvml_util", [10.0] * 6, instance="GPU-a"),
        curves.gauge("nvml_util", [10.0] * 2, instance="GPU-c"),
    )
    assert [one.subject for one in series.curves(view, Resource.GPU)] == ["use of GPU-a", "use of GPU-b"]


def test_containers_have_a_curve_of_the_cores_they_used() -> None:
    percent = views.define("docker_pcpu", Kind.GAUGE, Unit.PERCENT)
    seconds = views.define("docker_cputime", Kind.COUNTER, Unit.SECONDS)
    printed = views.gauge("docker_pcpu", [(second, 150.0) for second in range(6)])
    counted = views.counter("docker_cputime", [(second, 3.0) for second in range(6)], span=2.0)
    both = views.view([printed, counted], [percent, seconds])
    for view, key in ((views.view([printed], [percent]), "docker_pcpu"), (both, "docker_cputime")):
        found = only(view, Resource.CPU)
        assert (found.key, found.unit, found.values[0]) == (key, "cores", 1.5)


def test_a_curve_says_whose_it_is() -> None:
    view = curves.run(
        curves.gauge("nvml_mem_used", [9.0] * 6, instance="GPU-3fa9c1d2-7d1c-0b5e"),
        curves.gauge("docker_mem_used", [9.0] * 6, instance="web"),
    )
    told = [one.subject for one in series.curves(view, Resource.MEMORY, Resource.GPU_MEMORY)]
    assert told == ["memory of web", "memory of GPU-3fa9c1d2"]


def test_the_first_dense_samples_share_cells() -> None:
    times = [0.01, 0.02, 0.05, 0.1, *range(1, 40)]
    one = Series(
        key="cgroup_cputime",
        instance="",
        times=[curves.STARTED + moment for moment in times],
        values=[0.01, 0.01, 0.03, 0.05, 0.9, *([1.0] * 38)],
        spans=[0.01, 0.01, 0.03, 0.05, 0.9, *([1.0] * 38)],
    )
    found = only(curves.run(one), Resource.CPU)
    assert len(found) == 40
    assert np.allclose(found.values, 1.0)


def test_a_day_of_seconds_is_laid_on_few_cells_that_keep_their_extremes() -> None:
    values = np.full(86_400, 1.0 * GIB)
    values[50_000] = 9.0 * GIB
    found = only(curves.run(curves.memory(values)), Resource.MEMORY)
    assert len(found) <= series.MOST_CELLS + 1
    assert (found.highs.max(), found.lows.min()) == (9.0 * GIB, 1.0 * GIB)
    assert found.values.max() < 2.0 * GIB


def test_a_gap_stays_a_gap() -> None:
    one = curves.memory([GIB] * 20)
    gone = replace(one, times=[*one.times[:10], *(moment + 500 for moment in one.times[10:])])
    found = only(curves.run(gone), Resource.MEMORY)
    assert len(found) == 20
    assert found.times[10] - found.times[9] == 501


def test_what_is_no_number_and_what_covers_no_time_is_left_out() -> None:
    one = curves.cpu([1.0] * 8)
    broken = replace(one, values=[float("nan"), *one.values[1:]], spans=[1.0, 0.0, *one.spans[2:]])  # type: ignore[index]
    assert len(only(curves.run(broken), Resource.CPU)) == 6
    nothing = replace(one, values=[float("nan")] * 8)
    assert list(series.curves(curves.run(nothing), Resource.CPU)) == []


def test_samples_of_one_moment_have_no_shape() -> None:
    one = curves.memory([GIB] * 8)
    assert list(series.curves(curves.run(replace(one, times=[curves.STARTED] * 8)), Resource.MEMORY)) == []
    crowded = replace(one, times=[curves.STARTED + moment for moment in (0, 1, 1.01, 1.02, 1.03, 1.04, 5, 6)])
    assert len(only(curves.run(crowded), Resource.MEMORY)) >= 5
    few = replace(one, times=[curves.STARTED + moment for moment in (0, 0.1, 0.2, 0.3, 9.8, 9.9, 10, 10.1)])
    assert list(series.curves(curves.run(few), Resource.MEMORY)) != []


def test_three_cells_have_no_shape_however_many_samples_they_hold() -> None:
    moments = [0, *([1] * 6), *([2] * 6)]
    one = replace(curves.memory([GIB] * 13), times=[curves.STARTED + moment for moment in moments])
    assert list(series.curves(curves.run(one), Resource.MEMORY)) == []


def test_pipes_and_sockets_count_as_activity() -> None:
    view = curves.run(curves.cpu([1.0] * 6), curves.rate("wait_rchar", [5.0] * 6))
    assert [one.key for one in series.activity(view)] == ["cgroup_cputime", "wait_rchar"]
    empty = replace(curves.rate("wait_rchar", [5.0] * 6), values=[float("nan")] * 6)
    assert [one.key for one in series.activity(curves.run(curves.cpu([1.0] * 6), empty))] == [
        "cgroup_cputime"
    ]


def test_only_keys_that_detectors_look_at_need_be_read() -> None:
    keys = series.keys_of(curves.run().run)
    assert {"cgroup_cputime", "cgroup_mem_unreclaimable", "nvml_util", "wait_rchar"} <= keys
    assert "cgroup_mem_current" not in keys


@pytest.mark.parametrize(
    ("one", "value", "shown"),
    [
        (curves.memory([1.0] * 6), 2.0 * GIB, "2 GiB"),
        (curves.cpu([1.0] * 6), 1.5, "1.50 cores"),
        (curves.cpu([1.0] * 6), 12.0, "12.0 cores"),
        (curves.rate("wait_read_bytes", [1.0] * 6), 2.0 * MIB, "2 MiB/s"),
        (curves.gauge("buildstats_cpu", [1.0] * 6), 48.0, "48 %"),
    ],
)
def test_values_are_shown_in_their_unit(one: Series, value: float, shown: str) -> None:
    assert curves.curve(one).show(value) == shown
