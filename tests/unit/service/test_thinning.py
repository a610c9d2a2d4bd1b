import math

from hypothesis import given
from hypothesis import strategies as st

from jobmeter.model.view import Series
from jobmeter.service import thinning


def make(values: list[float], spans: list[float] | None = None) -> Series:
    return Series(
        key="a_x",
        instance="",
        times=tuple(float(n) for n in range(len(values))),
        values=tuple(values),
        spans=None if spans is None else tuple(spans),
    )


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=400), st.integers(4, 50)
)
def test_points_are_few_real_and_hold_the_extremes(values: list[float], points: int) -> None:
    thin = thinning.thin(make(values), points)
    assert len(thin.times) <= points
    assert list(thin.times) == sorted(thin.times)
    assert all(values[int(time)] == value for time, value in zip(thin.times, thin.values, strict=True))
    assert (max(thin.values), min(thin.values)) == (max(values), min(values))
    assert (thin.times[0], thin.times[-1]) == (0.0, float(len(values) - 1))


def test_a_short_series_stays_as_it_is() -> None:
    series = make([1.0, 2.0, 3.0])
    assert thinning.thin(series, 10) is series


def test_a_counter_is_judged_by_its_rate() -> None:
    spans = [1.0] * 100
    values = [1.0] * 100
    spans[50], values[50] = 0.1, 0.9  # nine times the usual rate
    values[60], spans[60] = 5.0, 10.0  # a large delta, but slow
    thin = thinning.thin(make(values, spans), 6)
    assert 0.9 in thin.values
    assert thin.spans is not None
    assert thin.spans[thin.values.index(0.9)] == 0.1


def test_nan_is_no_extreme() -> None:
    thin = thinning.thin(make([math.nan if n % 3 else float(n) for n in range(100)]), 10)
    assert 99.0 in thin.values
    assert 0.0 in thin.values


def test_points_that_share_one_moment_are_thinned_too() -> None:
    series = Series(key="a_x", instance="", times=(5.0,) * 50, values=tuple(float(n) for n in range(50)))
    thin = thinning.thin(series, 10)
    assert (min(thin.values), max(thin.values)) == (0.0, 49.0)
