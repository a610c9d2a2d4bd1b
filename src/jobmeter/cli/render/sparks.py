"""Lines as small as a word, and as large as a few rows, of block letters or, where there are none, of plain ones."""

from collections.abc import Sequence
from math import ceil, isfinite

BLOCKS, PLAIN = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
Values = Sequence[float | None]


def spark(values: Values, cells: int, *, floor: float | None = None, ramp: str = BLOCKS) -> str:
    """Draw a line in one row; `floor` is where it begins, the least value where there is none."""
    return rows(values, cells, 1, floor=floor, ramp=ramp)[0]


def rows(
    values: Values, cells: int, height: int, *, floor: float | None = None, ramp: str = BLOCKS
) -> list[str]:
    """Draw a line in so many rows, the highest first; of many values the largest of each stretch is drawn."""
    columns = _columns(values, cells)
    known = [value for value in columns if value is not None]
    if not known:
        return [" " * cells for _ in range(height)]
    low, high = min(known) if floor is None else floor, max(known)
    steps = len(ramp) - 1
    heights = [None if value is None else _height(value, low, high, height * steps) for value in columns]
    drawn = []
    for row in reversed(range(height)):
        filled = (0 if tall is None else min(max(tall - row * steps, 0), steps) for tall in heights)
        drawn.append("".join(ramp[part] for part in filled).ljust(cells))
    return drawn


def _height(value: float, low: float, high: float, most: int) -> int:
    """Say how tall a value is; what was measured is never invisible."""
    share = (value - low) / (high - low) if high > low else (1.0 if value > 0 else 0.0)
    return max(1, ceil(share * most))


def _columns(values: Values, cells: int) -> list[float | None]:
    count = len(values)
    if count <= cells:
        return [_largest(values[place : place + 1]) for place in range(count)]
    return [_largest(values[place * count // cells : (place + 1) * count // cells]) for place in range(cells)]


def _largest(values: Values) -> float | None:
    return max((value for value in values if value is not None and isfinite(value)), default=None)


def bar(percent: float, cells: int, *, ramp: str = BLOCKS) -> str:
    """Draw how far something is."""
    full = round(cells * min(max(percent, 0.0), 100.0) / 100)
    done, rest = ("━", "─") if ramp is BLOCKS else ("#", ".")
    return done * full + rest * (cells - full)
