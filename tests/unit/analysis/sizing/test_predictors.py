import math

import pytest

from jobmeter.analysis import sizing
from jobmeter.analysis.sizing import inputs, peaks
from jobmeter.analysis.sizing.past import Past, Usage


def past(*amounts: float, sizes: tuple[float | None, ...] = ()) -> Past:
    known = sizes or (None,) * len(amounts)
    found = Past()
    for amount, size in zip(amounts, known, strict=True):
        found.add(Usage(amount=amount, input_bytes=size))
    return found


def test_the_past_grows_beyond_its_first_room() -> None:
    many = past(*map(float, range(40)))
    assert len(many) == 40
    assert many.amounts.tolist() == list(map(float, range(40)))
    assert math.isnan(many.inputs[39])


def test_largest_takes_the_most_that_was_ever_used() -> None:
    assert peaks.largest(past(3, 9, 4)) == 9


def test_largest_lately_forgets_what_was_long_ago() -> None:
    assert peaks.largest_lately(past(9, 1, 2, 3, 4, 5)) == 5
    assert peaks.largest_of_late(past(9, 1, 2, 3, 4, 5)) == 9
    assert peaks.largest_of_late(past(9, *([1.0] * 20))) == 1


def test_percentiles_are_interpolated_between_runs() -> None:
    assert peaks.nearly_all(past(0, 100)) == 95
    assert peaks.most(past(0, 100)) == 80


def test_two_deviations_above_the_mean() -> None:
    assert peaks.two_deviations(past(1, 3)) == 4


def test_the_decaying_percentile_follows_newer_runs() -> None:
    assert peaks.decaying(past(*[10.0] * 300, *[2.0] * 300)) == 2
    assert peaks.decaying(past(1, 2, 3)) == 3
    assert peaks.decaying(past(*[2.0] * 300, *[10.0] * 300)) == 10


GROWING = past(110, 210, 310, 410, sizes=(1e9, 2e9, 3e9, 4e9))


def test_a_line_follows_the_input() -> None:
    assert inputs.line(GROWING, 6e9) == pytest.approx(610)
    assert inputs.line_two_deviations(GROWING, 6e9) == pytest.approx(610)
    assert inputs.line_above_all(GROWING, 6e9) == pytest.approx(610)


def test_a_line_above_all_runs_lies_above_the_one_in_their_midst() -> None:
    noisy = past(100, 120, 100, 120, sizes=(1, 1, 3, 3))
    assert inputs.line(noisy, 2) == pytest.approx(110)
    assert inputs.line_above_all(noisy, 2) == pytest.approx(120)
    assert inputs.line_two_deviations(noisy, 2) == pytest.approx(130)


def test_a_line_never_promises_less_than_half_of_the_least() -> None:
    assert inputs.line(GROWING, 0) == pytest.approx(55)


def test_a_power_follows_the_input_on_logarithmic_scales() -> None:
    squares = past(1e4, 1e6, 1e8, sizes=(1e2 - 1, 1e3 - 1, 1e4 - 1))
    assert inputs.power(squares, 1e5 - 1) == pytest.approx(1e8 * math.exp(3.0))
    assert inputs.power(squares, 5e3 - 1) == pytest.approx(2.5e7)
    assert inputs.power_above_all(squares, 5e3 - 1) == pytest.approx(2.5e7)


def test_the_nearest_inputs_are_those_of_the_most_similar_size() -> None:
    runs = past(1, 2, 3, 40, 50, sizes=(10, 11, 12, 1000, 1100))
    assert inputs.nearest_few(runs, 11) == 3
    assert inputs.nearest_several(runs, 11) == 50
    assert inputs.alike(runs, 1050) == 50
    assert inputs.alike(runs, 11) == 3
    assert math.isnan(inputs.alike(runs, 100))


@pytest.mark.parametrize("name", sizing.INPUT_PREDICTORS)
def test_where_no_input_is_known_nothing_is_said(name: str) -> None:
    assert math.isnan(sizing.INPUT_PREDICTORS[name](past(5, 7, 6), 1e9))


@pytest.mark.parametrize("name", ["line", "power", "line above all", "power above all"])
def test_inputs_that_are_all_as_large_have_no_slope(name: str) -> None:
    assert math.isnan(sizing.INPUT_PREDICTORS[name](past(5, 7, 6, sizes=(4e9, 4e9, 4e9)), 8e9))


def test_the_input_is_doubted_until_amounts_go_with_it() -> None:
    assert inputs.doubt(past(1, 2, sizes=(1.0, 2.0))) == 1
    assert inputs.doubt(past(5, 5, 5, sizes=(1.0, 2.0, 3.0))) == 1
    assert inputs.doubt(past(1, 2, 3, 4, sizes=(1.0, None, 2.0, None))) == 1
    rising = tuple(map(float, range(10)))
    assert inputs.doubt(past(*rising, sizes=rising)) == pytest.approx(0.0027, abs=0.0001)
    assert inputs.doubt(past(*rising, sizes=rising[::-1])) == pytest.approx(0.0027, abs=0.0001)


def test_the_input_is_doubted_where_amounts_go_up_and_down() -> None:
    assert inputs.doubt(past(1, 5, 5, 1, sizes=(1.0, 2.0, 3.0, 4.0))) == 1
