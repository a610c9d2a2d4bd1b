"""Which points of a long line stay."""

import math
import random
from array import array
from itertools import pairwise

import pytest

from jobmeter.model.steps import Number
from jobmeter.service import step_thinning

EDGES = [0, 3, 6, 9]


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        (array("d", [2, 1, 3, 1, 1, 1, -0.0, 0.0, 5]), {1, 2, 3, 6, 8}),
        (array("q", [2**62, 2**62 + 1, 0, 7, 7, 7, -1, -2, -3]), {1, 2, 3, 6, 8}),
        (array("d", [math.nan, 1, 2, math.inf, math.nan, math.nan, 4, -math.inf, 3]), {0, 1, 2, 3, 6, 7, 8}),
    ],
)
def test_a_stretch_keeps_its_first_least_largest_and_not_finite(
    values: "array[float]", kept: set[int]
) -> None:
    assert step_thinning.extremes(values, EDGES) == kept
    assert step_thinning.extremes_by_numpy(values, EDGES) == kept


@pytest.mark.parametrize("seed", range(20))
def test_numpy_chooses_what_python_chooses(seed: int) -> None:
    draw = random.Random(seed)
    odd = [math.nan, math.inf, -math.inf]
    values = array("d", [draw.choice([*odd, -1.0, 0.0, draw.random()]) for _ in range(500)])
    edges = sorted({0, 500, *draw.sample(range(1, 500), 60)})
    assert all(begin < end for begin, end in pairwise(edges))
    assert step_thinning.extremes_by_numpy(values, edges) == step_thinning.extremes(values, edges)


def test_a_short_line_is_kept_whole_and_whole_numbers_of_any_size_are_thinned() -> None:
    assert list(step_thinning.places([1, 2, 3], 2)) == [0, 1, 2]
    huge: list[Number] = [2**70 + n for n in range(10)]
    assert list(step_thinning.places(huge, 5)) == [0, 9]
