"""Logs of `nvidia-smi --query-gpu=... --format=csv -l`, and tables people made after its example.

What misleads: several GPUs share a stamp or stand milliseconds apart, often without a column that tells them
apart (then they are told by their order within a tick, which the run says); an `index` that is 0 for all of
them; stamps without a zone; `04-03-2021`, which is two dates.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import monitorlog, nvsmi_columns, nvsmi_keys, nvsmi_ticks, stamps
from jobmeter.model.imported import Imported
from jobmeter.model.run import Value
from jobmeter.model.view import Window
from jobmeter.probes import nvsmitext

ORIGIN = "nvidia_smi_csv"
_LOOKED_AT = 4000


def sniff(head: bytes, _name: str) -> float:
    """Claim a header with nvidia-smi's own names, one made after them, or rows with its units."""
    text = monitorlog.head_text(head)
    whole = text if len(head) < nvsmi_columns.HEAD_BYTES else text.rpartition("\n")[0]
    lines = [line for line in whole.split("\n") if line.strip()]
    columns = nvsmi_columns.find(lines)
    return columns.certainty if columns is not None else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read all GPUs of one log, one window per tick."""
    lines = list(islice((line for line in monitorlog.text_lines(path) if line.strip()), _LOOKED_AT))
    columns = nvsmi_columns.find(lines)
    if columns is None:
        raise UsageError(f"{path.name} names no column of nvidia-smi", hint="keep the header line")
    rows = [row for row in map(columns.cut, lines[columns.skip :]) if row is not None]
    told = [columns.stamp(row) for row in rows]
    clock = stamps.Clock.of(told)
    times = [clock.seconds(stamp) for stamp in told] if clock.known else [None] * len(rows)
    ticks = nvsmi_ticks.Ticks.of(columns.devices, rows, times, columns.labels.get("pid"))
    log = _Log(columns, clock, ticks)
    facts = monitorlog.Facts(
        missing=clock.missing,
        inexact={**columns.notes, **clock.notes, **ticks.notes},
    )
    return [
        monitorlog.imported(
            path, format=ORIGIN, definitions=nvsmi_keys.DEFINITIONS, windows=log.windows, facts=facts
        )
    ]


@dataclass(frozen=True, slots=True)
class _Log:
    columns: nvsmi_columns.Columns
    clock: stamps.Clock
    ticks: nvsmi_ticks.Ticks

    def windows(self, path: Path) -> Iterator[Window | None]:
        """Walk a log of any size, one tick at a time."""
        lines = (line for line in monitorlog.text_lines(path) if line.strip())
        rows = (self.columns.cut(line) for line in islice(lines, self.columns.skip, None))
        windows = nvsmi_keys.Windows()
        for tick in self.ticks.group(rows, self._seconds, clocked=self.clock.known):
            yield None if tick is None else self._window(tick, windows)

    def _seconds(self, row: Sequence[str]) -> float | None:
        return self.clock.seconds(self.columns.stamp(row))

    def _window(self, tick: nvsmi_ticks.Tick, windows: nvsmi_keys.Windows) -> Window:
        devices: dict[str, dict[str, Value]] = {}
        processes: monitorlog.Values = {}
        for device, row in tick.rows:
            told = self._values(row)
            pid = self.columns.text(row, "pid")
            if pid is not None:
                processes |= {
                    (f"nvsmi_proc_{key}", pid): value for key, value in told.items() if key in _OF_PROCESS
                }
            else:
                devices.setdefault(device, {}).update(told)
        return windows.make(tick.seconds, devices, processes)

    def _values(self, row: Sequence[str]) -> dict[str, Value]:
        told: dict[str, Value] = {}
        for place, (name, factor) in self.columns.quantities.items():
            cell = row[place] if place < len(row) else ""
            value = nvsmi_columns.value(cell, factor)
            if value is not None:
                told[name] = value
        for name, place in self.columns.labels.items():
            if place < len(row) and not nvsmitext.is_absent(row[place]):
                told[name] = row[place]
        return told


_OF_PROCESS = frozenset(("mem", "name"))
