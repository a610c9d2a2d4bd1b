"""A run as plots need it: with the series of every process, however short it lived, when it really was.

The store keeps one row for a process seen in few reports, not its series, and gives a report the time at which
it was written. A plot of who used what needs every process at the time its source was read, so the reports are
read from the run folder again; only the lines that speak of processes are parsed.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from jobmeter.model.measurement import Kind, Scope
from jobmeter.model.run import Run
from jobmeter.model.view import Process, RunView, Series, Window
from jobmeter.runfolder import lines, tailer
from jobmeter.service import plot_panels, runs

QUANTITIES = ("cputime", "rss")
SMALLEST_LAG = 0.01
"""Seconds; less is what writing takes."""
MARK = re.compile(rf'_(?:{"|".join(QUANTITIES)})": ?\{{'.encode())
"""What stands in a line that gives one of these quantities process by process."""


def view(home: str, ref: str, keys: tuple[str, ...] = ()) -> RunView:
    """Gather what a plot of a run needs: these keys, or those of the usual panels and of every process."""
    if keys:
        return runs.view(home, ref, keys)
    if os.path.isdir(ref):
        # a folder outside the home is read whole in any case: asking twice would read it twice
        found = runs.view(home, ref)
    else:
        found = runs.view(home, ref, plot_panels.keys_of(runs.find(home, ref)))
    if found.run.folder is None or (not found.processes and _without_processes(found)):
        return found
    return with_every_process(found, process_windows(Path(found.run.folder)))


def _without_processes(found: RunView) -> bool:
    return not any(m.scope is Scope.PROCESS for m in found.run.definitions.values())


def process_windows(folder: Path) -> Iterator[Window]:
    """Yield the windows of a folder that speak of single processes."""
    reader = lines.WindowReader()
    for piece in tailer.pieces(folder, "usage.jsonl", closed=True):
        yield from reader.read([line for line in piece.lines if MARK.search(line)])


def with_every_process(found: RunView, windows: Iterable[Window]) -> RunView:
    """Add the series of processes that the view has none of, and put all of them where their clock says."""
    keys = {
        m.key: m.kind
        for m in found.run.definitions.values()
        if m.scope is Scope.PROCESS and m.key.partition("_")[2] in QUANTITIES
    }
    points: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    commands: dict[str, str] = {}
    late: dict[float, float] = {}
    for window in windows:
        for (key, instance), value in window.values.items():
            if isinstance(value, str) and key.endswith("_cmd"):
                commands[instance] = value
            if key not in keys or not instance:
                continue
            begin, end = window.clock.get(key.partition("_")[0], (0.0, 0.0))
            late[_millisecond(window.timestamp)] = _lag(found.run, window.timestamp, begin, end)
            if isinstance(value, int | float) and (key, instance) not in found.series:
                points.setdefault((key, instance), []).append((window.timestamp, float(value), end - begin))
    added = {name: _series(name, taken, keys[name[0]]) for name, taken in points.items()}
    shown = replace(
        found, series=found.series | added, processes=(*found.processes, *_unlisted(found, commands))
    )
    return _on_time(shown, keys, {stamp: lag for stamp, lag in late.items() if lag})


def _millisecond(moment: float) -> float:
    return round(moment, 3)


def _lag(run: Run, stamp: float, begin: float, end: float) -> float:
    """Tell by how much a report was written later than its source was read: the last one waits for the end."""
    clock = run.context.get("clock")
    if run.started_at is None or not isinstance(clock, int | float):
        return 0.0
    lag = stamp - run.started_at - (end - clock)
    # more than the report covers is a wall clock that was set, not a report that waited
    return lag if SMALLEST_LAG < lag < end - begin else 0.0


def _on_time(shown: RunView, keys: Mapping[str, Kind], late: Mapping[float, float]) -> RunView:
    """Move what late reports said of processes to when it was read."""
    if not late:
        return shown

    def moved(moment: float) -> float:
        return moment - late.get(_millisecond(moment), 0.0)

    series = {
        name: replace(one, times=tuple(moved(moment) for moment in one.times)) if name[0] in keys else one
        for name, one in shown.series.items()
    }
    processes = tuple(
        one if one.last_seen is None else replace(one, last_seen=moved(one.last_seen))
        for one in shown.processes
    )
    return replace(shown, series=series, processes=processes)


def _unlisted(found: RunView, commands: dict[str, str]) -> Iterator[Process]:
    """Yield processes the store has no row of: imported runs know a pid, but not when it was born."""
    listed = {process.instance for process in found.processes}
    for instance, command in commands.items():
        pid = instance.partition("@")[0]
        if instance not in listed and pid.isdecimal():
            yield Process(instance=instance, pid=int(pid), command=command)


def _series(name: tuple[str, str], points: list[tuple[float, float, float]], kind: Kind) -> Series:
    rising = sorted(points)
    return Series(
        key=name[0],
        instance=name[1],
        times=tuple(moment for moment, _, _ in rising),
        values=tuple(value for _, value, _ in rising),
        spans=tuple(span for _, _, span in rising) if kind is Kind.COUNTER else None,
    )
