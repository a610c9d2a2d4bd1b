"""What mpstat, pidstat and sar print: tables under a time, again and again, in the same layout.

What misleads: times have no date (the first line has, in the locale's order) and go round at midnight; `Average:`
lines are no samples; pidstat's -1.00 was not permitted, so it is absent; `all` is the mean of the CPUs beside it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from jobmeter.formats import monitorlog, quantity, stamps, sysstat_values
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Measurement, Scope
from jobmeter.model.view import Window

ORIGIN = "sysstat"
_TIME = re.compile(r"#?\s*(\d{1,2}:\d\d:\d\d(?: [AP]M)?|\d{9,10}|Time)\s+(.*)")
_INSTANCES = {
    "TID": Scope.PROCESS,
    "PID": Scope.PROCESS,
    "CPU": Scope.DEVICE,
    "IFACE": Scope.DEVICE,
    "DEV": Scope.DEVICE,
    "INTR": Scope.DEVICE,
}
"""Columns that tell rows apart, the first that is there."""
_NOT_VALUES = frozenset(("UID", "USER", "CPU", "PID", "TGID", "TID", "IFACE", "DEV", "INTR", "Command"))
_MOST_COLUMNS = 25
"""A table of single interrupts has many more, and tells nothing of a job."""
_HALF_DAY, _DAY = 43200, 86400
_HEAD_LINES = 12
_FIRST_LINES = 3
"""`nohup: ignoring input` may stand before the line that names the machine."""


def sniff(head: bytes, _name: str) -> float:
    """Claim the first line of sysstat with a table of one of the three tools under it."""
    lines = [line for line in monitorlog.head_text(head).split("\n") if line.strip()][:_HEAD_LINES]
    tables = [table for line in lines if (table := _header(line))]
    if not tables:
        return 0.0
    if any(map(sysstat_values.machine, lines[:_FIRST_LINES])):
        return 0.95
    # the first line was cut off: only a table of CPUs or of processes is sure to be of sysstat
    first = _header(lines[0])
    return 0.8 if first is not None and first.tool != "sar" and "%usr" in first.names else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per time stamp."""
    first = islice((line for line in monitorlog.text_lines(path) if line.strip()), _FIRST_LINES)
    machine = next(filter(None, map(sysstat_values.machine, first)), None)
    log = _Log(machine)
    definitions: dict[str, Measurement] = {}
    for table in log.tables(path):
        definitions |= table.definitions()
    notes = {"started_at": monitorlog.NO_ZONE}
    if machine is not None and not machine.certain:
        notes["started_at"] = f"the date of the first line may be two dates; {monitorlog.NO_ZONE}"
    has_dates = log.epoch(path)
    facts = monitorlog.Facts(
        host=machine.host if machine else None,
        missing={} if machine or has_dates else {"started_at": stamps.NO_DATE},
        inexact=notes if machine and not has_dates else {},
    )
    return [
        monitorlog.imported(path, format=ORIGIN, definitions=definitions, windows=log.windows, facts=facts)
    ]


@dataclass(frozen=True, slots=True)
class _Table:
    """The columns of one table."""

    tool: str
    names: tuple[str, ...]
    instance: int | None
    scope: Scope
    columns: dict[int, sysstat_values.Column] = field(default_factory=dict)
    label: int | None = None

    def definitions(self) -> dict[str, Measurement]:
        """Define the keys this table gives."""
        found = {}
        for column in self.columns.values():
            key = f"{self.tool}_{column.name}"
            found[key] = sysstat_values.define(key, column, self.scope, self.tool)
        if self.label is not None:
            key = f"{self.tool}_cmd"
            found[key] = monitorlog.label(key, "command of a process", Scope.PROCESS)
        return found

    def values(self, rest: str) -> monitorlog.Values | None:
        """Read one row; None where it is torn off."""
        cells = rest.split(None, len(self.names) - 1)
        if len(cells) != len(self.names):
            return None
        instance = cells[self.instance] if self.instance is not None else ""
        values: monitorlog.Values = {}
        for place, column in self.columns.items():
            value = column.value(cells[place])
            if value is not None:
                values[f"{self.tool}_{column.name}", instance] = value
        if self.label is not None:
            values[f"{self.tool}_cmd", instance] = cells[self.label].strip()
        return values


def _header(line: str) -> _Table | None:
    """Read a line that names columns; None where it holds values."""
    found = _TIME.fullmatch(line.strip())
    names = tuple(found[2].split()) if found else ()
    if not names or any(quantity.number(name) is not None for name in names) or len(names) > _MOST_COLUMNS:
        return None
    if not any(name.startswith("%") or name.endswith(("/s", "-ms")) or name[:2] == "kb" for name in names):
        return None
    instance = next((names.index(name) for name in _INSTANCES if name in names), None)
    of_processes = "PID" in names or "TGID" in names
    tool = "pidstat" if of_processes else "mpstat" if "CPU" in names and "%user" not in names else "sar"
    scope = Scope.HOST if instance is None else _INSTANCES[names[instance]]
    columns = {
        place: sysstat_values.column(name) for place, name in enumerate(names) if name not in _NOT_VALUES
    }
    label = names.index("Command") if "Command" in names else None
    return _Table(tool, names, instance, scope, columns, label)


@dataclass(frozen=True, slots=True)
class _Log:
    machine: sysstat_values.Machine | None

    def epoch(self, path: Path) -> bool:
        """Say whether rows carry seconds since the epoch."""
        rows = (_TIME.fullmatch(line.strip()) for line in islice(monitorlog.text_lines(path), _HEAD_LINES))
        return any(row is not None and row[1].isdecimal() for row in rows)

    def tables(self, path: Path) -> Iterator[_Table]:
        """Yield the tables a file has, each once."""
        seen: set[tuple[str, ...]] = set()
        for line in monitorlog.text_lines(path):
            table = _header(line)
            if table is not None and table.names not in seen:
                seen.add(table.names)
                yield table

    def windows(self, path: Path) -> Iterator[Window | None]:
        """Fold the tables of one time into one window."""
        table: _Table | None = None
        at, day = -1.0, 0
        values: monitorlog.Values = {}
        for line in monitorlog.text_lines(path):
            found = _TIME.fullmatch(line.strip())
            header = _header(line) if found else None
            if header is not None or (found and _is_wide(found[2].split())):
                table = header
                continue
            if found is None or table is None or found[1] == "Time":
                continue
            moment = self._seconds(found[1], day)
            if moment is not None and moment < at - _HALF_DAY:
                day += 1
                moment += _DAY
            row = table.values(found[2])
            if row is None or moment is None:
                yield None
                continue
            if moment != at and values:
                yield Window(timestamp=at, num_samples=1, clock={}, values=values)
                values = {}
            at = moment
            values |= row
        if values:
            yield Window(timestamp=at, num_samples=1, clock={}, values=values)

    def _seconds(self, stamp: str, day: int) -> float | None:
        if stamp.isdecimal():
            return float(stamp)
        time = quantity.seconds_of_day(stamp)
        date = self.machine.date if self.machine else None
        if time is None:
            return None
        return (quantity.at(date).seconds if date else 0.0) + day * _DAY + time


def _is_wide(names: Sequence[str]) -> bool:
    """A header we pass over: single interrupts."""
    return bool(names) and all(quantity.number(name) is None for name in names)
