"""Figures that a few wild values cannot move."""

import numpy as np
import pytest

from jobmeter.analysis import robust
from support import curves


def test_one_wild_value_does_not_move_the_spread() -> None:
    calm = curves.noise(1000, 2.0)
    assert robust.spread(calm) == pytest.approx(2.0, rel=0.1)
    assert robust.spread(np.append(calm, 1e9)) == pytest.approx(2.0, rel=0.1)


def test_noise_is_what_jumps_not_what_drifts() -> None:
    assert robust.noise(np.arange(500) * 7.0 + curves.noise(500, 3.0)) == pytest.approx(3.0, rel=0.2)
    assert robust.noise(np.array([1.0, 9.0])) == 0.0


def test_neighbours_are_taken_together_by_their_median() -> None:
    assert robust.thinned(np.array([1.0, 2.0, 90.0, 4.0, 5.0, 6.0, 7.0]), 3).tolist() == [2.0, 5.0, 7.0]
    assert robust.thinned(np.array([1.0, 2.0, 90.0, 4.0, 5.0, 6.0]), 2).tolist() == [2.0, 5.0]
    assert robust.thinned(np.array([1.0, 2.0]), 2).tolist() == [1.0, 2.0]


def test_the_slope_holds_against_a_tenth_of_nonsense() -> None:
    times = np.arange(300.0)
    values = 5.0 * times + curves.noise(300, 10.0)
    values[::10] = 1e7
    found = robust.slope(times, values)
    assert found.value == pytest.approx(5.0, rel=0.05)
    assert found.low < 5.0 < found.high


def test_the_interval_holds_the_slope_nineteen_times_of_twenty() -> None:
    times = np.arange(60.0)
    inside = 0
    for seed in range(300):
        found = robust.slope(times, 2.0 * times + curves.noise(60, 20.0, seed))
        inside += found.low <= 2.0 <= found.high
    assert 270 <= inside <= 297


def test_values_of_one_moment_have_no_slope() -> None:
    assert robust.slope(np.zeros(5), np.arange(5.0)) == robust.Slope(0.0, 0.0, 0.0)
