"""Power and energy logs with a header of their own: `timestamp,gpu_power_w,gpu_energy_kwh,...`.

A column says its unit in its name. Where the numbers cannot be in that unit (a GPU of 4,939 W) the column keeps its
numbers without a unit, with every column computed from it, and the run says so: nothing is converted on a guess.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import monitorlog, quantity, stamps
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Measurement, Scope, Unit
from jobmeter.model.view import Window
from jobmeter.probes import nvsmitext

ORIGIN = "power_csv"
_LOOKED_AT = 2000
_TIMES = frozenset(
    ("timestamp", "time", "datetime", "date", "ts", "elapsed", "seconds", "time_s", "elapsed_s")
)
_UNITS: dict[str, tuple[Unit, float]] = {
    "w": (Unit.WATTS, 1), "watt": (Unit.WATTS, 1), "watts": (Unit.WATTS, 1), "mw": (Unit.WATTS, 1e-3),
    "kw": (Unit.WATTS, 1e3), "uw": (Unit.WATTS, 1e-6),
    "j": (Unit.JOULES, 1), "joule": (Unit.JOULES, 1), "joules": (Unit.JOULES, 1), "mj": (Unit.JOULES, 1e-3),
    "uj": (Unit.JOULES, 1e-6), "kj": (Unit.JOULES, 1e3), "wh": (Unit.JOULES, 3600.0), "kwh": (Unit.JOULES, 3.6e6),
    "kg": (Unit.NONE, 1), "g": (Unit.NONE, 1),
}  # fmt: skip
_SOURCES = re.compile(r"cpu|gpu|ram|dram|pkg|package|core|total|power|energy|psys|soc|system", re.IGNORECASE)
_MOST_WATTS = {"gpu": 2000, "cpu": 2000, "ram": 500, "dram": 500}
"""More than any one device of the kind draws."""
_FEWEST = 1


@dataclass(frozen=True, slots=True)
class _Column:
    place: int
    header: str
    key: str
    unit: Unit
    factor: float
    counts: bool
    """Energy of each interval, to be added up."""


def sniff(head: bytes, _name: str) -> float:
    """Claim a header with a time first and columns that name power or energy and its unit."""
    header = monitorlog.head_text(head).partition("\n")[0]
    names = [name.strip().strip('"') for name in header.split(",")]
    if any(nvsmitext.column(name)[0] in nvsmitext.QUANTITIES for name in names):
        return 0.0
    columns = [name for name in names[1:] if (told := _unit(name)) and told[0] is not Unit.NONE]
    return 0.6 if names[0].lower() in _TIMES and len(columns) >= _FEWEST else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per row."""
    rows = list(islice(_rows(path), _LOOKED_AT))
    if len(rows) < 2:
        raise UsageError(f"{path.name} has a header and no rows", hint="give a log that was sampled")
    clock = stamps.Clock.of([row[0] for row in rows[1:51]])
    columns, notes = _columns(rows[0], rows[1:])
    definitions: dict[str, Measurement] = {}
    for column in columns:
        make = monitorlog.counter if column.counts else monitorlog.gauge
        definitions[column.key] = make(column.key, column.unit, f"{column.header} of the file", Scope.HOST)

    def windows(source: Path) -> Iterator[Window | None]:
        return _windows(source, columns, clock)

    facts = monitorlog.Facts(missing=clock.missing, inexact=clock.notes | notes)
    return [monitorlog.imported(path, format=ORIGIN, definitions=definitions, windows=windows, facts=facts)]


def _rows(path: Path) -> Iterator[list[str]]:
    for row in map(monitorlog.csv_cells, monitorlog.text_lines(path)):
        if row:
            yield [cell.strip() for cell in row]


def _unit(header: str) -> tuple[Unit, float] | None:
    """Read the unit a header ends in: `gpu_power_w`, `CPU Power (W)`, `energy[J]`."""
    words = re.split(r"[^A-Za-z0-9]+", header.strip())
    words = [word for word in words if word]
    if len(words) < 2 or not _SOURCES.search(" ".join(words[:-1])):
        return None
    return _UNITS.get(words[-1].lower())


def _columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[_Column], dict[str, str]]:
    found: list[_Column] = []
    notes: dict[str, str] = {}
    for place, header in enumerate(names[1:], 1):
        told = _unit(header)
        if told is None:
            continue
        unit, factor = told
        numbers = [
            value for row in rows if place < len(row) and (value := quantity.number(row[place])) is not None
        ]
        lie = _lie(header, unit, factor, numbers)
        if lie:
            notes[_key(header)] = lie
        rises = all(later >= earlier for earlier, later in pairwise(numbers)) and len(set(numbers)) > 1
        counts = unit is Unit.JOULES and not rises
        found.append(_Column(place, header, _key(header), unit, factor, counts))
    return (_doubted(found, notes), notes) if notes else (found, notes)


def _lie(header: str, unit: Unit, factor: float, numbers: Sequence[quantity.Number]) -> str:
    """Say where the numbers cannot be in the unit that the header names."""
    kind = next((kind for kind in _MOST_WATTS if kind in header.lower()), None)
    if unit is not Unit.WATTS or kind is None or not numbers:
        return ""
    largest = max(numbers) * factor
    if largest <= _MOST_WATTS[kind]:
        return ""
    return (
        f"{header} goes up to {quantity.tidy(largest)} W, more than any {kind.upper()} draws: another unit, "
        "perhaps milliwatts; kept as printed, without a unit"
    )


def _doubted(columns: Sequence[_Column], notes: dict[str, str]) -> list[_Column]:
    """Take the unit from a column that lies and from those of the same device computed from it."""
    devices = {key.split("_")[1] for key in notes}
    found = []
    for column in columns:
        if column.key.split("_")[1] not in devices:
            found.append(column)
            continue
        notes.setdefault(
            column.key, f"{column.header} may be computed from a column in another unit: as printed"
        )
        found.append(_Column(column.place, column.header, column.key, Unit.NONE, 1, counts=False))
    return found


def _key(header: str) -> str:
    """Name a key by its header without the unit: `gpu_power_w` is `power_gpu_power`."""
    words = [word for word in re.split(r"[^a-z0-9]+", header.lower()) if word]
    return "power_" + "_".join(words[:-1])


def _windows(path: Path, columns: Sequence[_Column], clock: stamps.Clock) -> Iterator[Window | None]:
    before: float | None = None
    for number, row in enumerate(islice(_rows(path), 1, None)):
        at = clock.seconds(row[0]) if clock.known else quantity.number(row[0])
        at = float(number) if at is None and not clock.known else at
        values: monitorlog.Values = {}
        for column in columns:
            value = quantity.number(row[column.place]) if column.place < len(row) else None
            if value is not None:
                values[column.key, ""] = value if column.factor == 1 else quantity.tidy(value * column.factor)
        if at is None or not values:
            yield None
            continue
        spans = (
            {"power": (before, float(at))} if before is not None and any(c.counts for c in columns) else {}
        )
        yield Window(timestamp=float(at), num_samples=1, clock=spans, values=values)
        before = float(at)
