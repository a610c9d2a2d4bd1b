"""Labelled rows of a page: label, body, and the source of the number at the right or below."""

from collections.abc import Iterable
from dataclasses import dataclass

from jobmeter.cli.render.screen import Screen, Style
from jobmeter.model import text

LABEL_CELLS = 10
"""The least a label takes; a longer one moves all bodies to the right, so that it never touches its own."""
LEAST_BODY_CELLS = 20


@dataclass(frozen=True, slots=True)
class Row:
    """What it is about, what is said (cleaned), and the keys the number came from."""

    label: str
    body: str
    source: str = ""
    style: Style = Style.PLAIN
    hang: int = 0
    """By how much lines after the first are set in."""
    indent: int = 0
    """By how much the first line is."""


def lay_out(rows: Iterable[Row], screen: Screen) -> list[str]:
    """Fit rows into the screen: bodies wrap, sources stand in a column of their own or on the next line."""
    found = list(rows)
    label_cells = max([LABEL_CELLS, *(text.width(row.label) + 2 for row in found)])
    room = max(screen.width - label_cells, LEAST_BODY_CELLS) if screen.width else 0
    column = _source_column(found, room)
    lines = []
    for row in found:
        labels = [screen.paint(row.label, Style.DIM) + " " * (label_cells - text.width(row.label))]
        body = _lay_out_row(row, screen, room, column)
        labels += [" " * label_cells] * (len(body) - 1)
        lines += [label + line for label, line in zip(labels, body, strict=True)]
    return lines


def _source_column(rows: list[Row], room: int) -> int:
    """Choose where sources begin: past the longest body whose source still fits beside it."""
    beside = [row for row in rows if row.source and _fits(row, text.width(row.body) + 2, room)]
    columns = sorted({text.width(row.body) + 2 for row in beside}, reverse=True)
    for column in columns:
        if all(_fits(row, max(column, text.width(row.body) + 2), room) for row in beside):
            return column
    return 0


def _fits(row: Row, column: int, room: int) -> bool:
    return not room or column + text.width(row.source) <= room


def _lay_out_row(row: Row, screen: Screen, room: int, column: int) -> list[str]:
    first, *more = text.wrap(row.body, room - max(row.hang, row.indent) if room else 0)
    # things said side by side are two spaces apart: one of them may be left over where a line breaks
    body = [line.rstrip() for line in (" " * row.indent + first, *(" " * row.hang + line for line in more))]
    lines = [screen.paint(line, row.style) for line in body]
    if row.source:
        last = text.width(body[-1])
        begin = max(column, last + 2)
        if _fits(row, begin, room):
            lines[-1] += " " * (begin - last) + screen.paint(row.source, Style.DIM)
        else:
            lines += [screen.paint(line, Style.DIM) for line in text.wrap(row.source, room)]
    return lines
