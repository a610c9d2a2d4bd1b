"""NVIDIA's data center monitor: long CSV (one value a row), `dcgmi dmon` columns, and the exporter's metrics.

What misleads: rows of the long form come by GPU and field, not by time; energy counts in millijoules since the
driver loaded, so windows hold what was added; frame buffer is in MiB; profiling shares go from 0 to 1.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from jobmeter.formats import dcgm_fields, monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.view import Window

ORIGIN = "dcgm"
_LONG = re.compile(
    r"(?:gpuid|gpu|entityid|gpu_id)\s*,\s*timestampus\s*,\s*field\s*,\s*values?", re.IGNORECASE
)
_METRIC = re.compile(r"(DCGM_FI_[A-Z0-9_]+)\{([^}]*)\}\s+(\S+)(?:\s+(\d+))?")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_ENTITY = re.compile(r"(GPU(?:-I|-CI)?|MIG|Switch)\s+(\S+)\s+(.*)")
_HEAD_LINES = 12

Reading = tuple[float, str, str, quantity.Number]
"""Seconds, GPU, field, value as printed."""


def sniff(head: bytes, _name: str) -> float:
    """Claim the header of the long form, the exporter's names, or dmon's header."""
    text = monitorlog.head_text(head)
    lines = text.split("\n")[:_HEAD_LINES]
    if _LONG.match(lines[0].strip().strip('"')):
        return 0.95
    if _METRIC.search(text):
        return 0.95
    return 0.9 if any(line.startswith("#Entity") for line in lines) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read every value, in order of time."""
    lines = monitorlog.text_lines(path)
    first = next((line for line in lines if line.strip()), "")
    clock = bool(_LONG.match(first.strip().strip('"')))
    if clock:
        readings, damaged = _long(path)
    elif any(_METRIC.match(line) for line in monitorlog.text_lines(path)):
        readings, damaged = _exposed(path)
        clock = bool(readings) and readings[0][0] > 0
    else:
        readings, damaged = _columns(path)
    definitions = dcgm_fields.definitions({field for _, _, field, _ in readings})
    windows: list[Window | None] = [None] * damaged
    windows += _windows(readings)
    facts = monitorlog.Facts(missing={} if clock else {"started_at": monitorlog.NO_CLOCK})
    return [monitorlog.imported(path, format=ORIGIN, definitions=definitions, windows=windows, facts=facts)]


def _long(path: Path) -> tuple[list[Reading], int]:
    readings: list[Reading] = []
    damaged = -1  # the header
    for line in monitorlog.text_lines(path):
        cells = [cell.strip().strip('"') for cell in line.split(",")]
        micro = quantity.number(cells[1]) if len(cells) == 4 else None
        value = quantity.number(cells[3]) if micro is not None else None
        if micro is not None and value is not None:
            readings.append((micro / 1e6, cells[0], cells[2], value))
        elif line.strip() and not (len(cells) == 4 and quantity.is_absent(cells[3])):
            damaged += 1
    return sorted(readings), max(damaged, 0)


def _exposed(path: Path) -> tuple[list[Reading], int]:
    readings: list[Reading] = []
    for line in monitorlog.text_lines(path):
        found = _METRIC.match(line)
        value = quantity.number(found[3]) if found else None
        if found is None or value is None:
            continue
        labels = dict(_LABEL.findall(found[2]))
        device = labels.get("UUID") or labels.get("gpu") or "0"
        at = quantity.number(found[4] or "")
        readings.append((at / 1e3 if at else 0.0, device, found[1], value))
    return readings, 0


def _columns(path: Path) -> tuple[list[Reading], int]:
    names: list[str] = []
    readings: list[Reading] = []
    number, seen = -1, set[str]()
    for line in monitorlog.text_lines(path):
        if line.startswith("#Entity"):
            names = line.split()[1:]
            continue
        row = _ENTITY.match(line.strip())
        if row is None or not names:
            continue
        device = row[2] if row[1] == "GPU" else f"{row[1]} {row[2]}"
        if device in seen or number < 0:
            number, seen = number + 1, set()
        seen.add(device)
        for name, cell in zip(names, row[3].split(), strict=False):
            value = quantity.number(cell)
            if value is not None:
                readings.append((float(number), device, name, value))
    return readings, 0


def _windows(readings: Iterable[Reading]) -> Iterator[Window]:
    before: dict[tuple[str, str], tuple[float, quantity.Number]] = {}
    for at, together in groupby(readings, key=lambda reading: reading[0]):
        values: monitorlog.Values = {}
        since = at
        for _, device, field, printed in together:
            known = dcgm_fields.find(field)
            value = known.scaled(printed)
            place = known.key, device
            if not known.counts:
                values[place] = value
                continue
            earlier = before.get(place)
            before[place] = at, value
            if earlier is not None and value >= earlier[1]:
                values[place] = quantity.tidy(value - earlier[1])
                since = min(since, earlier[0])
        if values:
            clock = {"dcgm": (since, at)} if since < at else {}
            yield Window(timestamp=at, num_samples=1, clock=clock, values=values)
