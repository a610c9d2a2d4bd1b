"""Columns and the first line of the sysstat tools (sar, mpstat, pidstat, iostat) in our words.

What misleads: `kB/s` are 1,024 bytes; the date in the first line follows the locale; -1.00 in pidstat means that
the kernel did not let it look; what a tool prints without an interval is the mean since boot.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from jobmeter.formats import monitorlog, quantity
from jobmeter.model.measurement import Measurement, Scope, Unit

_FIRST = re.compile(r"(Linux|Darwin|\S+)\s+(\S+)\s+\((.*?)\)\s+(\S+)(?:\s+_(\S+?)_)?(?:\s+\((\d+) CPU\))?")
_SECTOR = 512
_NAMES = {
    "kb_rd/s": "read_rate", "kb_wr/s": "write_rate", "kb_ccwr/s": "cancelled_write_rate",
    "rkb/s": "read_rate", "wkb/s": "write_rate", "dkb/s": "discard_rate",
    "rmb/s": "read_rate", "wmb/s": "write_rate", "dmb/s": "discard_rate",
    "kb_read/s": "read_rate", "kb_wrtn/s": "write_rate", "kb_dscd/s": "discard_rate",
    "mb_read/s": "read_rate", "mb_wrtn/s": "write_rate", "mb_dscd/s": "discard_rate",
    "blk_read/s": "read_rate", "blk_wrtn/s": "write_rate", "rsec/s": "read_rate", "wsec/s": "write_rate",
    "kb_read": "read", "kb_wrtn": "write", "kb_dscd": "discard", "mb_read": "read", "mb_wrtn": "write",
    "mb_dscd": "discard", "blk_read": "read", "blk_wrtn": "write",
    "rxkb/s": "rx_rate", "txkb/s": "tx_rate",
}  # fmt: skip
_MILLISECONDS = frozenset(("await", "r_await", "w_await", "d_await", "f_await", "svctm"))
_KIB_COLUMNS = frozenset(("vsz", "rss", "stksize", "stkref"))
_PERCENTS = {"usr": "usr", "user": "usr", "sys": "sys", "system": "sys"}


@dataclass(frozen=True, slots=True)
class Machine:
    """What the first line says."""

    host: str | None
    date: datetime | None
    certain: bool
    cpus: int | None


@dataclass(frozen=True, slots=True)
class Column:
    """What a column is in our words."""

    name: str
    unit: Unit
    factor: float

    def value(self, cell: str) -> quantity.Number | None:
        """Read a cell; minus one was not permitted, a comma is a decimal point."""
        number = quantity.number(cell.replace(",", "."))
        if number is None or number == -1:
            return None
        return number if self.factor == 1 else quantity.tidy(number * self.factor)


def machine(line: str) -> Machine | None:
    """Read the first line, such as `Linux 5.4.0 (node7) 	03/11/2022 	_x86_64_	(8 CPU)`."""
    found = _FIRST.fullmatch(line.strip())
    if found is None:
        return None
    text = found[4]
    iso = quantity.moment(text) if text[:4].isdecimal() else None
    if iso is not None:
        date: datetime | None = datetime.fromisoformat(text.replace("/", "-"))
        return Machine(found[3], date, certain=True, cpus=_whole(found[6]))
    day_first, certain = quantity.is_day_first([text])
    date = quantity.numeric_date(text, day_first=day_first)
    return Machine(found[3], date, certain=certain, cpus=_whole(found[6])) if date else None


def _whole(text: str | None) -> int | None:
    return int(text) if text else None


def column(header: str) -> Column:
    """Say what a column holds; one that is not known keeps its name and no unit."""
    lowered = header.lower()
    if header.startswith("%"):
        word = lowered[1:]
        return Column(_PERCENTS.get(word, _slug(word)), Unit.PERCENT, 1)
    if lowered in _NAMES:
        unit = Unit.BYTES_PER_SECOND if lowered.endswith("/s") else Unit.BYTES
        return Column(_NAMES[lowered], unit, _bytes_of(lowered))
    if lowered in _KIB_COLUMNS:
        return Column(lowered, Unit.BYTES, 1 << 10)
    if lowered in _MILLISECONDS or lowered.endswith("-ms"):
        return Column(
            _slug(lowered.removesuffix("-ms")) + ("_time" if "-ms" in lowered else ""), Unit.SECONDS, 1e-3
        )
    if lowered.startswith("kb"):
        return Column(_slug(lowered[2:]), Unit.BYTES, 1 << 10)
    if lowered.endswith("/s"):
        return Column(_slug(lowered[:-2]) + "_rate", Unit.COUNT, 1)
    return Column(_slug(lowered), Unit.NONE, 1)


def _bytes_of(lowered: str) -> int:
    if "blk" in lowered or "sec/" in lowered:
        return _SECTOR
    return 1 << 20 if "mb" in lowered else 1 << 10


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text).strip("_") or "value"


def define(key: str, kind: Column, scope: Scope, tool: str) -> Measurement:
    """Define one key; a name that ends in `_rate` counts per second."""
    suffix = " a second" if kind.name.endswith("_rate") else ""
    return monitorlog.gauge(
        key, kind.unit, f"{kind.name.removesuffix('_rate')}{suffix}, as {tool} prints it", scope
    )
