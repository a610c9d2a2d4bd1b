"""dstat's CSV: a preamble, a row of groups, a row of columns, then one row a sample.

What misleads: times are day-month without a year (the preamble has it); the first row is the mean since boot; disk,
network and paging are bytes a second; large numbers come as 2.05011812352e+11.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import iostat, monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Measurement, Scope, Unit
from jobmeter.model.view import Window

ORIGIN = "dstat"
_PREAMBLE_ROWS = 20
_STAMP = re.compile(r"(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)")
_CPU = re.compile(r"(?:total )?cpu(\d*) usage")
_TIMES = frozenset(("time", "date/time", "epoch"))
_YEAR_BACK = 180 * 86400


@dataclass(frozen=True, slots=True)
class _Column:
    place: int
    key: str
    instance: str
    unit: Unit
    about: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class _Preamble:
    facts: dict[str, str]
    rows: int
    """Before the first sample."""
    time: int | None
    epoch: bool
    columns: tuple[_Column, ...]


def sniff(head: bytes, _name: str) -> float:
    """Claim dstat's title, also that of its successor in PCP."""
    title = monitorlog.head_text(head).partition("\n")[0].lower()
    return 1.0 if "dstat" in title and "csv output" in title else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per sample."""
    preamble = _preamble(path)
    facts = preamble.facts
    written = quantity.moment(facts.get("Date:", ""))
    year = datetime.fromtimestamp(written.seconds, UTC).year if written else None
    notes = {"first_sample": iostat.SINCE_BOOT}
    if not preamble.epoch:
        notes["started_at"] = monitorlog.NO_ZONE if year else "the file names no year: 1970 stands in"
    definitions: dict[str, Measurement] = {
        column.key: monitorlog.gauge(column.key, column.unit, column.about, column.scope)
        for column in preamble.columns
    }

    def windows(source: Path) -> Iterator[Window | None]:
        return _windows(source, preamble, year or 1970)

    return [
        monitorlog.imported(
            path,
            format=ORIGIN,
            definitions=definitions,
            windows=windows,
            facts=monitorlog.Facts(
                host=facts.get("Host:"),
                user=facts.get("User:"),
                inexact=notes,
                context={"dstat": {"cmdline": facts["Cmdline:"]}} if "Cmdline:" in facts else {},
            ),
        )
    ]


def _preamble(path: Path) -> _Preamble:
    facts: dict[str, str] = {}
    before: list[str] = []
    for number, row in enumerate(
        islice(map(monitorlog.csv_cells, monitorlog.text_lines(path)), _PREAMBLE_ROWS)
    ):
        filled = [cell for cell in row if cell]
        facts |= {name: value for name, value in pairwise(row) if name.endswith(":") and value}
        if len(before) == len(row) and len(filled) == len(row) > 1 and not any(map(quantity.number, row)):
            return _Preamble(facts, number + 1, *_columns(before, row))
        before = row
    raise UsageError(f"{path.name} has no columns", hint="give what dstat --output wrote, from its beginning")


def _columns(groups: Sequence[str], names: Sequence[str]) -> tuple[int | None, bool, tuple[_Column, ...]]:
    time, epoch, group = None, False, ""
    columns: list[_Column] = []
    for place, name in enumerate(names):
        group = groups[place] or group
        if name in _TIMES:
            time, epoch = place, name == "epoch"
        else:
            columns.append(_column(place, group, name))
    return time, epoch, tuple(columns)


def _column(place: int, group: str, name: str) -> _Column:
    kind, slash, device = group.partition("/")
    cpu = _CPU.fullmatch(group)
    instance = cpu[1] if cpu else device if slash and device != "total" else ""
    word = "cpu" if cpu else {"memory usage": "mem", "load avg": "load"}.get(kind, kind)
    unit, suffix = Unit.NONE, ""
    if cpu:
        unit = Unit.PERCENT
    elif word in ("mem", "swap"):
        unit = Unit.BYTES
    elif word in ("dsk", "net", "paging"):
        unit, suffix = Unit.BYTES_PER_SECOND, "_rate"
    elif word in ("io", "system") or name == "new":
        unit, suffix = Unit.COUNT, "_rate"
    key = f"dstat_{_slug(word)}_{_slug(name)}{suffix}"
    about = f"{name} of {group}{' a second' if suffix else ''}"
    return _Column(place, key, instance, unit, about, Scope.DEVICE if instance else Scope.HOST)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _windows(path: Path, preamble: _Preamble, year: int) -> Iterator[Window | None]:
    at, number = 0.0, 0
    for row in islice(map(monitorlog.csv_cells, monitorlog.text_lines(path)), preamble.rows, None):
        if not row:
            continue
        moment = _seconds(row, preamble, year) if preamble.time is not None else float(number)
        values: monitorlog.Values = {}
        for column in preamble.columns:
            value = quantity.number(row[column.place]) if column.place < len(row) else None
            if value is not None:
                values[column.key, column.instance] = value
        if moment is None or not values:
            yield None
            continue
        if moment < at - _YEAR_BACK:
            year += 1
            moment = _seconds(row, preamble, year) or moment
        at, number = moment, number + 1
        yield Window(timestamp=at, num_samples=1, clock={}, values=values)


def _seconds(row: Sequence[str], preamble: _Preamble, year: int) -> float | None:
    cell = row[preamble.time] if preamble.time is not None and preamble.time < len(row) else ""
    if preamble.epoch:
        number = quantity.number(cell)
        return None if number is None else float(number)
    found = _STAMP.fullmatch(cell.strip())
    if found is None:
        told = quantity.moment(cell)
        return None if told is None else told.seconds
    day, month, hour, minute, second = (int(part) for part in found.groups())
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None
