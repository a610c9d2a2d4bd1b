"""Numbers of a RAPL reader kept without a header: columns of energy or power and one of seconds that rises.

Which column is which domain, and whether it is joules or watts, such a file does not say: the columns are kept as
they are, numbered, without a unit. Only the column of seconds can be told.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Scope, Unit
from jobmeter.model.view import Window

ORIGIN = "rapl_csv"
_LOOKED_AT = 200
_FEWEST_ROWS, _FEWEST_COLUMNS, _MOST_COLUMNS = 3, 2, 12
_MARKS = ("rapl", "energy", "power", "joule", "watt")
UNSAID = "no header: neither the domain nor the unit of a column is said; kept as printed"


def sniff(head: bytes, name: str) -> float:
    """Claim rows of numbers with a rising column, where the file's name speaks of energy."""
    if not any(mark in name.lower() for mark in _MARKS):
        return 0.0
    text = monitorlog.head_text(head)
    lines = [line for line in text.split("\n") if line.strip()]
    rows = [_numbers(line) for line in (lines if text.endswith("\n") else lines[:-1])[:_LOOKED_AT]]
    return 0.5 if _clock_column(rows) is not None else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per row."""
    rows = [_numbers(line) for line in islice(monitorlog.text_lines(path), _LOOKED_AT) if line.strip()]
    time = _clock_column(rows)
    if time is None:
        raise UsageError(
            f"{path.name} has no column of seconds that rises", hint="keep the header of the log"
        )
    width = len(rows[0] or ())
    keys = {place: f"raplcsv_column{place + 1}" for place in range(width) if place != time}
    definitions = monitorlog.table(
        monitorlog.gauge(key, Unit.NONE, f"column {place + 1} of the file, as printed", Scope.HOST)
        for place, key in keys.items()
    )

    def windows(source: Path) -> Iterator[Window | None]:
        for line in monitorlog.text_lines(source):
            numbers = _numbers(line)
            if line.strip() and (numbers is None or len(numbers) != width):
                yield None
            elif numbers is not None:
                values: monitorlog.Values = {(key, ""): numbers[place] for place, key in keys.items()}
                yield Window(timestamp=float(numbers[time]), num_samples=1, clock={}, values=values)

    facts = monitorlog.Facts(
        missing={"started_at": "the file counts seconds from its own beginning"}, inexact={"columns": UNSAID}
    )
    return [monitorlog.imported(path, format=ORIGIN, definitions=definitions, windows=windows, facts=facts)]


def _numbers(line: str) -> list[quantity.Number] | None:
    numbers = [quantity.number(cell) for cell in line.split(",")]
    known = [number for number in numbers if number is not None]
    return known if len(known) == len(numbers) else None


def _clock_column(rows: Sequence[Sequence[quantity.Number] | None]) -> int | None:
    """Find the one column that rises from row to row, the last or the first."""
    whole = [row for row in rows if row is not None]
    width = len(whole[0]) if whole else 0
    if len(whole) < _FEWEST_ROWS or len(whole) != len(rows) or not _FEWEST_COLUMNS <= width <= _MOST_COLUMNS:
        return None
    if any(len(row) != width for row in whole):
        return None
    for place in (width - 1, 0):
        if all(later[place] > earlier[place] for earlier, later in pairwise(whole)):
            return place
    return None
