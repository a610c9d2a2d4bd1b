"""Which families a line may be of, found once for all lines of a shape.

Fifteen families are tried in order, and a log repeats a few shapes again and again: which of them can be nothing but
silent on a line depends on its shape alone. What a family makes of a line depends on the lines before as well, and is
never kept.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from jobmeter.formats.steplines import shapes
from jobmeter.formats.steplines.row import Memory, Row

Parser = Callable[[str, Memory], Row | None]
_LONGEST = 1_000
"""Longer lines are rare, and shapes of them not worth their memory."""
_MOST = 2_048
_LONG_RUNS = tuple((b"0" * (8 + more), b"0" * 8) for more in (8, 4, 2, 1))
"""No pattern counts more than seven digits: longer runs, as fractions have them, are much the same."""


class Family(NamedTuple):
    """One family of lines."""

    may_be: Callable[[str], bool]
    """Whether a line may be of it, asked of the line with a zero for every digit; False must be certain, and then
    `parse` neither gives a row nor remembers anything."""
    parse: Parser


class Families:
    """All families, in the order they are tried."""

    def __init__(self, families: dict[str, Family]) -> None:
        self._families = families
        self._all = tuple((name, family.parse) for name, family in families.items())
        self._fitting = lru_cache(maxsize=_MOST)(self._fit)

    def of(self, text: str) -> tuple[tuple[str, Parser], ...]:
        """Give those that a line may be of."""
        if len(text) > _LONGEST:
            return self._all
        shape = shapes.zeroed_bytes(text)
        if _LONG_RUNS[-1][0] in shape:
            for run, short in _LONG_RUNS:
                shape = shape.replace(run, short)
        return self._fitting(shape)

    def _fit(self, shape: bytes) -> tuple[tuple[str, Parser], ...]:
        text = shape.decode("utf-8", "surrogatepass")
        return tuple((name, family.parse) for name, family in self._families.items() if family.may_be(text))
