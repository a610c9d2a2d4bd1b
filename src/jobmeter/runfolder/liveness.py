"""Is the recorder of a run without an end record still there?

Where the run was recorded on this boot the process table answers. A folder on a shared file system may
belong to a recorder on another host: there only fresh bytes show life, and a verdict can change.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jobmeter.probes import procfs
from jobmeter.runfolder import lines, sdkfiles

BEAT_FILES = frozenset(("usage.jsonl", "events.jsonl", "run.jsonl", "stdout", "stderr"))
LEAST_SILENCE_SECONDS = 30.0
"""Clocks of two hosts and caches of a shared file system differ by less than this."""
SETTLED_SECONDS = 86400.0


@dataclass(frozen=True, slots=True)
class Here:
    """What identifies this machine to a run folder."""

    boot_id: str
    hostname: str
    proc: str = "/proc"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the recorder lives, and whether that answer can still change."""

    alive: bool
    final: bool


def here(proc: str = "/proc") -> Here:
    """Identify this machine."""
    boot_id = procfs.read_file(f"{proc}/sys/kernel/random/boot_id") or b""
    return Here(boot_id.decode("ascii", "replace").strip(), os.uname().nodename, proc)


def judge(start: lines.Record, folder: Path, machine: Here, now: float) -> Verdict:
    """Decide from a `start` record (empty if there is none) whether its recorder lives."""
    recorder = lines.mapping(start.get("recorder"))
    pid, ticks = lines.whole(recorder.get("pid")), lines.whole(recorder.get("start_ticks"))
    same_boot = bool(machine.boot_id) and start.get("boot_id") == machine.boot_id
    if same_boot and pid is not None and _runs(machine.proc, pid, ticks):
        return Verdict(alive=True, final=False)
    # another host name on the same boot is a container, whose processes may not be visible from here
    if start.get("host") == machine.hostname and start.get("boot_id"):
        return Verdict(alive=False, final=True)
    return _by_beat(start, folder, now)


def goes_on(start: lines.Record, processes: Iterable[tuple[int, int]], machine: Here) -> bool:
    """Tell whether one of a job's own processes lives on this boot, whatever became of its recorder."""
    if not machine.boot_id or start.get("boot_id") != machine.boot_id:
        return False
    return any(_runs(machine.proc, pid, ticks) for pid, ticks in processes)


def _runs(proc: str, pid: int, ticks: int | None) -> bool:
    found = procfs.read_stat(proc, pid)
    if found is None:
        return False
    _, state, _, _, _, started, *_ = found
    return state not in ("Z", "X") and (ticks is None or ticks == started)


def _by_beat(start: lines.Record, folder: Path, now: float) -> Verdict:
    """A recorder elsewhere is alive while its files grow within three reports."""
    interval = lines.number(start.get("report_interval")) or 0.0
    silent_seconds = now - max(_changed(folder), default=0.0)
    alive = silent_seconds < max(3 * interval, LEAST_SILENCE_SECONDS)
    return Verdict(alive, final=silent_seconds > SETTLED_SECONDS)


def _changed(folder: Path) -> list[float]:
    """List when files last grew: the recorder's, and those of the job's own processes."""
    times = []
    for name in os.listdir(folder):
        if name not in BEAT_FILES and not sdkfiles.is_mapped(name):
            continue
        try:
            times.append(os.stat(folder / name).st_mtime)
        except OSError:
            continue  # compressed and replaced between listing and asking
    return times
