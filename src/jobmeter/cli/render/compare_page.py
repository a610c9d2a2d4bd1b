"""Runs side by side on one screen: each has a letter, the best number of a row is marked with a star."""

import json
from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from jobmeter.analysis.comparison import Comparison, Difference, Figure, Phases
from jobmeter.cli.render import local_time, table
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.cli.render.table import Cell, Column
from jobmeter.model import text, units
from jobmeter.model.run import Run

UNKNOWN = "-"
_MOST_DIFFERENCES = 20
_LEAST_CELLS = 6


def render(runs: Sequence[Run], found: Comparison, screen: Screen) -> list[str]:
    """Lay the comparison out."""
    letters = ascii_uppercase[: len(runs)]
    lines = [*_legend(runs, letters, screen)]
    parts = [
        ("", list(_figures(found.figures)), 2),
        ("settings", _differences(found.config), 0),
        ("surroundings", _differences(found.environment), 0),
        *((f"phases of {one.resource}", list(_phases(one)), 0) for one in found.phases),
        ("loss at step", list(_losses(found)), 0),
    ]
    for title, rows, extra in parts:
        if rows:
            shown = extra if len(runs) == 2 or not extra else 0
            lines += ["", *_table(title, letters, rows, screen, changes=bool(shown))]
    return lines


def _legend(runs: Sequence[Run], letters: str, screen: Screen) -> Iterator[str]:
    for letter, run in zip(letters, runs, strict=True):
        started = "" if run.started_at is None else local_time.whole(run.started_at)
        what = text.clean(run.name or "") or text.command_line(run.command)
        line = "  ".join(part for part in (run.run_id, started, run.status.value, what) if part)
        room = max(screen.width - 3, 20) if screen.width else 0
        yield f"{screen.paint(letter, Style.BOLD)}  {text.cut(line, room) if room else line}"


def _table(
    title: str, letters: str, rows: Sequence[Sequence[Cell]], screen: Screen, *, changes: bool
) -> list[str]:
    head = [Column(title=title, flexible=14)]
    head += [Column(title=letter, right=True, flexible=_LEAST_CELLS) for letter in letters]
    if changes:
        head.append(Column(title="CHANGE", right=True))
    return table.render(head, [row[: len(head)] for row in rows], screen)


def _figures(figures: Sequence[Figure]) -> Iterator[list[Cell]]:
    for one in figures:
        cells = [Cell(one.key)]
        for place, value in enumerate(one.values):
            best = place == one.winner
            shown = UNKNOWN if value is None else units.format_amount(value, one.unit)
            cells.append(Cell(f"{shown} *" if best else f"{shown}  ", Style.GOOD if best else Style.PLAIN))
        change = one.changes[-1]
        yield [*cells, Cell(UNKNOWN if change is None else f"{change:+.1f} %")]


def _differences(found: Sequence[Difference]) -> list[list[Cell]]:
    rows = [[Cell(text.clean(one.path)), *map(_setting, one.values)] for one in found[:_MOST_DIFFERENCES]]
    left = len(found) - len(rows)
    if left:
        rows.append([Cell(f"and {left} more"), *(Cell("") for _ in found[0].values)])
    return rows


def _setting(value: object) -> Cell:
    if value is None:
        return Cell(UNKNOWN)
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return Cell(text.command_line(value))
    return Cell(text.clean(value if isinstance(value, str) else json.dumps(value, default=str)))


def _phases(one: Phases) -> Iterator[list[Cell]]:
    for number in range(max(map(len, one.runs))):
        cells = [Cell(f"{number + 1}")]
        for run in one.runs:
            part = run[number] if number < len(run) else None
            shown = UNKNOWN if part is None else f"{units.format_seconds(part.seconds)}, {part.shown}"
            cells.append(Cell(shown))
        yield cells


def _losses(found: Comparison) -> Iterator[list[Cell]]:
    for step, values in found.losses:
        yield [Cell(units.format_count(step)), *(Cell(units.format_metric(value)) for value in values)]
