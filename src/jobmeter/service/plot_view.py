"""A run as plots need it: with the series of every process, however short it lived.

The store keeps one row for a process seen in few reports, not its series. A plot of who used what needs
them, so they are read from the run folder again; only the lines that speak of processes are parsed.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from jobmeter.aggregation.windows import REST
from jobmeter.model.measurement import Kind, Scope
from jobmeter.model.view import Process, RunView, Series, Window
from jobmeter.runfolder import lines, tailer
from jobmeter.service import plot_panels, runs

QUANTITIES = ("cputime", "rss")
MARKS = tuple(f'_{quantity}":{space}{{'.encode() for quantity in QUANTITIES for space in ("", " "))
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
    if found.run.folder is None or _is_whole(found):
        return found
    return with_every_process(found, process_windows(Path(found.run.folder)))


def _is_whole(found: RunView) -> bool:
    """Tell whether every process has both a series and a name, so that the folder has nothing to add."""
    drawn = {instance for _, instance in found.series} - {"", REST}
    return drawn == {process.instance for process in found.processes}


def process_windows(folder: Path) -> Iterator[Window]:
    """Yield the windows of a folder that speak of single processes."""
    reader = lines.WindowReader()
    for piece in tailer.pieces(folder, "usage.jsonl", closed=True):
        yield from reader.read([line for line in piece.lines if any(mark in line for mark in MARKS)])


def with_every_process(found: RunView, windows: Iterable[Window]) -> RunView:
    """Add the series of processes that the view has none of; what it has stays as it is."""
    keys = {
        m.key: m.kind
        for m in found.run.definitions.values()
        if m.scope is Scope.PROCESS and m.key.partition("_")[2] in QUANTITIES
    }
    points: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    commands: dict[str, str] = {}
    for window in windows:
        for (key, instance), value in window.values.items():
            if isinstance(value, str) and key.endswith("_cmd"):
                commands[instance] = value
            if key not in keys or not instance or (key, instance) in found.series:
                continue
            if isinstance(value, int | float):
                begin, end = window.clock.get(key.partition("_")[0], (0.0, 0.0))
                points.setdefault((key, instance), []).append((window.timestamp, float(value), end - begin))
    added = {name: _series(name, taken, keys[name[0]]) for name, taken in points.items()}
    return replace(
        found, series=found.series | added, processes=(*found.processes, *_unlisted(found, commands))
    )


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
