"""Aligned tables of medians and ranges, readable in a terminal and in Markdown."""

from collections.abc import Iterable, Sequence
from statistics import median


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay rows out in columns: the first to the left, the others to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    rule = ["-" * width for width in widths]

    def render(line: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "| " + " | ".join(cells) + " |"

    return "\n".join([f"## {title}", "", render(lines[0]), render(rule), *map(render, lines[1:]), ""])


def spread(values: Sequence[float], form: str) -> str:
    """Render a median with its range where there is one; a dash for no value."""
    if not values:
        return "-"
    middle = format(median(values), form)
    low, high = format(min(values), form), format(max(values), form)
    return middle if low == high else f"{middle} ({low}..{high})"


def middle(values: Sequence[float]) -> float | None:
    """Give the median, or None where nothing was measured."""
    return median(values) if values else None


def ratio(value: float | None, reference: float | None) -> str:
    """Render how many times the reference a value is."""
    if value is None or not reference:
        return "-"
    return f"{value / reference:.3f}"
