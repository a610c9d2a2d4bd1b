"""What the processes of a job said of themselves through the SDK: `sdk.jsonl`, one file a process.

Each file is records merged in order. Of several processes the lowest rank speaks for the job; what it does
not say the others may. A fork or a second script of the same rank comes after the first.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.runfolder import lines, tailer

STEPS, EVENTS, SDK = "steps", "events", "sdk"
RECORDER_EVENTS = "events.jsonl"

_SINGLE = (
    "project", "name", "group", "job_type", "notes", "tags", "argv", "git", "packages", "python", "resumed"
)  # fmt: skip


@dataclass(slots=True)
class _Process:
    """One file, merged."""

    facts: lines.Record = field(default_factory=dict)
    config: lines.Record = field(default_factory=dict)
    summary: lines.Record = field(default_factory=dict)
    finish: lines.Record | None = None
    unreadable: int = 0

    def take(self, record: lines.Record | None) -> None:
        match None if record is None else record.get("type"):
            case "init":
                # a second `init` is the same process beginning anew: it has not finished
                self.facts |= record or {}
                self.config |= lines.mapping((record or {}).get("config"))
                self.finish = None
            case "config":
                self.config |= lines.mapping((record or {}).get("config"))
            case "summary":
                self.summary |= lines.mapping((record or {}).get("summary"))
            case "finish":
                self.finish = record
            case None:
                self.unreadable += 1
            case _:
                return  # a newer SDK's record: its meaning is not known here


@dataclass(frozen=True, slots=True)
class Told:
    """What all processes of a job said together."""

    facts: lines.Record = field(default_factory=dict)
    config: lines.Record = field(default_factory=dict)
    summary: lines.Record = field(default_factory=dict)
    ranks: tuple[int, ...] = ()
    """Of a distributed job; empty for a job of one process."""
    pids: dict[str, int] = field(default_factory=dict)
    """By rank, as text: which process spoke first for it."""
    world_size: int | None = None
    finishes: tuple[lines.Record, ...] = ()
    unfinished: tuple[tuple[int, int], ...] = ()
    """Pid and start time, in ticks since boot, of the processes that did not say they ended."""
    unreadable: int = 0

    def outcome(self) -> lines.Record | None:
        """Say how the job ended by its own word; one rank that failed is enough."""
        failed = (record for record in self.finishes if record.get("exit_code") != 0)
        return next(failed, self.finishes[0] if self.finishes else None)


def names(listed: Iterable[str], what: str) -> list[str]:
    """Choose the `steps`, `events` or `sdk` files among names, compressed or not; ranks in order."""
    plain = {name.removesuffix(".gz") for name in listed}
    found = [name for name in plain if name.startswith(f"{what}.") and name.endswith(".jsonl")]
    return sorted(found, key=_placing)


def is_mapped(name: str) -> bool:
    """Tell files that a job's process maps into its memory: they may end in zero bytes."""
    return name != RECORDER_EVENTS and name.startswith((f"{STEPS}.", f"{EVENTS}.", f"{SDK}."))


def _placing(name: str) -> tuple[int, int, str]:
    """Order by rank, a process that came second after the first."""
    labels = name.split(".")[1:-1]
    rank = next((int(label) for label in labels if label.isdecimal() and len(label) < 10), -1)
    return rank, len(labels), name


def read(folder: Path) -> Told:
    """Read what the processes of a run said; nothing where there was no SDK."""
    files = names(os.listdir(folder), SDK)
    if not files:
        return Told()
    processes = [_read_one(folder, name) for name in files]
    facts: lines.Record = {}
    config: lines.Record = {}
    summary: lines.Record = {}
    for process in reversed(processes):
        facts |= {key: value for key, value in process.facts.items() if key in _SINGLE and value is not None}
        config |= process.config
        summary |= process.summary
    sizes = [size for one in processes if (size := lines.whole(one.facts.get("world_size"))) is not None]
    ranks = {rank for one in processes if (rank := lines.whole(one.facts.get("rank"))) is not None}
    world_size = max(sizes, default=None)
    return Told(
        facts=facts,
        config=config,
        summary=summary,
        ranks=tuple(sorted(ranks)) if (world_size or 1) > 1 or ranks - {0} else (),
        pids=_pids(processes),
        world_size=world_size,
        finishes=tuple(one.finish for one in processes if one.finish is not None),
        unfinished=_unfinished(processes),
        unreadable=sum(one.unreadable for one in processes),
    )


def _unfinished(processes: Iterable[_Process]) -> tuple[tuple[int, int], ...]:
    names = [
        (lines.whole(one.facts.get("pid")), lines.whole(one.facts.get("start_ticks")))
        for one in processes
        if one.finish is None
    ]
    return tuple((pid, ticks) for pid, ticks in names if pid is not None and ticks is not None)


def _pids(processes: Iterable[_Process]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in processes:
        rank, pid = lines.whole(one.facts.get("rank")), lines.whole(one.facts.get("pid"))
        if rank is not None and pid is not None:
            found.setdefault(str(rank), pid)
    return found


def _read_one(folder: Path, name: str) -> _Process:
    process = _Process()
    for piece in tailer.pieces(folder, name, closed=True, mapped=True):
        for line in piece.lines:
            record = lines.record(line)
            if record is not None or (line.strip() and not piece.torn):
                process.take(record)
    return process
