"""One long table: `timestamp,key,instance,value,step,source`, a row per value that was stored.

What a training logged stands under `step_` and its name, with the rank as the instance; only these rows have a
step and a source.

Text that a spreadsheet would take for a formula gets a quote in front: a command line is somebody else's
text. Numbers stay numbers.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping

from jobmeter.exporters import WHOLE
from jobmeter.model.moments import iso_time
from jobmeter.model.run import Value
from jobmeter.model.view import RunView, Window

COLUMNS = ("timestamp", "key", "instance", "value", "step", "source")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

Row = tuple[str, str, str, Value, Value, str]


def render(view: RunView, windows: Iterable[Window], *, prefix: str) -> Mapping[str, Iterable[bytes]]:
    """Render every stored value and every step metric of a run as CSV."""
    del prefix  # one document names no other
    return {WHOLE: _lines(view, windows)}


def _lines(view: RunView, windows: Iterable[Window]) -> Iterator[bytes]:
    buffer = io.StringIO()
    table = csv.writer(buffer, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in _rows(view, windows):
        table.writerow([safe(cell) for cell in row])
        if buffer.tell() > io.DEFAULT_BUFFER_SIZE:
            yield _taken(buffer)
    yield _taken(buffer)


def _taken(buffer: io.StringIO) -> bytes:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text.encode("utf-8", "backslashreplace")


def safe(cell: Value) -> Value:
    """Keep a text from being run as a formula by whoever opens the table."""
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return cell


def _rows(view: RunView, windows: Iterable[Window]) -> Iterator[Row]:
    for window in windows:
        timestamp = iso_time(window.timestamp) or ""
        for (key, instance), value in window.values.items():
            yield timestamp, key, instance, _tally(value) if isinstance(value, dict) else value, "", ""
    for step in view.steps:
        timestamp = iso_time(step.timestamp) or ""
        for metric, number in step.metrics.items():
            yield timestamp, f"step_{metric}", str(step.rank), number, step.step, step.source


def _tally(states: dict[str, int]) -> str:
    return " ".join(f"{state}:{seen}" for state, seen in states.items())
