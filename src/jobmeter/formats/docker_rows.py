"""Rows of `docker stats`, however they were kept: its table, CSVs people made of it, its JSON lines.

Cells are told by their header, else by their shape: `0.5%` is CPU, then memory; `10MiB / 2GiB` is memory and
limit, then network, then block. A memory without a unit anywhere stays a plain number.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from jobmeter.formats import monitorlog, quantity, stamps
from jobmeter.formats.docker_keys import Container
from jobmeter.model.run import Limits, Value
from jobmeter.model.view import Window

HEAD_BYTES = 4096
_LOOKED_AT = 400
_THOUSAND = 1000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PAIR = re.compile(r"([\d.]+\s*[kKMGT]?i?B)\s*/\s*([\d.]+\s*[kKMGT]?i?B)")
_PERCENT = re.compile(r"[\d.]+\s*%")
_NEXT = re.compile(r"(?<=B)\s+(?=[0-9a-f]{12}[,;\t])")
"""Where somebody put all containers of a moment into one line."""
_BRACKETS = re.compile(r"[\[(]([^\[\]()]*)[\])]")

_HEADERS = {
    "time": "time date datetime timestamp ts",
    "name": "name names container containername",
    "id": "containerid id",
    "cpu": "cpu cpuperc cpupercent cpupercentage cpuusage cpuutilization",
    "mem": "mem memory memusage memoryusage memused memoryused memusagelimit memoryusagelimit",
    "limit": "memlimit memorylimit limit",
    "pmem": "memperc mempercent memorypercent memorypercentage mempercentage",
    "net": "netio networkio net",
    "net_rx": "netrx netinput netin neti netioreceived networkin networkrx",
    "net_tx": "nettx netoutput netout neto netiotransmitted networkout networktx",
    "blk": "blockio blkio block",
    "blk_read": "blockread blkread blockioread blockinput blocki",
    "blk_write": "blockwrite blkwrite blockiowrite blockoutput blocko",
    "pids": "pids pid",
}
_MEANINGS = {word: meaning for meaning, words in _HEADERS.items() for word in words.split()}
_UNITS = {"b": 1, "kb": 1000, "kib": 1 << 10, "mb": 1 << 20, "mib": 1 << 20, "gb": 1 << 30, "gib": 1 << 30}
"""Of headers; docker prints memory in 1,024s, whatever people then write above it."""
_MEMORY = frozenset(("mem", "limit"))

Row = dict[str, str]
"""Cells by meaning; `mem.unit` holds what the header says."""


def certainty(lines: Sequence[str], name: str) -> float:
    """Say how surely lines are of docker."""
    if not lines:
        return 0.0
    first = _ANSI.sub("", lines[0])
    if first.startswith("CONTAINER") and "MEM USAGE" in first:
        return 0.95
    for line in lines[:3]:
        told = [meaning for meaning, _ in _meanings(_split(line))]
        meanings = set(told) if len(told) <= 2 * len([meaning for meaning in told if meaning]) else set()
        contained = "container" in line.lower() or "docker" in name.lower()
        if "cpu" in meanings and {"mem", "pmem"} & meanings and contained:
            return 0.8
    told = [line for line in lines[:40] if quantity.moment(line.strip("=-# ")) is None]
    shaped = [line for line in told if _PAIR.search(line) and _PERCENT.search(line)]
    return 0.6 if shaped and len(shaped) * 10 >= len(told) * 8 else 0.0


def read(path: Path) -> list[Container]:
    """Read the containers of a text file."""
    rows = list(_rows(path))
    clock = stamps.Clock.of([row["time"] for row in islice(rows, _LOOKED_AT) if "time" in row])
    return _containers(rows, clock)


def from_records(records: Iterable[Mapping[str, object]]) -> list[Container]:
    """Read the containers of JSON lines."""
    rows = []
    for record in records:
        cells = {_meaning(key)[0]: str(value) for key, value in record.items()}
        rows.append({meaning: cell for meaning, cell in cells.items() if meaning})
    return _containers(rows, stamps.Clock.of([row["time"] for row in rows if "time" in row]))


def _rows(path: Path) -> Iterator[Row]:
    columns: list[tuple[str, str]] = []
    date = ""
    for raw in monitorlog.text_lines(path):
        line = _ANSI.sub("", raw).strip().strip('"')
        cells = _split(line)
        meanings = _meanings(cells)
        if {"cpu", "mem"} <= {meaning for meaning, _ in meanings} or {"cpu", "pmem"} <= {
            m for m, _ in meanings
        }:
            columns = meanings
            continue
        if len(cells) < 3:
            between = line.strip("=-# ")
            date = between if quantity.moment(between) else date
            continue
        if len(columns) == len(cells):
            rows = [_named(columns, cells)]
        else:
            rows = [_shaped(_split(piece)) for piece in _NEXT.split(line)]
            date = rows[0].get("time", date) if len(rows) > 1 else date
        for row in rows:
            if "cpu" in row or "mem" in row:
                yield row if "time" in row or not date else row | {"time": date}


def _split(line: str) -> list[str]:
    for delimiter in ("\t", ";", ","):
        if delimiter in line:
            return [cell.strip().strip('"') for cell in line.split(delimiter)]
    return re.split(r"\s{2,}", line.strip())


def _meanings(cells: Sequence[str]) -> list[tuple[str, str]]:
    return [_meaning(cell) for cell in cells]


def _meaning(header: str) -> tuple[str, str]:
    """Say what a header means and which unit it names."""
    bracket = _BRACKETS.search(header)
    word = re.sub(r"[^a-z%]+", "", _BRACKETS.sub("", header).lower())
    unit = bracket[1].strip().lower() if bracket else ""
    if "%" in word:
        base = word.replace("%", "")
        return {"cpu": "cpu", "mem": "pmem", "memory": "pmem"}.get(base, ""), "%"
    for suffix in ("mib", "mb", "gib", "gb", "kib", "kb"):
        if word not in _MEANINGS and word.removesuffix(suffix) in _MEANINGS:
            return _MEANINGS[word.removesuffix(suffix)], suffix
    return _MEANINGS.get(word, ""), unit if unit in _UNITS else ""


def _named(columns: Sequence[tuple[str, str]], cells: Sequence[str]) -> Row:
    row: Row = {}
    for (meaning, unit), cell in zip(columns, cells, strict=True):
        if meaning and not quantity.is_absent(cell):
            row[meaning] = cell
            if unit in _UNITS:
                row[f"{meaning}.unit"] = unit
    return row


def _shaped(cells: Sequence[str]) -> Row:
    """Tell cells by their shape and order."""
    row: Row = {}
    for cell in cells:
        meaning = ""
        if _PERCENT.fullmatch(cell):
            meaning = _next(row, ("cpu", "pmem"))
        elif _PAIR.fullmatch(cell):
            meaning = _next(row, ("mem", "net", "blk"))
        elif "mem" not in row and "cpu" in row and quantity.size_bytes(cell) is not None and cell[-1:] == "B":
            meaning = "mem"
        elif quantity.moment(cell) or quantity.seconds_of_day(cell) is not None:
            meaning = "time"
        elif "cpu" in row and cell.isdecimal():
            meaning = "pids"
        elif "cpu" not in row:
            meaning = "name" if "id" in row or not re.fullmatch(r"[0-9a-f]{12,64}", cell) else "id"
        if meaning:
            row[meaning] = cell
    return row


def _next(row: Row, meanings: Sequence[str]) -> str:
    return next((meaning for meaning in meanings if meaning not in row), "")


def _containers(rows: Sequence[Row], clock: stamps.Clock) -> list[Container]:
    found: dict[str, Container] = {}
    before: dict[str, tuple[float, dict[str, int]]] = {}
    for row in rows:
        name = row.get("name", row.get("id", ""))
        container = found.get(name)
        if container is None:
            container = found[name] = Container(id=row.get("id", ""), name=name or None)
            container.missing |= clock.missing
            container.inexact |= clock.notes
        at = clock.seconds(row.get("time", "")) if clock.known else float(len(container.windows))
        if at is None:
            container.windows.append(None)
            continue
        gauges, counters = _values(row, container)
        container.windows.append(_window(at, gauges, counters, before.get(name)))
        before[name] = at, counters
        container.totals |= counters
    return list(found.values())


def _values(row: Row, container: Container) -> tuple[dict[str, Value], dict[str, int]]:
    pair = _PAIR.fullmatch(row.get("mem", ""))
    used = pair[1] if pair else row.get("mem", "")
    limit = pair[2] if pair else row.get("limit", "")
    size, ceiling = _size(used, row.get("mem.unit")), _size(limit, row.get("limit.unit"))
    plain = quantity.number(used) if size is None else None
    told: dict[str, Value | None] = {
        "docker_pcpu": quantity.percent(row.get("cpu", "")),
        "docker_mem_used": size,
        "docker_mem_unitless": plain,
        "docker_pmem": quantity.percent(row.get("pmem", "")),
        "docker_pids": quantity.number(row.get("pids", "")),
    }
    if plain is not None:
        container.inexact["docker_mem_unitless"] = "the file names no unit of memory: kept as printed"
    if ceiling:
        container.limits = Limits(memory_bytes=ceiling)
    gauges = {key: value for key, value in told.items() if value is not None}
    return gauges, _transfers(row)


def _transfers(row: Row) -> dict[str, int]:
    found: dict[str, int | None] = {}
    for kind, (into, out) in (("net", ("rx", "tx")), ("blk", ("read", "write"))):
        pair = _PAIR.fullmatch(row.get(kind, ""))
        for place, direction in enumerate((into, out), 1):
            cell = pair[place] if pair else row.get(f"{kind}_{direction}", "")
            unit = row.get(f"{kind}_{direction}.unit", "")
            bare = _UNITS.get(unit, 0)
            has_unit = cell[-1:].isalpha()
            size = quantity.size_bytes(cell, bare=bare or 1, thousand=_THOUSAND) if has_unit or bare else None
            found[f"docker_{kind}_{direction}"] = size
    return {key: value for key, value in found.items() if value is not None}


def _size(cell: str, unit: str | None) -> int | None:
    if cell[-1:].isalpha():
        return quantity.size_bytes(cell)
    return quantity.size_bytes(cell, bare=_UNITS[unit]) if unit else None


def _window(
    at: float, gauges: dict[str, Value], counters: dict[str, int], before: tuple[float, dict[str, int]] | None
) -> Window:
    values: monitorlog.Values = {(key, ""): value for key, value in gauges.items()}
    if before is None:
        return Window(timestamp=at, num_samples=1, clock={}, values=values)
    since, counted = before
    added = {
        (key, ""): counters[key] - counted[key]
        for key in counters
        if counters[key] >= counted.get(key, 2**63)
    }
    clock = {"docker": (since, at)} if added else {}
    return Window(timestamp=at, num_samples=1, clock=clock, values=values | added)
