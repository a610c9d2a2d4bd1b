"""What the store does not keep of a run because it is no number: names of devices, and states as last seen.

Both are in `usage.jsonl`: a device is named when it is first seen, states stand in the lines at its end.
"""

from collections.abc import Iterator
from pathlib import Path

from jobmeter.delivery import following
from jobmeter.exporters.run_metrics import Name
from jobmeter.model.measurement import Kind, Scope
from jobmeter.model.run import Run
from jobmeter.runfolder import lines, tailer

HEAD_BYTES = 8 * 1024 * 1024
"""How much of a run is searched for the names of its devices: they are said when a device is first seen."""

Devices = dict[str, dict[str, str]]
States = dict[Name, tuple[float, dict[str, int]]]


def devices(run: Run) -> Devices:
    """Find the labels of every device, by instance and key."""
    wanted = _keys(run, Kind.LABEL)
    if not wanted or run.folder is None:
        return {}
    marks = [f'"{key}"'.encode() for key in wanted]
    named = [line for line in _lines(Path(run.folder)) if any(mark in line for mark in marks)]
    found: Devices = {}
    for window in lines.WindowReader().read(named):
        for (key, instance), value in window.values.items():
            if key in wanted and instance:
                found.setdefault(instance, {})[key] = str(value)
    return found


def states(run: Run) -> States:
    """Read the states at the end of a run that is being recorded, with when they were seen."""
    wanted = _keys(run, Kind.CATEGORICAL)
    if not wanted or run.folder is None:
        return {}
    found: States = {}
    for window in following.last_windows(Path(run.folder)):
        for (key, instance), value in window.values.items():
            if key in wanted and isinstance(value, dict):
                found[key, instance] = (window.timestamp, value)
    return found


def _keys(run: Run, kind: Kind) -> frozenset[str]:
    known = run.definitions.values()
    return frozenset(one.key for one in known if one.kind is kind and one.scope is not Scope.PROCESS)


def _lines(folder: Path) -> Iterator[bytes]:
    for piece in tailer.pieces(folder, following.USAGE):
        yield from piece.lines
        if piece.end >= HEAD_BYTES:
            return
