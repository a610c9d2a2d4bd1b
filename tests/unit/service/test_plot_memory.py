"""Memory in a plot: methods side by side, limits, and peaks that no sample saw."""

from tests.support import views
from tests.support.views import GIB, MIB, define, gauge

from jobmeter.model.measurement import Kind, Unit
from jobmeter.model.panel import Limit, Panel, Role
from jobmeter.model.run import Headline, Limits
from jobmeter.model.view import RunView
from jobmeter.service import plotting


def panels(run_view: RunView) -> dict[str, Panel]:
    return {made.name: made for made in plotting.describe(run_view).panels}


def headline(value: float, *keys: str) -> Headline:
    return Headline(value=value, low=value, high=value, keys=keys, exact=True)


def test_methods_of_measuring_memory_keep_their_own_lines_and_names() -> None:
    series = [
        *views.build_run().series.values(),
        gauge("proc_pss_total", [(1, 110 * MIB), (4, 60 * MIB)]),
    ]
    memory = panels(views.view(series, (views.NEEDED, views.PSS, views.RSS, views.CHARGED)))["memory"]
    assert [(line.label, line.key, line.role) for line in memory.lines] == [
        ("unreclaimable", "cgroup_mem_unreclaimable", Role.MAIN),
        ("PSS", "proc_pss_total", Role.OTHER),
        ("sum of RSS", "proc_rss_total", Role.OTHER),
        ("with page cache", "cgroup_mem_current", Role.FAINT),
    ]


def test_memory_without_a_cgroup_is_led_by_pss() -> None:
    series = [
        gauge("proc_rss_total", [(1, 9.0), (2, 9.0)]),
        gauge("proc_pss_total", [(1, 5.0), (2, 5.0)]),
    ]
    memory = panels(views.view(series, (views.PSS, views.RSS)))["memory"]
    assert memory.lines[0].key == "proc_pss_total"
    assert memory.lines[0].role is Role.MAIN


def test_a_limit_within_sight_raises_the_axis() -> None:
    run_view = views.build_run(
        limits=Limits(memory_bytes=512 * MIB, cpus=4.0), context={"limits": {"memory_source": "cgroup"}}
    )
    memory = panels(run_view)["memory"]
    assert memory.limits == (Limit(label="limit", value=512.0 * MIB, source="cgroup"),)
    assert memory.top == 512.0 * MIB


def test_a_limit_far_above_does_not_flatten_the_lines() -> None:
    memory = panels(views.build_run(limits=Limits(memory_bytes=64 * GIB)))["memory"]
    assert memory.limits[0].value == 64.0 * GIB
    assert memory.top == 450.0 * MIB


def test_the_peak_of_the_main_line_is_marked_with_its_moment() -> None:
    memory = panels(views.build_run())["memory"]
    assert [(peak.value, peak.seconds, peak.key, peak.sampled) for peak in memory.peaks] == [
        (300.0 * MIB, 2.0, "cgroup_mem_unreclaimable", True)
    ]


def test_a_peak_no_sample_saw_is_marked_where_the_high_water_mark_rose() -> None:
    peak = define("cgroup_mem_peak", Kind.GAUGE, Unit.BYTES)
    run_view = views.build_run(headline={"memory_peak_bytes": headline(900 * MIB, "cgroup_mem_peak")})
    water = gauge("cgroup_mem_peak", [(1, 120 * MIB), (2, 350 * MIB), (3, 950 * MIB), (4, 950 * MIB)])
    with_mark = views.view(
        [*run_view.series.values(), water],
        (*run_view.run.definitions.values(), peak),
        headline=run_view.run.headline,
    )
    unseen = panels(with_mark)["memory"].peaks[1]
    assert (unseen.value, unseen.seconds, unseen.sampled) == (900.0 * MIB, 3.0, False)
    assert unseen.label == "between samples"


def test_a_peak_no_sample_saw_has_no_moment_where_nothing_tells_it() -> None:
    run_view = views.build_run(headline={"memory_peak_bytes": headline(900 * MIB, "wait_maxrss")})
    assert panels(run_view)["memory"].peaks[1].seconds is None


def test_a_peak_that_was_sampled_is_not_marked_twice() -> None:
    run_view = views.build_run(
        headline={"memory_peak_bytes": headline(300 * MIB, "cgroup_peak_mem_unreclaimable")}
    )
    assert len(panels(run_view)["memory"].peaks) == 1


def test_an_enclosing_cgroup_of_like_size_is_a_faint_line() -> None:
    outer = define("cgroup_outer_mem_unreclaimable", Kind.GAUGE, Unit.BYTES)
    series = [gauge("proc_rss_total", [(1, 100.0), (2, 120.0)]), gauge(outer.key, [(1, 200.0), (2, 220.0)])]
    memory = panels(views.view(series, (views.RSS, outer)))["memory"]
    assert [(line.label, line.role) for line in memory.lines][1] == ("enclosing cgroup", Role.FAINT)


def test_an_enclosing_cgroup_that_dwarfs_the_job_is_named_not_drawn() -> None:
    outer = define("cgroup_outer_mem_unreclaimable", Kind.GAUGE, Unit.BYTES)
    series = [
        gauge("proc_rss_total", [(1, 1 * MIB), (2, 1 * MIB)]),
        gauge(outer.key, [(1, 12 * GIB), (2, 1.0)]),
    ]
    memory = panels(views.view(series, (views.RSS, outer)))["memory"]
    assert len(memory.lines) == 1
    assert (
        memory.note
        == "the enclosing cgroup held up to 12 GiB (cgroup_outer_mem_unreclaimable), above this axis"
    )


def test_a_high_water_mark_read_when_the_memory_was_not_tells_no_moment() -> None:
    peak = define("cgroup_mem_peak", Kind.GAUGE, Unit.BYTES)
    run_view = views.build_run(headline={"memory_peak_bytes": headline(900 * MIB, "cgroup_mem_peak")})
    water = gauge("cgroup_mem_peak", [(1.5, 950 * MIB), (2.5, 950 * MIB)])
    with_mark = views.view(
        [*run_view.series.values(), water],
        (*run_view.run.definitions.values(), peak),
        headline=run_view.run.headline,
    )
    assert panels(with_mark)["memory"].peaks[1].seconds is None
