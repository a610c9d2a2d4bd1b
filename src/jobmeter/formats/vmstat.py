"""What Linux's `vmstat` prints: one row a sample under a header that comes again and again.

What misleads: without `-t` there is no clock; the first row is the mean since boot; memory is in KiB unless another
unit was asked for, which the output does not say; `bi` and `bo` are blocks of 1,024 bytes a second.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from jobmeter.formats import iostat, monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Scope, Unit
from jobmeter.model.view import Window

ORIGIN = "vmstat"
_KIB = 1024
_COLUMNS: dict[str, tuple[str, Unit, int, str]] = {
    "r": ("running", Unit.COUNT, 1, "tasks running or ready to run"),
    "b": ("blocked", Unit.COUNT, 1, "tasks waiting for storage"),
    "swpd": ("swap_used", Unit.BYTES, _KIB, "swap in use"),
    "free": ("free", Unit.BYTES, _KIB, "memory not in use"),
    "buff": ("buffers", Unit.BYTES, _KIB, "memory of buffers"),
    "cache": ("cache", Unit.BYTES, _KIB, "memory of the page cache"),
    "inact": ("inactive", Unit.BYTES, _KIB, "memory not used lately"),
    "active": ("active", Unit.BYTES, _KIB, "memory used lately"),
    "si": ("swap_in_rate", Unit.BYTES_PER_SECOND, _KIB, "bytes a second swapped in"),
    "so": ("swap_out_rate", Unit.BYTES_PER_SECOND, _KIB, "bytes a second swapped out"),
    "bi": ("read_rate", Unit.BYTES_PER_SECOND, _KIB, "bytes a second read from block devices"),
    "bo": ("write_rate", Unit.BYTES_PER_SECOND, _KIB, "bytes a second written to block devices"),
    "in": ("interrupts_rate", Unit.COUNT, 1, "interrupts a second"),
    "cs": ("switches_rate", Unit.COUNT, 1, "context switches a second"),
    "us": ("usr", Unit.PERCENT, 1, "CPU time in user mode"),
    "sy": ("sys", Unit.PERCENT, 1, "CPU time in the kernel"),
    "id": ("idle", Unit.PERCENT, 1, "CPU time idle"),
    "wa": ("iowait", Unit.PERCENT, 1, "CPU time idle while a task waited for storage"),
    "st": ("steal", Unit.PERCENT, 1, "CPU time the hypervisor gave to others"),
    "gu": ("guest", Unit.PERCENT, 1, "CPU time of guests"),
}
DEFINITIONS = monitorlog.table(
    monitorlog.gauge(f"vmstat_{name}", unit, about, Scope.HOST) for name, unit, _, about in _COLUMNS.values()
)
_FIRST = frozenset(("r", "b", "swpd", "free"))
_KIB_ASSUMED = "the unit of memory is not said: read as KiB, vmstat's own"


def sniff(head: bytes, _name: str) -> float:
    """Claim the two header lines."""
    lines = monitorlog.head_text(head).split("\n")[:6]
    titled = any("procs" in line and "-memory-" in line for line in lines)
    return 0.95 if titled and any(set(line.split()) >= _FIRST for line in lines) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per row."""
    rows = [row for row in islice(_rows(path), 5) if row is not None]
    at = quantity.moment(rows[0][1]) if rows else None
    inexact = {"first_sample": iostat.SINCE_BOOT, "units": _KIB_ASSUMED}
    facts = monitorlog.Facts(
        missing={} if at else {"started_at": monitorlog.NO_CLOCK},
        inexact=inexact | ({"started_at": monitorlog.NO_ZONE} if at and not at.zoned else {}),
    )
    return [monitorlog.imported(path, format=ORIGIN, definitions=DEFINITIONS, windows=_windows, facts=facts)]


def _rows(path: Path) -> Iterator[tuple[dict[str, str], str] | None]:
    names: list[str] = []
    for line in monitorlog.text_lines(path):
        words = line.split()
        if set(words) >= _FIRST:
            names = [word for word in words if word in _COLUMNS]  # after them comes the zone of -t
        elif names and words and "procs" not in words[0]:
            numbers, rest = words[: len(names)], words[len(names) :]
            whole = len(numbers) == len(names) and all(word.isdecimal() for word in numbers)
            yield (dict(zip(names, numbers, strict=True)), " ".join(rest)) if whole else None


def _windows(path: Path) -> Iterator[Window | None]:
    for number, row in enumerate(_rows(path)):
        if row is None:
            yield None
            continue
        cells, stamp = row
        at = quantity.moment(stamp)
        values: monitorlog.Values = {}
        for column, cell in cells.items():
            name, _, factor, _ = _COLUMNS[column]
            values[f"vmstat_{name}", ""] = int(cell) * factor
        yield Window(timestamp=at.seconds if at else float(number), num_samples=1, clock={}, values=values)
