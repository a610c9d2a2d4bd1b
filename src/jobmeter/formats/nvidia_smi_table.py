"""The table nvidia-smi prints for people, once or again and again, with or without a date between.

What misleads: the table knows no UUID, so a GPU is its number; power and memory are whole watts and MiB; a cell
may be `N/A` or `ERR!`; the size of a process is missing where the driver cannot tell (`N/A` on Windows).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.formats import monitorlog, nvsmi_keys, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.run import Value
from jobmeter.model.view import Window

ORIGIN = "nvidia_smi_table"
_MIB = 1 << 20
_TITLE = re.compile(r"\|\s*NVIDIA-SMI\s+(\S+)\s+Driver Version:\s*(\S+)(?:\s+CUDA Version:\s*(\S+))?")
_NAME = re.compile(r"\|\s*(\d+)\s+(\S.*?)\s+(?:On|Off|N/A|TCC|WDDM|MCDM)?\s*\|\s*([0-9A-Fa-f]{4,8}:\S+)")
_USE = re.compile(
    r"\|\s*(?P<fan>\S+)\s+(?P<temp>\S+)\s+(?P<state>P\d+|\S+)\s+(?P<power>\S+)\s*/\s*(?P<cap>\S+)\s*\|"
    r"\s*(?P<used>\S+)\s*/\s*(?P<total>\S+)\s*\|\s*(?P<util>\S+)\s+\S+"
)
_PROCESS = re.compile(r"\|\s*(\d+)\s+(?:\S+\s+\S+\s+)?(\d+)\s+[CGM+]+\s+(.*?)\s+(\d+MiB|N/A)\s*\|")
_UNIT = re.compile(r"(\d+(?:\.\d+)?)(%|C|W|MiB)")
_MOST_OTHERS = 2


def sniff(head: bytes, _name: str) -> float:
    """Claim a file that is tables and dates; a job's own log may begin with one table and go on otherwise."""
    lines = [line.strip() for line in monitorlog.head_text(head).split("\n") if line.strip()]
    if not any(_TITLE.match(line) for line in lines):
        return 0.0
    others = [line for line in lines if line[0] not in "|+=-#*" and _date(line) is None]
    return 0.9 if len(others) <= _MOST_OTHERS else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per table."""
    title: dict[str, object] = {}
    first: quantity.Moment | None = None
    for line in monitorlog.text_lines(path):
        first = first or _date(line)
        found = _TITLE.match(line)
        if found:
            title = {"driver": found[2], "cuda": found[3]} if found[3] else {"driver": found[2]}
            break
    facts = monitorlog.Facts(
        missing={} if first else {"started_at": monitorlog.NO_CLOCK},
        inexact={"started_at": monitorlog.NO_ZONE} if first and not first.zoned else {},
        context={"gpu": title},
    )
    return [
        monitorlog.imported(
            path, format=ORIGIN, definitions=nvsmi_keys.DEFINITIONS, windows=_windows, facts=facts
        )
    ]


@dataclass(slots=True)
class _Table:
    at: float
    device: str = ""
    devices: dict[str, dict[str, Value]] = field(default_factory=dict)
    processes: monitorlog.Values = field(default_factory=dict)

    def take(self, line: str) -> None:
        """Read one line of a table."""
        named, used, process = _NAME.match(line), _USE.match(line), _PROCESS.match(line)
        if named and not used:
            self.device = named[1]
            self.devices[self.device] = {"name": named[2]}
        elif used and self.device in self.devices:
            self.devices[self.device].update(_use(used))
            self.device = ""
        elif process:
            self.processes["nvsmi_proc_name", process[2]] = process[3]
            size = quantity.size_bytes(process[4])
            if size is not None:
                self.processes["nvsmi_proc_mem", process[2]] = size


def _windows(path: Path) -> Iterator[Window | None]:
    made, number = nvsmi_keys.Windows(), 0
    table: _Table | None = None
    date: quantity.Moment | None = None
    for line in monitorlog.text_lines(path):
        if not line.startswith("|"):
            date = _date(line) or date
            continue
        if _TITLE.match(line):
            if table is not None and table.devices:
                yield made.make(table.at, table.devices, table.processes)
            table = _Table(float(number) if date is None else date.seconds)
            number += 1
        elif table is not None:
            table.take(line)
    if table is not None and table.devices:
        yield made.make(table.at, table.devices, table.processes)


def _use(found: re.Match[str]) -> dict[str, Value]:
    cells = {
        "fan": found["fan"],
        "temp": found["temp"],
        "power": found["power"],
        "power_limit": found["cap"],
        "mem_used": found["used"],
        "mem_total": found["total"],
        "util": found["util"],
    }
    told = {name: value for name, cell in cells.items() if (value := _value(cell)) is not None}
    return told | ({"pstate": found["state"]} if found["state"].startswith("P") else {})


def _value(cell: str) -> Value | None:
    found = _UNIT.fullmatch(cell)
    number = quantity.number(found[1]) if found else None
    if found is None or number is None:
        return None
    return round(number * _MIB) if found[2] == "MiB" else number


def _date(line: str) -> quantity.Moment | None:
    text = line.strip().strip("=#*- ")
    return quantity.moment(text) if 8 <= len(text) <= 48 else None
