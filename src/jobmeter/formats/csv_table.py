"""Tables of numbers as training tools write them: CSV with padded names, empty cells, CRLF, a byte order mark.

What misleads: an empty cell is a metric this row did not have, not 0; a row that is shorter than the header was
cut off; a logger that restarted wrote its header again in the middle.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jobmeter.formats import content, figures
from jobmeter.model.view import Step

_DELIMITERS = ",;\t"
_MOMENTS = ("timestamp", "created_at", "wall_time", "datetime", "date")
_SPLITS = ("split", "phase", "type", "mode", "stage", "set", "subset", "partition")
_EVALUATIONS = frozenset(("val", "valid", "validation", "eval", "evaluation", "test", "testing", "dev"))


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a table: names without their padding, and what parts them."""

    names: tuple[str, ...]
    delimiter: str

    def find(self, *wanted: str) -> str | None:
        """Give the first of the wanted names that is there, as it is spelled there."""
        spelled = {name.lower(): name for name in reversed(self.names)}
        return next((spelled[name] for name in wanted if name in spelled), None)


def header(line: str) -> Header | None:
    """Read a header; None for a line that is none: one column, a number among the names, a name twice."""
    delimiter = max(_DELIMITERS, key=line.count)
    try:
        cells = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return None
    names = tuple(cell.strip() for cell in cells)
    if (
        len(names) < 2
        or len(set(names)) < len(names)
        or any(figures.figure(name) is not None for name in names)
    ):
        return None
    return Header(names, delimiter)


def sniffed(head: bytes) -> tuple[Header, dict[str, str]] | None:
    """Read the header and the first row out of the beginning of a file; the row may be missing."""
    lines = content.whole_lines(head)
    found = header(lines[0]) if lines and "\0" not in lines[0] else None
    if found is None:
        return None
    first = next(_rows(lines[1:], found), {})
    return found, first


@dataclass(frozen=True, slots=True)
class Table:
    """One file and how its rows become steps."""

    path: Path
    header: Header
    step: str
    source: str

    def steps(self) -> Iterator[Step]:
        """Walk the rows that have a step and at least one number."""
        moment, split = self.header.find(*_MOMENTS), self.header.find(*_SPLITS)
        without = frozenset(name for name in (self.step, moment) if name is not None)
        for row in self.rows():
            number = figures.whole(row.get(self.step))
            metrics = _of_split(figures.metrics(row, without=without), row.get(split or "", ""))
            if number is None or not metrics:
                continue
            stamp = None if moment is None else figures.moment(row.get(moment, ""))
            yield Step(timestamp=stamp, step=number, rank=0, source=self.source, metrics=metrics)

    def rows(self) -> Iterator[dict[str, str]]:
        """Walk the rows as cells by name."""
        lines = content.lines(self.path)
        next(lines, None)
        yield from _rows(lines, self.header)

    def dropped(self, steps: int) -> int:
        """Count the lines that gave no step, empty ones aside, by how many steps there are."""
        lines = sum(1 for line in content.lines(self.path) if line.strip())
        return max(0, lines - 1 - steps)


def _of_split(metrics: dict[str, int | float], split: str) -> dict[str, int | float]:
    """Name the metrics of a row that says which data it was measured on; those of the training keep theirs."""
    word = split.lower()
    if word not in _EVALUATIONS:
        return metrics
    return {name if name.lower() == "epoch" else f"{word}/{name}": value for name, value in metrics.items()}


def table(path: Path, source: str, *steps: str) -> Table | None:
    """Open a table by its header; None where it has none of the step columns."""
    found = header(next(content.lines(path), ""))
    step = found.find(*steps) if found is not None else None
    return None if found is None or step is None else Table(path, found, step, source)


def _rows(lines: Iterator[str] | list[str], header: Header) -> Iterator[dict[str, str]]:
    rows = csv.reader((line for line in lines if "\0" not in line), delimiter=header.delimiter)
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error:
            continue  # a cell of more than 128 KiB, an odd quote: not a row of numbers
        if len(cells) != len(header.names):
            continue
        yield {name: cell.strip() for name, cell in zip(header.names, cells, strict=True) if cell.strip()}
