"""Which column of an nvidia-smi CSV holds what: by its own names, by names people gave, or by units alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from jobmeter.formats import quantity
from jobmeter.probes import nvsmitext

HEAD_BYTES = 4096
_LOOKED_AT = 200

_ALIASES = {
    "clock sm": "clocks.sm",
    "fan": "fan.speed",
    "fan speed": "fan.speed",
    "gpu mem": "memory.used",
    "gpu memory": "memory.used",
    "gpu memory total": "memory.total",
    "gpu memory used": "memory.used",
    "gpu power": "power.draw",
    "gpu temp": "temperature.gpu",
    "gpu temperature": "temperature.gpu",
    "gpu usage": "utilization.gpu",
    "gpu util": "utilization.gpu",
    "gpu utilization": "utilization.gpu",
    "mem total": "memory.total",
    "mem used": "memory.used",
    "mem util": "utilization.memory",
    "memory free": "memory.free",
    "memory max": "memory.total",
    "memory total": "memory.total",
    "memory usage": "memory.used",
    "memory used": "memory.used",
    "memory utilization": "utilization.memory",
    "power": "power.draw",
    "power draw": "power.draw",
    "power limit": "power.limit",
    "power max": "power.limit",
    "power used": "power.draw",
    "temp": "temperature.gpu",
    "temperature": "temperature.gpu",
    "temperature gpu": "temperature.gpu",
    "util": "utilization.gpu",
    "utilization": "utilization.gpu",
    "utilization gpu": "utilization.gpu",
    "utilization memory": "utilization.memory",
}
"""Headers people write, in lower case with their unit cut off, to the name of a query."""

_DEVICES = (
    "uuid", "gpu_uuid", "gpu.uuid", "pci.bus_id", "gpu_bus_id", "index", "gpu_index", "gpu_id", "gpu", "id", "device",
)  # fmt: skip
"""Columns that may tell GPUs apart, best first; one that does not is passed over."""
_TIMES = ("timestamp", "time", "datetime", "date", "ts")
_ELAPSED = (
    "elapsed",
    "elapsed_sec",
    "elapsed_s",
    "elapsed_seconds",
    "elapsed_time",
    "seconds",
    "time_s",
    "time_sec",
)
_LABELS = {"name": "name", "gpu_name": "name", "product_name": "name", "pstate": "pstate"}
_PROCESS = {"used_gpu_memory": "mem", "used_memory": "mem", "process_name": "name"}
_OF_TRAINING = frozenset(("step", "steps", "epoch", "loss", "iter", "iteration", "train_loss", "global_step"))
_UNIT_SUFFIXES = {
    "c": 1,
    "gb": 1 << 30,
    "gib": 1 << 30,
    "mb": nvsmitext.MIB,
    "mhz": nvsmitext.MHZ,
    "mib": nvsmitext.MIB,
    "mw": 0.001,
    "pct": 1,
    "percent": 1,
    "w": 1,
}
_IN_BRACKETS = re.compile(r"[\[(]\s*([^\])]*?)\s*[\])]")
_STAMP = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)?")
_CELL = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*(%|MiB|MB|GiB|W|C|MHz)")
_FEWEST_ALIASES = 3

NO_HEADER = "the file has no header: columns are told by their units and order"
NO_UNITS = "the header names no units: read in nvidia-smi's own (MiB, W, C, MHz)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What each place of a row holds."""

    certainty: float
    skip: int
    """Lines before the first row."""
    times: tuple[int, ...]
    devices: tuple[int, ...]
    quantities: dict[int, tuple[str, float]]
    labels: dict[str, int] = field(default_factory=dict)
    width: int = 0
    notes: dict[str, str] = field(default_factory=dict)

    def cut(self, line: str) -> list[str] | None:
        """Split a row; None where it is torn off, a repeated header or no row."""
        cells = nvsmitext.split_line(line)
        if len(cells) != self.width:
            return None
        kept = any(_holds(cells[place]) for place in self.quantities)
        return cells if kept else None

    def stamp(self, row: Sequence[str]) -> str:
        """Give what the row says of its time."""
        return " ".join(row[place] for place in self.times)

    def text(self, row: Sequence[str], name: str) -> str | None:
        """Give a named cell."""
        place = self.labels.get(name)
        return row[place] if place is not None and not nvsmitext.is_absent(row[place]) else None


@lru_cache(maxsize=8192)
def _holds(cell: str) -> bool:
    """Tell a cell of a row from one of a repeated header."""
    return value(cell, 1) is not None or nvsmitext.is_absent(cell)


@lru_cache(maxsize=8192)
def value(cell: str, factor: float) -> "int | float | None":
    """Read a cell; a unit of its own wins over the column's."""
    if nvsmitext.is_absent(cell):
        return None
    told = _CELL.fullmatch(cell.strip())
    if told is None:
        return nvsmitext.scaled(cell.strip(), factor)
    return nvsmitext.scaled(told[1], _CELL_UNITS[told[2]])


_CELL_UNITS = {
    "%": 1,
    "W": 1,
    "C": 1,
    "MiB": nvsmitext.MIB,
    "MB": nvsmitext.MIB,
    "GiB": 1 << 30,
    "MHz": nvsmitext.MHZ,
}


def find(lines: Sequence[str]) -> Columns | None:
    """Find the columns by the first line that is a header, else by the rows' units; None for other files."""
    for number, line in enumerate(lines[:5]):
        headers = nvsmitext.split_line(line.strip().strip('"'))
        found = _named(headers, number + 1)
        if found is not None:
            return found
    return _by_units([nvsmitext.split_line(line) for line in lines[:_LOOKED_AT]])


def _named(headers: Sequence[str], skip: int) -> Columns | None:
    names = [nvsmitext.column(header.strip('"'))[0] for header in headers]
    if _OF_TRAINING.intersection(names) or len(names) < 2:
        return None
    known = {
        place: name for place, name in enumerate(names) if name in nvsmitext.QUANTITIES or name in _PROCESS
    }
    alias = {place: name for place, name in enumerate(map(_plain, headers)) if name in _ALIASES}
    if not known and (len(alias) < _FEWEST_ALIASES or not _of_gpu(headers, alias)):
        return None
    quantities = {
        place: _quantity(known.get(place) or _ALIASES[alias[place]], headers[place])
        for place in known | alias
    }
    unsaid = not known and not any(_unit(header) for header in headers)
    labels = {_LABELS[name]: place for place, name in enumerate(names) if name in _LABELS}
    if "pid" in names:
        labels |= {"pid": names.index("pid")}
    return Columns(
        certainty=0.95 if known else 0.6,
        skip=skip,
        times=_times(names),
        devices=tuple(names.index(name) for name in _DEVICES if name in names),
        quantities={place: found for place, found in quantities.items() if found[0]},
        labels=labels,
        width=len(headers),
        notes={"units": NO_UNITS} if unsaid else {},
    )


def _times(names: Sequence[str]) -> tuple[int, ...]:
    """Find the columns of the clock, else that of the seconds gone by."""
    found = tuple(place for place, name in enumerate(names) if name in _TIMES)
    return found or tuple(place for place, name in enumerate(names) if name in _ELAPSED)[:1]


def _of_gpu(headers: Sequence[str], alias: dict[int, str]) -> bool:
    """Tell a table of a GPU from any other with a temperature: it names the GPU, or memory, power and use."""
    targets = {_ALIASES[name] for name in alias.values()}
    told = {"temperature.gpu", "utilization.gpu", "memory.used"} <= targets
    return told or any("gpu" in header.lower() for header in headers)


def _quantity(name: str, header: str) -> tuple[str, float]:
    if name in _PROCESS:
        return (_PROCESS[name], nvsmitext.MIB) if name != "process_name" else ("", 1)
    quantity_name, factor = nvsmitext.QUANTITIES[name]
    return quantity_name, _UNIT_SUFFIXES.get(_unit(header), factor)


def _plain(header: str) -> str:
    """Cut unit and punctuation off a header: `Memory_Used (MB)` is `memory used`."""
    words = re.split(r"[^a-z0-9%]+", _IN_BRACKETS.sub("", header).strip().strip('"').lower())
    words = [word for word in words if word and word != "%"]
    if len(words) > 1 and words[-1] in _UNIT_SUFFIXES:
        words.pop()
    return " ".join(words)


def _unit(header: str) -> str:
    bracket = _IN_BRACKETS.search(header)
    if bracket:
        return "percent" if bracket[1] == "%" else bracket[1].lower()
    last = re.split(r"[^a-z0-9]+", header.strip().lower())[-1]
    return last if last in _UNIT_SUFFIXES else ""


def _by_units(rows: Sequence[Sequence[str]]) -> Columns | None:
    """Tell columns of rows without a header, where their cells carry units."""
    width = len(rows[0]) if rows else 0
    whole = [row for row in rows if len(row) == width]
    if width < 2 or len(whole) * 10 < len(rows) * 9:
        return None
    columns = list(zip(*whole, strict=True))
    stamps = [place for place, cells in enumerate(columns) if all(_STAMP.fullmatch(cell) for cell in cells)]
    units = {place: unit for place, cells in enumerate(columns) if (unit := _shared_unit(cells))}
    quantities = _told_by_units(units, columns)
    if not quantities or not (stamps or len(units) > 1):
        return None
    return Columns(
        certainty=0.7 if stamps else 0.5,
        skip=0,
        times=tuple(stamps[:1]),
        devices=tuple(place for place, cells in enumerate(columns) if _is_identity(cells)),
        quantities=quantities,
        width=width,
        notes={"columns": NO_HEADER},
    )


def _shared_unit(cells: Sequence[str]) -> str:
    found = {told[2] for cell in cells if (told := _CELL.fullmatch(cell))}
    odd = [cell for cell in cells if not _CELL.fullmatch(cell) and not nvsmitext.is_absent(cell)]
    return found.pop() if len(found) == 1 and not odd else ""


def _told_by_units(units: dict[int, str], columns: Sequence[Sequence[str]]) -> dict[int, tuple[str, float]]:
    found: dict[int, tuple[str, float]] = {}
    for unit, names in (("%", ("util", "mem_util")), ("W", ("power", "power_limit"))):
        places = [place for place, known in units.items() if known == unit]
        if len(places) <= len(names):
            found |= {place: (name, 1) for place, name in zip(places, names, strict=False)}
    sizes = [place for place, unit in units.items() if unit in ("MiB", "MB")]
    if len(sizes) == 1:
        found[sizes[0]] = ("mem_used", nvsmitext.MIB)
    elif len(sizes) == 2:
        largest = max(sizes, key=lambda place: max(value(cell, 1) or 0 for cell in columns[place]))
        found |= {place: ("mem_total" if place == largest else "mem_used", nvsmitext.MIB) for place in sizes}
    return found


def _is_identity(cells: Sequence[str]) -> bool:
    """A UUID, or a small whole number that is not the same in every row."""
    if all(cell.startswith("GPU-") for cell in cells):
        return True
    numbers = [quantity.number(cell) for cell in cells]
    kinds = {number for number in numbers if isinstance(number, int)}
    return None not in numbers and kinds == set(range(len(kinds))) and len(kinds) > 1
