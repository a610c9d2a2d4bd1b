"""Lines of letters: right in their heights, never wider than asked, honest about what was not measured."""

import math

import pytest

from jobmeter.cli.render import sparks


@pytest.mark.parametrize(
    ("values", "cells", "floor", "drawn"),
    [
        ([0, 4, 8], 3, 0.0, "▁▄█"),
        ([4, 8], 2, None, "▁█"),
        ([1, 2], 6, 0.0, "▄█    "),
        ([], 4, 0.0, "    "),
        ([None, math.nan, 5], 3, 0.0, "  █"),
        ([7, 7, 7], 3, None, "███"),
        ([0, 0], 2, 0.0, "▁▁"),
        ([-3, -1], 2, None, "▁█"),
    ],
)
def test_a_line_is_as_high_as_its_values(
    values: list[float | None], cells: int, floor: float | None, drawn: str
) -> None:
    assert sparks.spark(values, cells, floor=floor) == drawn


def test_of_many_values_the_largest_of_each_stretch_is_drawn() -> None:
    values = [1.0] * 100
    values[37] = 100.0
    assert sparks.spark(values, 10, floor=0.0) == "▁▁▁█▁▁▁▁▁▁"


def test_several_rows_carry_one_line() -> None:
    assert sparks.rows([8, 16], 2, 2, floor=0.0) == [" █", "██"]


def test_where_there_are_no_block_letters_plain_ones_do() -> None:
    assert sparks.spark([0, 4, 8], 3, floor=0.0, ramp=sparks.PLAIN) == ".=@"
    assert sparks.bar(50, 4, ramp=sparks.PLAIN) == "##.."


@pytest.mark.parametrize(
    ("percent", "drawn"), [(0, "────"), (50, "━━──"), (100, "━━━━"), (250, "━━━━"), (-1, "────")]
)
def test_a_bar_stays_within_its_cells(percent: float, drawn: str) -> None:
    assert sparks.bar(percent, 4) == drawn
