"""Series become lines: rates, breaks, and long runs folded without losing their extremes."""

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import views
from tests.support.views import STARTED, counter, gauge

from jobmeter.model.panel import Line, Role
from jobmeter.model.view import Series
from jobmeter.service import plot_series
from jobmeter.service.plot_series import Axis

AXIS = Axis(start=STARTED, seconds=100.0, buckets=1000)


def line_of(points: plot_series.Points, buckets: int, *, step: bool = False) -> Line:
    axis = Axis(start=STARTED, seconds=100.0, buckets=buckets)
    return plot_series.make_line(points, axis, step=step, label="", key="k", role=Role.MAIN)


def test_a_stretch_that_no_delta_covers_is_a_hole_not_a_zero() -> None:
    times, values = plot_series.rate_points(counter("c", [(1, 2.0), (2, 2.0), (9, 4.0)]), AXIS)
    assert times == [0.0, 1.0, 2.0, 8.0, 9.0]
    assert values == [None, 2.0, 2.0, None, 4.0]


def test_deltas_whose_clocks_jitter_stay_one_line() -> None:
    times, values = plot_series.rate_points(counter("c", [(1.0, 1.0), (2.0004, 1.0), (2.9996, 1.0)]), AXIS)
    assert values == [None, 1.0, 1.0, 1.0]
    assert times == pytest.approx([0.0, 1.0, 2.0004, 2.9996])


def test_a_counter_without_spans_is_rated_over_the_gap_before_it() -> None:
    series = Series(key="c", instance="", times=(STARTED + 1, STARTED + 3), values=(9.0, 8.0))
    assert plot_series.rate_points(series, AXIS) == ([1.0, 3.0], [None, 4.0])


def test_a_delta_over_no_time_has_no_rate() -> None:
    assert plot_series.rate_points(counter("c", [(1, 5.0)], span=0.0), AXIS) == ([], [])


def test_the_first_span_does_not_begin_before_the_run() -> None:
    times, values = plot_series.rate_points(counter("c", [(1, 3.0)], span=1.5), AXIS)
    assert (times, values) == ([0.0, 1.0], [None, 2.0])


def test_a_number_that_is_none_breaks_the_line() -> None:
    assert plot_series.gauge_points(gauge("g", [(1, 1.0), (2, nan), (3, 3.0)]), AXIS)[1] == [1.0, None, 3.0]


def test_a_gauge_breaks_where_nothing_was_sampled() -> None:
    seconds = [*range(1, 11), *range(60, 71)]
    view = views.view([gauge("g", [(second, 1.0) for second in seconds])], wall_seconds=70.0)
    axis = plot_series.axis_of(view, 1000)
    assert axis.silences == ((10.0, 60.0),)
    times, values = plot_series.gauge_points(view.series["g", ""], axis)
    assert times[9:12] == [10.0, 60.0, 60.0]
    assert values[9:12] == [1.0, None, 1.0]


def test_a_key_that_is_read_rarely_is_dots_and_not_a_line_through_what_was_not_seen() -> None:
    often = gauge("g", [(second, 1.0) for second in range(1, 71)])
    rarely = gauge("proc_pss_total", [(1, 5.0), (31, 5.0), (61, 5.0)])
    axis = plot_series.axis_of(views.view([often, rarely], wall_seconds=70.0), 1000)
    assert axis.silences == ()
    assert plot_series.gauge_points(rarely, axis) == (
        [1.0, 31.0, 31.0, 61.0, 61.0],
        [5.0, None, 5.0, None, 5.0],
    )


def test_gaps_too_small_to_be_seen_in_a_long_run_do_not_break_a_line() -> None:
    often = gauge("g", [(second, 1.0) for second in range(1, 7201)])
    rarely = gauge("proc_pss_total", [(second, 5.0) for second in range(1, 7201, 30)])
    axis = plot_series.axis_of(views.view([often, rarely], wall_seconds=7200.0), 10_000)
    assert None not in plot_series.gauge_points(rarely, axis)[1]


def test_a_process_that_was_not_written_again_did_not_move() -> None:
    often = gauge("g", [(second, 1.0) for second in range(1, 71)])
    process = gauge("proc_rss", [(10, 5.0), (60, 5.0)], "7@1")
    axis = plot_series.axis_of(views.view([often, process], wall_seconds=70.0), 1000)
    assert plot_series.gauge_points(process, axis)[1] == [5.0, 5.0]


def test_the_axis_reaches_to_the_last_thing_known() -> None:
    view = views.view([gauge("g", [(1, 1.0)])], events=[views.event(9, "oom_kill")], wall_seconds=None)
    assert plot_series.axis_of(view, 1000).seconds == 9.0


def test_a_short_run_is_not_folded() -> None:
    line = line_of(([1.0, 2.0, 3.0], [5.0, 6.0, 7.0]), buckets=2)
    assert (line.times, line.values, line.low) == ((1.0, 2.0, 3.0), (5.0, 6.0, 7.0), None)


def test_a_spike_of_one_sample_in_a_hundred_thousand_survives_folding() -> None:
    times = [float(second) for second in range(100_000)]
    values: list[float | None] = [10.0] * 100_000
    values[54_321], values[77_777] = 999.0, 1.0
    line = line_of((times, values), buckets=500)
    assert len(line.times) == 500
    assert line.high is not None
    assert line.low is not None
    assert max(value for value in line.high if value is not None) == 999.0
    assert min(value for value in line.low if value is not None) == 1.0
    assert line.high.index(999.0) == 54_321 * 500 // 99_999


def test_the_mean_of_folded_rates_is_weighted_by_how_long_each_held() -> None:
    # nine tenths of each stretch at 1, one tenth at 11: the mean is 2, not 6
    times = [0.0]
    values: list[float | None] = [None]
    for stretch in range(100):
        times += [stretch + 0.9, stretch + 1.0]
        values += [1.0, 11.0]
    line = line_of((times, values), buckets=10, step=True)
    assert line.times[:2] == (0.0, 10.0)
    assert [round(value, 6) for value in line.values if value is not None] == [2.0] * 10


def test_a_break_is_still_a_break_after_folding() -> None:
    times = [float(second) for second in [*range(100), 900, *range(900, 1000)]]
    values: list[float | None] = [1.0] * 100 + [None] + [1.0] * 100
    line = line_of((times, values), buckets=10)
    assert None in line.values[1:-1]


@given(
    st.lists(st.floats(0, 1e12), min_size=50, max_size=400),
    st.integers(2, 20),
    st.booleans(),
)
def test_folding_keeps_extremes_and_never_leaves_them(values: list[float], buckets: int, step: bool) -> None:
    times = [float(index) for index in range(len(values))]
    line = line_of((times, list(values)), buckets=buckets, step=step)
    low, high = line.low or line.values, line.high or line.values
    assert max(value for value in high if value is not None) == max(values)
    assert min(value for value in low if value is not None) == min(values)
    assert list(line.times) == sorted(line.times)
    for small, mean, large in zip(low, line.values, high, strict=True):
        assert small is not None
        assert mean is not None
        assert large is not None
        assert small <= mean * (1 + 1e-9)
        assert mean <= large * (1 + 1e-9)


def test_a_stretch_of_nothing_stays_nothing_when_folded() -> None:
    times = [float(second) for second in range(100)]
    values: list[float | None] = [1.0] * 40 + [None] * 30 + [1.0] * 30
    line = line_of((times, values), buckets=10)
    assert line.values[4:7] == (None, None, None)
    assert line.high is not None
    assert line.high[5] is None
