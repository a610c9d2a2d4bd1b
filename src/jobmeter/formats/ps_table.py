"""The table of `ps aux`, `ps axu` and `ps -ef`, on Linux, macOS and the BSDs: every process of one moment.

What misleads: the table is of the whole machine, so nothing is added up; %CPU of Linux is CPU time over age, not a
rate, so it keeps its own key; there is no clock; a command may hold anything, the columns before it may not.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from jobmeter.formats import duct_keys, monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Scope, Unit
from jobmeter.model.view import Window

ORIGIN = "ps_table"
_KIB = 1024
_COLUMNS = frozenset(("USER", "PID", "%CPU", "%MEM"))
_FULL_COLUMNS = frozenset(("UID", "PID", "PPID", "STIME", "TIME", "CMD"))
_GAUGES = {"RSS": ("ps_rss", _KIB), "VSZ": ("ps_vsz", _KIB), "%CPU": ("ps_pcpu", 1), "%MEM": ("ps_pmem", 1)}
DEFINITIONS = monitorlog.table(
    (
        *duct_keys.CLASSIC,
        monitorlog.gauge("ps_cputime", Unit.SECONDS, "CPU time of a process since it began", Scope.PROCESS),
    )
)


def sniff(head: bytes, _name: str) -> float:
    """Claim the header of the table."""
    header = monitorlog.head_text(head).partition("\n")[0].split()
    return 0.95 if _is_header(header) and header[-1] in ("COMMAND", "CMD") else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per table."""
    facts = monitorlog.Facts(missing={"started_at": "ps prints no time of its own"})
    return [monitorlog.imported(path, format=ORIGIN, definitions=DEFINITIONS, windows=_windows, facts=facts)]


def _is_header(words: list[str]) -> bool:
    return set(words) >= _COLUMNS or set(words) >= _FULL_COLUMNS


def _windows(path: Path) -> Iterator[Window | None]:
    names: list[str] = []
    values: monitorlog.Values = {}
    number = 0
    for line in monitorlog.text_lines(path):
        words = line.split(None, len(names) - 1) if names else line.split()
        if _is_header(line.split()):
            if values:
                yield _window(number, values)
                number, values = number + 1, {}
            names = line.split()
            continue
        if not names or not words:
            continue
        row = dict(zip(names, words, strict=False))
        if len(words) == len(names) and row["PID"].isdecimal():
            values |= _process(row)
        else:
            yield None  # the second line of a command
    if values:
        yield _window(number, values)


def _window(number: int, values: monitorlog.Values) -> Window:
    return Window(timestamp=float(number), num_samples=1, clock={}, values=values)


def _process(row: dict[str, str]) -> monitorlog.Values:
    pid = row["PID"]
    values: monitorlog.Values = {("ps_cmd", pid): row.get("COMMAND", row.get("CMD", ""))}
    for column, (key, factor) in _GAUGES.items():
        number = quantity.number(row.get(column, ""))
        if number is not None:
            values[key, pid] = number * factor
    burned = quantity.clock_seconds(row.get("TIME", ""))
    if burned is not None:
        values["ps_cputime", pid] = burned
    if row.get("STAT"):
        values["ps_stat", pid] = {row["STAT"]: 1}
    return values
