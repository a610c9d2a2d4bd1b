"""When a history of runs is said to have become worse, and when it is not."""

import random
from collections.abc import Callable

import pytest

from jobmeter.analysis import regression
from jobmeter.analysis.regression import Ruling, Told


def noisy(count: int, level: float = 100.0, share: float = 0.05, seed: int = 1) -> list[float]:
    draw = random.Random(seed)
    return [level * (1 + draw.gauss(0, share)) for _ in range(count)]


def told(values: list[float], **how: bool) -> list[Told]:
    return [ruling.told for ruling in regression.rulings(values, **how)]


def with_outliers(draw: random.Random) -> float:
    return draw.gauss(0, 0.05) + (draw.uniform(0.2, 1) if draw.random() < 0.05 else 0)


def of_two_modes(draw: random.Random) -> float:
    return (-0.0325 if draw.random() < 0.7 else 0.0765) + draw.gauss(0, 0.01)


def steps_found(noise: Callable[[random.Random], float]) -> int:
    """Count the steps of a tenth, out of 100, that are claimed within five runs."""
    draw, found = random.Random(3), 0
    for _ in range(100):
        usual = [100 * (1 + noise(draw)) for _ in range(30)]
        found += Told.WORSE in told(usual + [110 * (1 + noise(draw)) for _ in range(5)])[30:]
    return found


def claims_in_1500_quiet_runs(noise: Callable[[random.Random], float]) -> int:
    draw = random.Random(4)
    histories = ([100 * (1 + noise(draw)) for _ in range(60)] for _ in range(50))
    return sum(told(values)[30:].count(Told.WORSE) for values in histories)


def test_no_history_says_nothing() -> None:
    assert regression.judge([]) == Ruling(told=Told.NOT_ENOUGH)
    assert regression.judge([]).share is None


def test_eight_runs_must_lie_before_anything_is_said() -> None:
    assert told([100.0] * 9) == [Told.NOT_ENOUGH] * 8 + [Told.STEADY]


def test_a_step_of_a_tenth_in_noise_is_claimed_once_within_five_runs() -> None:
    found = told(noisy(30) + noisy(5, 110.0, seed=2))
    assert found.count(Told.WORSE) == 1
    assert Told.WORSE in found[30:]


def test_runs_that_are_exactly_equal_show_a_step_after_three_and_many_after_two() -> None:
    assert told([500.0] * 10 + [525.0] * 3)[10:] == [Told.STEADY, Told.STEADY, Told.WORSE]
    ruling = regression.judge([500.0] * 22 + [525.0, 525.0])
    assert ruling == Ruling(told=Told.WORSE, usual=500.0, now=525.0, since=22, runs=22)
    assert ruling.share == pytest.approx(0.05)


def test_a_step_below_the_least_effect_is_none_even_without_noise() -> None:
    assert set(told([500.0] * 10 + [501.5] * 20)) == {Told.NOT_ENOUGH, Told.STEADY}


def test_a_caller_may_ask_for_a_larger_least_effect() -> None:
    assert regression.judge([500.0] * 10 + [525.0] * 4, least=0.1).told is Told.STEADY


def test_one_run_of_twice_as_much_is_an_outlier() -> None:
    assert Told.WORSE not in told([*noisy(30), 200.0, *noisy(10, seed=3)])


def test_two_outliers_in_a_row_are_no_change_where_outliers_are_usual() -> None:
    usual = noisy(40, share=0.02)
    usual[7] = usual[19] = usual[31] = 180.0
    assert Told.WORSE not in told([*usual, 170.0, 190.0, *noisy(8, share=0.02, seed=4)])


def test_a_quarter_more_is_claimed_after_three_runs_of_noise() -> None:
    found = told(noisy(30) + noisy(3, 130.0, seed=5))
    assert Told.WORSE in found[30:33]


def test_after_a_claim_the_new_level_is_told_as_known_and_then_as_usual() -> None:
    found = told([100.0] * 10 + [120.0] * 20)
    assert found[12] is Told.WORSE
    assert found[13:23] == [Told.STILL_WORSE] * 10
    assert found[23:] == [Told.STEADY] * 7


def test_a_recovery_is_told_within_five_runs() -> None:
    found = told([100.0] * 10 + [120.0] * 4 + [100.0] * 8)
    assert found[12] is Told.WORSE
    assert Told.BETTER in found[14:19]
    assert found.count(Told.WORSE) == found.count(Told.BETTER) == 1
    assert found[19:] == [Told.STEADY] * 3


def test_a_recovery_after_the_new_level_became_usual_is_told_too() -> None:
    found = told(noisy(20) + noisy(20, 130.0, seed=6) + noisy(5, 100.0, seed=7))
    assert Told.BETTER in found[40:]


def test_an_improvement_that_does_not_last_is_no_regression() -> None:
    found = told([100.0] * 10 + [80.0] * 3 + [100.0] * 8)
    assert found[12] is Told.BETTER
    assert Told.WORSE not in found


def test_an_improvement_that_lasts_is_the_new_usual() -> None:
    found = told([100.0] * 10 + [80.0] * 15 + [100.0] * 3)
    assert found[-1] is Told.WORSE


def test_a_second_rise_is_claimed_where_it_is_half_as_much_again() -> None:
    found = told([100.0] * 10 + [110.0] * 4 + [130.0] * 6)
    assert found.count(Told.WORSE) == 2


def test_less_throughput_is_worse() -> None:
    ruling = regression.judge([50.0] * 10 + [40.0] * 3, more_is_worse=False)
    assert (ruling.told, ruling.usual, ruling.now) == (Told.WORSE, 50.0, 40.0)
    assert ruling.share == pytest.approx(-0.2)
    assert Told.WORSE not in told([50.0] * 10 + [60.0] * 5, more_is_worse=False)


def test_a_usual_value_of_zero_has_no_share() -> None:
    ruling = regression.judge([0.0] * 10 + [5.0] * 3)
    assert (ruling.told, ruling.share) == (Told.WORSE, None)


def test_a_rise_must_be_out_of_the_ordinary_too() -> None:
    # four of five lie above the usual value and their mean 4 % above it: so do many draws from such noise
    wild = [80.0, 120.0] * 10
    assert Told.WORSE not in told([*wild, 99.0, 120.0, 101.0, 101.0, 101.0])


def test_five_runs_in_the_gap_between_two_modes_are_a_step_of_the_lower_one() -> None:
    low, high = noisy(21, 96.75, 0.01), noisy(9, 107.65, 0.01, seed=2)
    usual = [run for three in range(9) for run in (low[2 * three], high[three], low[2 * three + 1])] + low[
        18:
    ]
    assert Told.WORSE in told(usual + noisy(5, 106.4, 0.01, seed=3))[30:]


def test_as_many_runs_of_the_higher_mode_as_ever_are_no_step() -> None:
    low, high = noisy(21, 96.75, 0.01), noisy(9, 107.65, 0.01, seed=2)
    usual = [run for three in range(9) for run in (low[2 * three], high[three], low[2 * three + 1])] + low[
        18:
    ]
    assert Told.WORSE not in told([*usual, 107.0, 97.0, 108.0, 96.0, 107.5])


def test_a_step_shows_in_noise_with_outliers() -> None:
    assert steps_found(with_outliers) >= 85


def test_a_step_shows_in_noise_of_two_uneven_modes() -> None:
    assert steps_found(of_two_modes) >= 85


def test_noise_with_outliers_is_hardly_ever_called_worse() -> None:
    assert claims_in_1500_quiet_runs(with_outliers) <= 15


def test_noise_of_two_uneven_modes_is_hardly_ever_called_worse() -> None:
    assert claims_in_1500_quiet_runs(of_two_modes) <= 15


def test_a_run_that_is_itself_below_the_usual_value_is_not_called_worse() -> None:
    usual = noisy(26, share=0.02)
    assert told([*usual, 106.0, 105.0, 107.0, 108.0, 106.0])[-1] is Told.STILL_WORSE
    assert told([*usual, 102.9, 102.5, 103.6, 104.0, 90.0])[-1] is Told.STEADY
    assert told([*usual, 90.0, 102.9, 102.5, 103.6, 104.0])[-1] is Told.STEADY


def test_a_tenth_less_is_never_called_worse() -> None:
    draw = random.Random(5)
    for _ in range(50):
        values = [100 * (1 + draw.gauss(0, 0.05)) for _ in range(30)]
        values += [90 * (1 + draw.gauss(0, 0.05)) for _ in range(5)]
        assert Told.WORSE not in told(values)[30:]


def test_something_where_there_was_nothing_is_worse_even_if_one_run_still_has_nothing() -> None:
    assert told([0.0] * 12 + [5.0, 0.0, 5.0, 5.0, 5.0])[-1] is Told.WORSE


def test_a_run_beyond_all_bounds_does_not_hide_a_step() -> None:
    usual = noisy(30)
    usual[11] = 1e300
    assert Told.WORSE in told(usual + noisy(5, 112.0, seed=2))[30:]


def test_the_same_history_gets_the_same_answer() -> None:
    values = noisy(60, share=0.08)
    assert list(regression.rulings(values)) == list(regression.rulings(values))


def of_a_machine_whose_speed_moves(runs: int, seed: int = 3) -> list[float]:
    draw = random.Random(seed)
    return [draw.choice((20.5, 21.0, 27.0, 34.0, 35.0)) * draw.uniform(0.98, 1.02) for _ in range(runs)]


def test_where_runs_scatter_widely_three_high_ones_in_a_row_are_no_change() -> None:
    usual = of_a_machine_whose_speed_moves(40)
    assert Told.WORSE not in told([*usual, 36.0, 36.5, 36.2, *usual[:10]])


def test_where_runs_scatter_widely_a_rise_takes_about_twelve_runs() -> None:
    usual = of_a_machine_whose_speed_moves(40)
    risen = [1.8 * value for value in of_a_machine_whose_speed_moves(20, seed=4)]
    assert [place for place, one in enumerate(told([*usual, *risen])) if one is Told.WORSE] == [40 + 10]


def test_where_runs_scatter_widely_a_rise_to_where_one_was_is_not_told_again() -> None:
    usual, again = of_a_machine_whose_speed_moves(40), of_a_machine_whose_speed_moves(20, seed=5)
    risen = [1.8 * value for value in of_a_machine_whose_speed_moves(12, seed=4)]
    history = [*usual, *risen, *again, *risen]
    assert told(history).count(Told.WORSE) == 1
    higher = [1.6 * value for value in risen]
    assert told([*usual, *risen, *again, *higher]).count(Told.WORSE) == 2


def test_runs_that_scatter_widely_only_of_late_count_as_such() -> None:
    quiet, late = noisy(60, level=21.0, share=0.01), [21.1, 24.9, 21.2, 24.0, 21.0, 24.5] * 2
    high = [25.5, 25.8, 25.6]
    assert Told.WORSE in told([*quiet, *high])
    assert Told.WORSE not in told([*quiet, *late, *quiet[:4], *high])[len(quiet) + len(late) :]
