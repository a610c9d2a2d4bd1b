"""What `nvidia-smi dmon` and `pmon` print: columns under two `#` lines, repeated now and then.

What misleads: without `-o T` there is no clock (its interval is one second unless asked otherwise); `-` is no
value; MB are 1,048,576 bytes; a power of 0 in `pviol` is a share of time, not watts.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from jobmeter.formats import monitorlog, nvsmi_keys, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.run import Value
from jobmeter.model.view import Window

ORIGIN = "nvidia_smi_dmon"
_MIB, _MHZ, _MB = 1 << 20, 1_000_000, 1 << 20
_QUANTITIES: dict[str, tuple[str, int]] = {
    "bar1": ("bar1_used", _MIB),
    "dec": ("dec_util", 1),
    "enc": ("enc_util", 1),
    "fb": ("mem_used", _MIB),
    "gtemp": ("temp", 1),
    "jpg": ("jpg_util", 1),
    "mclk": ("mem_clock", _MHZ),
    "mem": ("mem_util", 1),
    "mtemp": ("mem_temp", 1),
    "ofa": ("ofa_util", 1),
    "pclk": ("sm_clock", _MHZ),
    "pwr": ("power", 1),
    "rxpci": ("pcie_rx", _MB),
    "sm": ("util", 1),
    "temp": ("temp", 1),
    "txpci": ("pcie_tx", _MB),
}
_OF_PROCESS: dict[str, tuple[str, int]] = {"fb": ("mem", _MIB), "mem": ("mem_util", 1), "sm": ("util", 1)}
_HEAD_LINES = 6

Row = dict[str, str]


def sniff(head: bytes, _name: str) -> float:
    """Claim the two header lines."""
    lines = monitorlog.head_text(head).split("\n")[:_HEAD_LINES]
    for line in lines:
        words = line.lstrip("# ").split()
        if (
            line.startswith("#")
            and "gpu" in words
            and set(words) & {"sm", "pwr", "fb", "mclk", "rxpci", "pid"}
        ):
            return 0.95
    return 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per tick: a tick ends where a GPU comes again."""
    first = next((row for row in islice(_rows(path), _HEAD_LINES) if row), {})
    dated, timed = "Date" in first, "Time" in first
    inexact = {}
    if timed:
        inexact["started_at"] = (
            monitorlog.NO_ZONE if dated else "the file has times without dates: 1970 stands in"
        )
    facts = monitorlog.Facts(
        missing={} if timed and dated else {"started_at": "" if timed else monitorlog.NO_CLOCK},
        inexact=inexact,
    )
    return [
        monitorlog.imported(
            path, format=ORIGIN, definitions=nvsmi_keys.DEFINITIONS, windows=_windows, facts=_told(facts)
        )
    ]


def _told(facts: monitorlog.Facts) -> monitorlog.Facts:
    missing = {key: reason for key, reason in facts.missing.items() if reason}
    return monitorlog.Facts(missing=missing, inexact=facts.inexact)


def _rows(path: Path) -> Iterator[Row | None]:
    names: list[str] = []
    for line in monitorlog.text_lines(path):
        if line.startswith("#"):
            words = line.lstrip("# ").split()
            names = words if {"gpu", "pid"} & set(words) else names
            continue
        if not line.strip():
            continue
        # the command of a process comes last and may hold blanks
        cells = line.split(None, len(names) - 1) if names else []
        yield dict(zip(names, cells, strict=True)) if names and len(cells) == len(names) else None


def _windows(path: Path) -> Iterator[Window | None]:
    made = nvsmi_keys.Windows()
    number, seen = 0, set[tuple[str, str]]()
    devices: dict[str, dict[str, Value]] = {}
    processes: monitorlog.Values = {}
    at = 0.0
    for row in _rows(path):
        if row is None or quantity.number(row.get("gpu", "")) is None:
            yield None
            continue
        stamp, who = _seconds(row), (row["gpu"], row.get("pid", ""))
        moment = float(number) if stamp is None else stamp
        if seen and (who in seen or (stamp is not None and stamp != at)):
            yield made.make(at, devices, processes)
            number += 1
            seen, devices, processes = set(), {}, {}
            moment = float(number) if stamp is None else stamp
        at = moment
        seen.add(who)
        _take(row, devices, processes)
    if seen:
        yield made.make(at, devices, processes)


def _take(row: Row, devices: dict[str, dict[str, Value]], processes: monitorlog.Values) -> None:
    pid = row.get("pid")
    if pid is None:
        devices[row["gpu"]] = _values(row, _QUANTITIES)
        return
    if not pid.isdecimal():
        return  # nothing ran on this GPU
    for name, value in _values(row, _OF_PROCESS).items():
        processes[f"nvsmi_proc_{name}", pid] = value
    if not quantity.is_absent(row.get("command", "")):
        processes["nvsmi_proc_name", pid] = row["command"].strip()


def _values(row: Row, names: dict[str, tuple[str, int]]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for column, (name, factor) in names.items():
        value = quantity.number(row.get(column, ""))
        if value is not None:
            found[name] = value * factor
    return found


def _seconds(row: Row) -> float | None:
    time = quantity.seconds_of_day(row.get("Time", ""))
    if time is None:
        return None
    try:
        date = datetime.strptime(row.get("Date", ""), "%Y%m%d").replace(tzinfo=UTC)
    except ValueError:
        return time
    return date.timestamp() + time
