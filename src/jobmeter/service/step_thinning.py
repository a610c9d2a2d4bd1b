"""Which points of a long line stay, so that nothing a chart would show is lost.

A million values are looked through by numpy where it is there already or worth its import; the choice is the same.
"""

import sys
from array import array
from collections.abc import Sequence
from itertools import chain, pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

from jobmeter.model.steps import Number
from jobmeter.stores import arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEPT_PER_STRETCH = 3


def places(values: Sequence[Number], points: int) -> Sequence[int]:
    """Keep at most `points`: the ends, and of every stretch its least, its largest and the first that is neither."""
    most = max(points, 2 + _KEPT_PER_STRETCH)
    count = len(values)
    if count <= most:
        return range(count)
    stretches = (most - 2) // _KEPT_PER_STRETCH
    edges = [count * number // stretches for number in range(stretches + 1)]
    is_fast = isinstance(values, array) and (count > arrays.MANY_VALUES or "numpy" in sys.modules)
    kept = extremes_by_numpy(values, edges) if is_fast else extremes(values, edges)
    return sorted({0, count - 1, *kept})


def extremes(values: Sequence[Number], edges: Sequence[int]) -> set[int]:
    """Choose the points of every stretch."""
    return set(chain.from_iterable(_of_stretch(values, begin, end) for begin, end in pairwise(edges)))


def _of_stretch(values: Sequence[Number], begin: int, end: int) -> list[int]:
    stretch = values[begin:end]
    odd = next((place for place, value in enumerate(stretch, begin) if not _is_finite(value)), None)
    if odd is None:
        return [begin + stretch.index(min(stretch)), begin + stretch.index(max(stretch))]
    finite = [place for place, value in enumerate(stretch, begin) if _is_finite(value)]
    found = [min(finite, key=values.__getitem__), max(finite, key=values.__getitem__)] if finite else []
    return [odd, *found]


def _is_finite(value: Number) -> bool:
    return isinstance(value, int) or isfinite(value)


def extremes_by_numpy(values: Sequence[Number], edges: Sequence[int]) -> set[int]:
    """Choose the same points of machine words."""
    import numpy as np

    known = np.asarray(values)
    begins = np.asarray(edges[:-1])
    lengths = np.diff(edges)
    finite = np.isfinite(known)
    kept: set[int] = set()
    if not finite.all():
        kept.update(_firsts(~finite, begins, lengths))
    least = known if finite.all() else np.where(finite, known, np.inf)
    largest = known if finite.all() else np.where(finite, known, -np.inf)
    lows = np.repeat(np.minimum.reduceat(least, begins), lengths)
    highs = np.repeat(np.maximum.reduceat(largest, begins), lengths)
    # equal to the stand-in of what is not finite is not enough
    kept.update(_firsts((known == lows) & finite, begins, lengths))
    kept.update(_firsts((known == highs) & finite, begins, lengths))
    return kept


def _firsts(wanted: "NDArray[Any]", begins: "NDArray[Any]", lengths: "NDArray[Any]") -> list[int]:
    """Name the first place of every stretch that is wanted, in those that have one."""
    import numpy as np

    found = np.flatnonzero(wanted)
    stretch = np.repeat(np.arange(len(begins)), lengths)[found]
    is_first = np.append(True, stretch[1:] != stretch[:-1])[: len(found)]
    firsts: list[int] = found[is_first].tolist()
    return firsts
