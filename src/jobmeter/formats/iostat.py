"""What `iostat` prints: CPU shares and one row per device, once or again and again.

What misleads: without `-t` only the date of the first line is known; the first report is the mean since boot; `kB/s`
are 1,024 bytes, `Blk` 512.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from jobmeter.formats import monitorlog, quantity, stamps, sysstat_values
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Measurement, Scope
from jobmeter.model.view import Window

ORIGIN = "iostat"
_HEAD_LINES = 10
SINCE_BOOT = "the first report is the mean since boot"


def sniff(head: bytes, _name: str) -> float:
    """Claim the first line of sysstat with iostat's headers under it."""
    lines = [line for line in monitorlog.head_text(head).split("\n") if line.strip()][:_HEAD_LINES]
    marked = any(line.startswith(("avg-cpu:", "Device")) for line in lines)
    return (
        0.95 if marked and any(sysstat_values.machine(line) for line in lines[:2]) else 0.6 if marked else 0.0
    )


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per report."""
    log = _Log(path)
    definitions: dict[str, Measurement] = {}
    for names, scope in log.headers():
        for name in names:
            column = sysstat_values.column(name)
            key = f"iostat_{column.name}"
            definitions.setdefault(key, sysstat_values.define(key, column, scope, "iostat"))
    clock = stamps.Clock.of(log.times[:1])
    notes = {"first_sample": SINCE_BOOT} | (clock.notes if log.times else {})
    if not log.times:
        notes["started_at"] = "only the date is known; reports are placed one second apart"
    machine = log.machine
    facts = monitorlog.Facts(
        host=machine.host if machine else None,
        inexact=notes,
        missing={} if machine or log.times else {"started_at": monitorlog.NO_CLOCK},
    )
    return [
        monitorlog.imported(path, format=ORIGIN, definitions=definitions, windows=log.windows, facts=facts)
    ]


class _Log:
    def __init__(self, path: Path) -> None:
        self._path = path
        first = list(islice((line for line in monitorlog.text_lines(path) if line.strip()), _HEAD_LINES))
        self.machine = next((found for line in first[:2] if (found := sysstat_values.machine(line))), None)
        self.times = [line.strip() for line in first if _is_time(line)]

    def headers(self) -> Iterator[tuple[list[str], Scope]]:
        """Yield the columns of each table."""
        for line in monitorlog.text_lines(self._path):
            if line.startswith("avg-cpu:"):
                yield line.split()[1:], Scope.HOST
            elif line.startswith("Device"):
                yield line.split()[1:], Scope.DEVICE

    def windows(self, path: Path) -> Iterator[Window | None]:
        """Fold the tables of one report into one window."""
        clock = stamps.Clock.of(self.times)
        midnight = quantity.at(self.machine.date).seconds if self.machine and self.machine.date else 0.0
        names: list[str] = []
        number, at, seen = 0, midnight, set[str]()
        values: monitorlog.Values = {}
        for line in monitorlog.text_lines(path):
            stamp = clock.seconds(line.strip()) if self.times and _is_time(line) else None
            title = line.split(maxsplit=1)[0] if line.startswith(("avg-cpu:", "Device")) else ""
            # a report ends where its time or its first table comes again
            if values and (stamp is not None or title in seen):
                yield Window(timestamp=at, num_samples=1, clock={}, values=values)
                number, values, seen = number + 1, {}, set()
            if stamp is not None:
                at = stamp
            elif not self.times:
                at = midnight + number
            if title:
                seen.add(title)
                names = line.split()[1:]
            elif names and line.strip() and stamp is None:
                values |= _row(names, line.split())
        if values:
            yield Window(timestamp=at, num_samples=1, clock={}, values=values)


def _is_time(line: str) -> bool:
    word = line.strip()
    if not word[:1].isdigit() or ":" not in word:
        return False
    return quantity.moment(word) is not None or stamps.Clock.of([word]).known


def _row(names: list[str], cells: list[str]) -> monitorlog.Values:
    """Read a row of CPU shares, or one of a device, which begins with its name."""
    device = cells[0] if len(cells) == len(names) + 1 else ""
    numbers = cells[1:] if device else cells
    values: monitorlog.Values = {}
    for name, cell in zip(names, numbers, strict=False):
        column = sysstat_values.column(name)
        value = column.value(cell)
        if value is not None:
            values[f"iostat_{column.name}", device] = value
    return values
