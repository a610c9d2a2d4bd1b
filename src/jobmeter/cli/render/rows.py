"""Labelled rows of a page: label, body, and the source of the number at the right or below."""

from dataclasses import dataclass

from jobmeter.cli.render import text
from jobmeter.cli.render.screen import Screen, Style

LABEL_CELLS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """What it is about, what is said (cleaned), and the keys the number came from."""

    label: str
    body: str
    source: str = ""
    style: Style = Style.PLAIN


def lay_out(row: Row, screen: Screen) -> list[str]:
    """Fit a row into the screen: the body wraps, its source follows it or takes the next line."""
    label = screen.paint(f"{row.label:<{LABEL_CELLS}}", Style.DIM)
    room = screen.width - LABEL_CELLS if screen.width else 0
    body = text.wrap(row.body, max(room, 20)) if room else [row.body]
    lines = [screen.paint(line, row.style) for line in body]
    if row.source:
        needed = text.width(body[-1]) + 2 + text.width(row.source)
        if not room or needed <= room:
            lines[-1] += "  " + screen.paint(row.source, Style.DIM)
        else:
            lines += [screen.paint(line, Style.DIM) for line in text.wrap(row.source, max(room, 20))]
    return [(label if index == 0 else " " * LABEL_CELLS) + line for index, line in enumerate(lines)]
