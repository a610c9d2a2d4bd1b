"""One row per process: what it was, when sampling saw it, and what it used as far as sampling saw.

Sums here are lower bounds: what a process did before its first and after its last sample is not in them.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from jobmeter.model.measurement import PROCESS_TOOLS, Scope
from jobmeter.model.run import Run
from jobmeter.model.view import Process, Window
from jobmeter.stores import Ranks, documents

_PID_DIGITS = 12


@dataclass(slots=True)
class Seen:
    """What some windows say of one process."""

    windows: int
    first: float
    last: float
    command: str | None = None
    cpu_seconds: float | None = None
    peak_rss_bytes: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None
    rank: int | None = None
    role: str | None = None
    world_size: int | None = None


def _name(seen: Seen, value: object) -> None:
    seen.command = documents.clean(str(value))


def _use_cpu(seen: Seen, value: object) -> None:
    if _is_number(value):
        seen.cpu_seconds = (seen.cpu_seconds or 0.0) + value


def _hold(seen: Seen, value: object) -> None:
    if _is_number(value):
        seen.peak_rss_bytes = max(seen.peak_rss_bytes or 0, int(value))


def _read(seen: Seen, value: object) -> None:
    if _is_number(value):
        seen.read_bytes = (seen.read_bytes or 0) + int(value)


def _write(seen: Seen, value: object) -> None:
    if _is_number(value):
        seen.write_bytes = (seen.write_bytes or 0) + int(value)


def _place(seen: Seen, value: object) -> None:
    seen.rank = _whole(value)


def _cast(seen: Seen, value: object) -> None:
    seen.role = documents.clean(str(value))


def _count(seen: Seen, value: object) -> None:
    seen.world_size = _whole(value)


def _whole(value: object) -> int | None:
    """Read a number that was recorded as a label; None for a word."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < _PID_DIGITS else None


QUANTITIES: dict[str, Callable[[Seen, object], None]] = {
    "cmd": _name,
    "cputime": _use_cpu,
    "hwm": _hold,
    "rank": _place,
    "read_bytes": _read,
    "role": _cast,
    "rss": _hold,
    "world_size": _count,
    "write_bytes": _write,
}
"""What a row keeps, by the last part of a key; others are series only."""


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and math.isfinite(value)


def is_process(instance: str) -> bool:
    """Tell `pid@starttime` from a device, a rank or `rest`."""
    pid, at, _ = instance.partition("@")
    return bool(at) and pid.isdecimal() and len(pid) < _PID_DIGITS


def tool_of(keys: Iterable[str]) -> str | None:
    """Choose the tool whose per-process keys are counted."""
    known = {key.partition("_")[0] for key in keys}
    return next((tool for tool in PROCESS_TOOLS if tool in known), None)


def counted_tool(run: Run, windows: Iterable[Window]) -> str | None:
    """Choose by the run's definitions, or by its windows where it has none."""
    defined = [key for key, definition in run.definitions.items() if definition.scope is Scope.PROCESS]
    return tool_of(defined) or tool_of(key for window in windows for key, _ in window.values)


def fold(windows: Iterable[Window], tool: str | None) -> dict[str, Seen]:
    """Gather what windows say of each process."""
    found: dict[str, Seen] = {}
    quantities = {f"{tool}_{quantity}": take for quantity, take in QUANTITIES.items()}
    for window in windows:
        here: set[str] = set()
        for (key, instance), value in window.values.items():
            if instance not in here:
                if not is_process(instance):
                    continue
                here.add(instance)
                _meet(found, instance, window.timestamp)
            take = quantities.get(key)
            if take is not None:
                take(found[instance], value)
    return found


def _meet(found: dict[str, Seen], instance: str, timestamp: float) -> None:
    seen = found.get(instance)
    if seen is None:
        found[instance] = Seen(1, timestamp, timestamp)
        return
    seen.windows += 1
    seen.first = min(seen.first, timestamp)
    seen.last = max(seen.last, timestamp)


def rows(found: Mapping[str, Seen]) -> list[Process]:
    """Render processes in the order they were first seen."""
    ordered = sorted(found.items(), key=lambda item: (item[1].first, pid_of(item[0]), item[0]))
    return [row(instance, seen) for instance, seen in ordered]


def row(instance: str, seen: Seen) -> Process:
    """Render one process."""
    return Process(
        instance=instance,
        pid=pid_of(instance),
        command=seen.command,
        first_seen=seen.first,
        last_seen=seen.last,
        # sums of microseconds differ in the last bit with the order of adding
        cpu_seconds=None if seen.cpu_seconds is None else round(seen.cpu_seconds, 6),
        peak_rss_bytes=seen.peak_rss_bytes,
        read_bytes=seen.read_bytes,
        write_bytes=seen.write_bytes,
        rank=seen.rank,
        role=seen.role,
        world_size=seen.world_size,
    )


def ranks(places: Iterable[tuple[int | None, int | None]]) -> Ranks:
    """Gather the ranks of processes; a process of a smaller job inside the job does not make it smaller."""
    known = list(places)
    seen = {rank for rank, _ in known if rank is not None}
    return Ranks(tuple(sorted(seen)), max((size for _, size in known if size is not None), default=None))


def ranks_in(windows: Iterable[Window]) -> Ranks:
    """Gather the ranks that windows label processes with."""
    found: list[tuple[int | None, int | None]] = []
    for window in windows:
        for (key, _), value in window.values.items():
            if key == "proc_rank":
                found.append((_whole(value), None))
            elif key == "proc_world_size":
                found.append((None, _whole(value)))
    return ranks(found)


def together(*parts: Ranks) -> Ranks:
    """Join what several parts of a run say of its ranks."""
    return ranks((rank, part.world_size) for part in parts for rank in (None, *part.seen))


def pid_of(instance: str) -> int:
    """Read the process number out of an instance."""
    return int(instance.partition("@")[0])
