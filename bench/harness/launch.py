"""Start one command in an arena, wait until all it started is gone, and say what the kernel counted."""

import ctypes
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from harness import arena as arenas
from harness import cgroups
from harness.footprint import Footprint, FootprintOracle

NOBODY = 65534
PR_SET_CHILD_SUBREAPER = 36
TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What to start, as whom, where."""

    argv: list[str]
    folder: Path
    """Working directory; `stdout` and `stderr` are written there."""
    uid: int = 0
    environment: Mapping[str, str]
    own_cgroup: bool = False
    """The tool gives the job a cgroup of its own."""
    watch_memory: bool = False
    """Look at the job's memory."""
    look: bool = False
    """Look at the tool's own memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the kernel counted."""

    exit_code: int
    wall_seconds: float
    job_cpu_seconds: float
    tool_cpu_seconds: float
    memory: "MemoryPeak | None"
    footprint: Footprint | None
    leftovers: tuple[str, ...]
    """Cgroups the tool did not remove."""

    @property
    def all_cpu_seconds(self) -> float:
        return self.job_cpu_seconds + self.tool_cpu_seconds


@dataclass(frozen=True, slots=True)
class MemoryPeak:
    """The largest values an oracle saw."""

    needed_bytes: int
    """Charged memory without file cache."""
    charged_bytes: int | None
    """The kernel's own high-water mark, with file cache."""
    looks: int


class MemoryOracle:
    """Looks at a job's memory every few milliseconds from a thread of its own."""

    def __init__(self, look: Callable[[], cgroups.Memory | None], interval_seconds: float = 0.005) -> None:
        self._look = look
        self._interval_seconds = interval_seconds
        self._stop = Event()
        self._needed_bytes = 0
        self._charged_bytes: int | None = None
        self._looks = 0
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> MemoryPeak | None:
        """End the watch; None when there was nothing to look at."""
        self._stop.set()
        self._thread.join()
        return MemoryPeak(self._needed_bytes, self._charged_bytes, self._looks) if self._looks else None

    def _watch(self) -> None:
        while not self._stop.wait(self._interval_seconds):
            memory = self._look()
            if memory is None:
                continue
            self._looks += 1
            self._needed_bytes = max(self._needed_bytes, memory.needed_bytes)
            self._charged_bytes = memory.peak_charged_bytes


def run(task: Task, name: str) -> Outcome:
    """Carry the task out in a fresh arena."""
    become_subreaper()
    with arenas.build(name, own_cgroup=task.own_cgroup) as arena:
        if task.uid:
            arena.allow(task.uid)
        started = time.monotonic()
        pid = start(task, arena)
        oracle = MemoryOracle(arena.job_memory) if task.watch_memory else None
        looker = FootprintOracle(pid) if task.look else None
        exit_code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        wall_seconds = time.monotonic() - started
        await_all(arena)
        memory = oracle.stop() if oracle else None
        footprint = looker.stop() if looker else None
        job = arena.job_cpu_seconds()
        tool = arena.all_cpu_seconds() - job
    return Outcome(
        exit_code=exit_code,
        wall_seconds=wall_seconds,
        job_cpu_seconds=job,
        tool_cpu_seconds=tool,
        memory=memory,
        footprint=footprint,
        leftovers=tuple(arena.leftovers),
    )


def start(task: Task, arena: arenas.Arena) -> int:
    """Fork, enter the arena, give up rights, become the command; return the pid."""
    task.folder.mkdir(parents=True, exist_ok=True)
    outputs = [
        os.open(task.folder / stream, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for stream in ("stdout", "stderr")
    ]
    join = " ".join(str(path) for path in arena.job_files)
    environment = {**task.environment, arenas.JOIN_VARIABLE: join}
    pid = os.fork()
    if pid == 0:
        try:
            _become(task, arena, outputs, environment)
        finally:
            os._exit(98)
    for descriptor in outputs:
        os.close(descriptor)
    return pid


def _become(task: Task, arena: arenas.Arena, outputs: list[int], environment: dict[str, str]) -> None:
    os.chdir(task.folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(outputs[0], 1)
    os.dup2(outputs[1], 2)
    for procs in arena.tool_files:
        cgroups.write(procs, "0")
    if task.uid:
        os.setgroups([])
        os.setgid(task.uid)
        os.setuid(task.uid)
    os.execve(task.argv[0], task.argv, environment)  # noqa: S606  # no shell is wanted


def await_all(arena: arenas.Arena) -> None:
    """Wait until no process of the arena lives, reaping orphans that fell to us."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while arena.pids():
        if time.monotonic() > deadline:
            arena.kill()
        reap()
        time.sleep(0.01)
    reap()


def reap() -> None:
    """Collect every dead child, also adopted ones."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def become_subreaper() -> None:
    """Adopt orphans, so that an outliving job is still ours to wait for."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
