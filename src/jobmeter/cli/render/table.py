"""A table that fits: columns line up, the least important ones give way first, text is cut last.

Written here because importing rich costs more than listing ten thousand runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jobmeter.cli.render.screen import Screen, Style
from jobmeter.model import text

GAP = "  "


class Cell(NamedTuple):
    """One cleaned text and how to paint it."""

    text: str
    style: Style = Style.PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """How one column behaves when the screen is narrow."""

    title: str
    right: bool = False
    flexible: int = 0
    """The fewest cells it may be cut to; 0 is never cut."""
    optional: int = 0
    """Higher goes first when the table does not fit; 0 never goes."""


def render(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], screen: Screen) -> list[str]:
    """Lay rows out under their titles within the width of the screen."""
    return draw(columns, rows, fit(columns, rows, screen.width), screen)


def fit(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int) -> dict[int, int]:
    """Decide which columns are shown, by number, and how many cells each takes; 0 is no limit."""
    natural = [
        max([text.width(column.title), *(text.width(row[index].text) for row in rows)])
        for index, column in enumerate(columns)
    ]
    return _cut(columns, natural, _kept(columns, natural, width), width)


def draw(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], widths: dict[int, int], screen: Screen
) -> list[str]:
    """Write titles and rows in columns of the given widths."""
    titles = [Cell(column.title, Style.BOLD) for column in columns]
    return [_line(columns, row, widths, screen) for row in (titles, *rows)]


def _least(column: Column, natural: int) -> int:
    return min(natural, column.flexible) if column.flexible else natural


def _kept(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int]:
    """Choose the columns that stay: optional ones go until the rest fits when cut to its least."""
    kept = list(range(len(columns)))
    while width:
        least = sum(_least(columns[index], natural[index]) for index in kept) + len(GAP) * (len(kept) - 1)
        droppable = [index for index in kept if columns[index].optional]
        if least <= width or not droppable:
            break
        kept.remove(max(droppable, key=lambda index: columns[index].optional))
    return kept


def _cut(columns: Sequence[Column], natural: Sequence[int], kept: list[int], width: int) -> dict[int, int]:
    """Take what is too much from the widest flexible columns."""
    widths = {index: natural[index] for index in kept}
    excess = sum(widths.values()) + len(GAP) * (len(kept) - 1) - width if width else 0
    while excess > 0:
        cuttable = [
            index for index in kept if columns[index].flexible and widths[index] > columns[index].flexible
        ]
        if not cuttable:
            break
        widest = max(cuttable, key=lambda index: widths[index])
        taken = min(excess, widths[widest] - columns[widest].flexible)
        widths[widest] -= taken
        excess -= taken
    return widths


def _line(columns: Sequence[Column], row: Sequence[Cell], widths: dict[int, int], screen: Screen) -> str:
    shown = []
    last = max(widths)
    for index, cells in widths.items():
        body, padding = padded(row[index], cells)
        painted = screen.paint(body, row[index].style)
        if columns[index].right:
            shown.append(padding + painted)
        else:
            shown.append(painted if index == last else painted + padding)
    return GAP.join(shown).rstrip()


def padded(cell: Cell, cells: int) -> tuple[str, str]:
    """Cut a text to a width, and give the spaces that fill it up."""
    body = text.cut(cell.text, cells)
    return body, " " * (cells - text.width(body))
