"""What live readers are told of runs whose index moved on: looked up by what grew, whoever read it first.

One `run` event carries the run as `ls --json` lists it: at once when a fact of it changed, and every few seconds
while only its numbers move. `sample` has the latest value of each key of the job, its devices and its host.

What can mislead: single processes are not in `sample`, and only the last few of many new windows are looked at:
`windows` says how many there were, and the series hold all of them.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.model.measurement import PROCESS_TOOLS
from jobmeter.model.moments import iso_time
from jobmeter.model.run import LIVE, Run
from jobmeter.model.view import Window
from jobmeter.runfolder import lines, sdkfiles, tailer
from jobmeter.service import indexing, keeping, live, logs, output_steps, shapes
from jobmeter.service.live import Kind, LiveEvent
from jobmeter.stores import Store

NUMBERS_SECONDS = 5.0
"""How often a run is told again of which only numbers moved."""
_MOVING = frozenset(("disk_bytes", "headline", "samples", "steps", "wall_seconds"))
_READ_BYTES = 1 << 18
_WINDOWS, _EVENTS = 32, 50
_LOG = "log:"


@dataclass(slots=True)
class _Told:
    """What readers know of one run."""

    offsets: dict[str, int]
    """By file: how far it was told."""
    shape: shapes.Shape = field(default_factory=dict)
    at: float = 0.0
    steps: tuple[int, int] = (0, 0)
    """How many there were, and the last one."""
    project: str | None = None


class News:
    """Turns changes of the index into live events; the keeper calls it after each commit."""

    def __init__(self, hub: live.Hub, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._hub = hub
        self._clock = clock
        self._told: dict[str, _Told] = {}

    def __call__(self, store: Store, changes: Sequence[keeping.Changed]) -> None:
        """Tell what became of some runs."""
        if not self._hub.is_wanted():
            self._told.clear()
            return
        self._hub.publish([event for changed in changes for event in self._of(store, changed)])

    def _of(self, store: Store, changed: keeping.Changed) -> Iterator[LiveEvent]:
        run_id = changed.run_id
        run = None if changed.change is keeping.Change.GONE else store.brief(run_id)
        if run is None:
            told = self._told.pop(run_id, None)
            project = None if told is None else told.project
            yield LiveEvent(
                kind=Kind.RUN, run_id=run_id, data={"run_id": run_id, "removed": True}, project=project
            )
            return
        offsets = {file: position.offset for file, position in store.positions(run_id).items()}
        told = self._told.get(run_id) or _first_told(run, changed, offsets)
        self._told[run_id] = told
        yield from self._run(run, told)
        yield from _grown(run, told, offsets)
        if run.status not in indexing.UNSUMMED:
            del self._told[run_id]

    def _run(self, run: Run, told: _Told) -> Iterator[LiveEvent]:
        shape, now = shapes.listed(run), self._clock()
        if shape == told.shape:
            return
        if _facts(shape) == _facts(told.shape) and now - told.at < NUMBERS_SECONDS:
            return
        told.shape, told.at, told.project = shape, now, run.project
        yield LiveEvent(kind=Kind.RUN, run_id=run.run_id, data=shape, project=run.project)


def _first_told(run: Run, changed: keeping.Changed, offsets: dict[str, int]) -> _Told:
    """Tell a new run that goes on from its beginning; what any other had before is read from the API."""
    if changed.change is keeping.Change.NEW and run.status in LIVE:
        return _Told(offsets={})
    return _Told(offsets=offsets | _log_ends(run), steps=_steps_of(run))


def _facts(shape: shapes.Shape) -> shapes.Shape:
    return {name: value for name, value in shape.items() if name not in _MOVING}


def _grown(run: Run, told: _Told, offsets: dict[str, int]) -> Iterator[LiveEvent]:
    """Tell what was added to the files of a run."""
    for found in (_sample(run, told, offsets), _step(run, told), _log(run, told)):
        if found is not None:
            yield found
    for file in sdkfiles.names(offsets, sdkfiles.EVENTS):
        fresh = _fresh_lines(run, told, file, offsets[file])
        for event in filter(None, map(lines.event, fresh[-_EVENTS:])):
            data = {"run_id": run.run_id, **shapes.happened(event)}
            yield LiveEvent(kind=Kind.EVENT, run_id=run.run_id, data=data, project=run.project)


def _sample(run: Run, told: _Told, offsets: dict[str, int]) -> LiveEvent | None:
    fresh = _fresh_lines(run, told, indexing.USAGE, offsets.get(indexing.USAGE, 0))
    windows = lines.WindowReader().read(fresh[-_WINDOWS:])
    if not windows:
        return None
    data = {
        "run_id": run.run_id,
        "timestamp": iso_time(windows[-1].timestamp),
        "windows": len(fresh),
        "values": _latest(windows),
    }
    return LiveEvent(kind=Kind.SAMPLE, run_id=run.run_id, data=data, project=run.project)


def _fresh_lines(run: Run, told: _Told, file: str, end: int) -> list[bytes]:
    """Read the lines of a file that were indexed since it was last told; of very many the last."""
    begin = told.offsets.get(file, 0)
    told.offsets[file] = end
    if end <= begin or run.folder is None:
        return []
    first = max(begin, end - _READ_BYTES)
    found = bytearray()
    for block in tailer.blocks(Path(run.folder), file, first):
        found += block[: end - first - len(found)]
        if len(found) >= end - first:
            break
    whole = bytes(found).splitlines()
    return whole if first == begin else whole[1:]


def _latest(windows: Sequence[Window]) -> dict[str, object]:
    """Lay out the last value of every key as a line of `usage.jsonl` does, single processes left out."""
    latest: dict[str, object] = {}
    for window in windows:
        for (key, instance), value in window.values.items():
            if not instance:
                latest[key] = value
            elif key.partition("_")[0] not in PROCESS_TOOLS:
                known = latest.get(key)
                latest[key] = {**(known if isinstance(known, dict) else {}), instance: value}
    return latest


def _steps_of(run: Run) -> tuple[int, int]:
    return (0, 0) if run.steps is None else (run.steps.count, run.steps.last_step)


def _step(run: Run, told: _Told) -> LiveEvent | None:
    if run.steps is None or _steps_of(run) == told.steps:
        return None
    told.steps = _steps_of(run)
    data = {"run_id": run.run_id, **run.steps.as_record()}
    return LiveEvent(kind=Kind.STEP, run_id=run.run_id, data=data, project=run.project)


def _log(run: Run, told: _Told) -> LiveEvent | None:
    grown: dict[str, dict[str, int]] = {}
    for name, end in _log_ends(run).items():
        begin = told.offsets.get(name, 0)
        told.offsets[name] = end
        if end > begin:
            grown[name.removeprefix(_LOG)] = {"from": begin, "to": end}
    if not grown:
        return None
    data = {"run_id": run.run_id, "streams": grown}
    return LiveEvent(kind=Kind.LOG, run_id=run.run_id, data=data, project=run.project)


def _log_ends(run: Run) -> dict[str, int]:
    """Say how far each stream of output can be read now, in bytes of the stream."""
    ends: dict[str, int] = {}
    for channel in logs.channels(run, output_steps.STREAMS):
        size = tailer.size(channel.path.parent, channel.path.name)
        if size is not None:
            end = size if channel.end is None else min(size, channel.end)
            ends[f"{_LOG}{channel.stream}"] = end - channel.start
    return ends
