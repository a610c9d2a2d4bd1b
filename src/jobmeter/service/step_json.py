"""Steps as JSON, a line each, straight out of their columns: a million of them in seconds.

An object per step, encoded by itself, takes ten times as long. What can mislead: JSON has no word for NaN, so a number
that is not finite is written as its name.
"""

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

import msgspec

from jobmeter.model import moments
from jobmeter.model.steps import Column, Number, StepTable, as_json

_ROWS = 4_096
_LAST_SECOND = 253_402_300_799
"""That of the year 9999: what is later is no date."""
_PRESENT = partial(filter, None)


def lines(tables: Sequence[StepTable]) -> Iterator[str]:
    """Write the steps that have a metric, each as one object."""
    for table in tables:
        for begin in range(0, len(table), _ROWS):
            yield from _portion(table, begin, min(begin + _ROWS, len(table)))


def _portion(table: StepTable, begin: int, end: int) -> Iterator[str]:
    columns = [_cells(name, column, begin, end) for name, column in table.columns.items()]
    is_full = all(column.rows is None for column in table.columns.values())
    rows = zip(*columns, strict=True) if columns else iter([()] * (end - begin))
    cells = map(", ".join, rows if is_full else map(_PRESENT, rows))
    stamps = _stamps(table, begin, end)
    told = f'"rank": {table.rank}, "source": {json.dumps(table.source)}, "metrics": {{'
    for step, stamp, cell in zip(table.steps[begin:end], stamps, cells, strict=True):
        if cell:
            yield f'{{"step": {step}, {stamp}{told}{cell}}}}}'


def _cells(name: str, column: Column, begin: int, end: int) -> list[str]:
    """Write a metric of some rows; nothing for a row without it."""
    said = json.dumps(name) + ": "
    if column.rows is None:
        return [said + value for value in _spelled(column.values[begin:end])]
    first, last = bisect_left(column.rows, begin), bisect_left(column.rows, end)
    cells = [""] * (end - begin)
    for row, value in zip(column.rows[first:last], _spelled(column.values[first:last]), strict=True):
        cells[row - begin] = said + value
    return cells


def _spelled(values: Sequence[Number]) -> list[str]:
    """Write numbers as JSON does."""
    if not values:
        return []
    given = list(values)
    texts = msgspec.json.encode(given)[1:-1].decode().split(",")
    if "null" not in texts:
        return texts
    return [
        json.dumps(as_json(value)) if text == "null" else text
        for value, text in zip(given, texts, strict=True)
    ]


def _stamps(table: StepTable, begin: int, end: int) -> list[str]:
    if table.timestamps is None:
        return [""] * (end - begin)
    return [_stamp(moment) for moment in table.timestamps[begin:end]]


def _stamp(moment: float) -> str:
    """Write when a step was; nothing where that is not known."""
    if not 0 <= moment < _LAST_SECOND:
        written = moments.iso_time(moment)
        return "" if written is None else f'"timestamp": "{written}", '
    second, milliseconds = divmod(round(moment * 1000), 1000)
    return f'"timestamp": "{_second(second)}.{milliseconds:03}Z", '


@lru_cache(maxsize=_ROWS)
def _second(second: int) -> str:
    return (moments.iso_time(float(second)) or "").partition(".")[0]
