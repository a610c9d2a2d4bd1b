"""Record a job with this working tree's jobmeter inside an arena, beside an oracle, and read what it wrote.

Files are read as the documentation of the run folder describes them, not with jobmeter's own reader.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from harness import arena as arenas
from harness import catalogue, envs, launch

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CpuLook:
    """One look at the kernel's count: it was true at some moment between the two clock readings."""

    begin: float
    end: float
    cpu_seconds: float


class CpuOracle:
    """Looks at a job's CPU time every few milliseconds from a thread of its own."""

    def __init__(self, look: Callable[[], float], interval_seconds: float = 0.003) -> None:
        self._look = look
        self._interval_seconds = interval_seconds
        self._stop = Event()
        self._looks: list[CpuLook] = []
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> list[CpuLook]:
        """End the watch."""
        self._stop.set()
        self._thread.join()
        return self._looks

    def _watch(self) -> None:
        while not self._stop.wait(self._interval_seconds):
            begin = time.monotonic()
            cpu_seconds = self._look()
            self._looks.append(CpuLook(begin, time.monotonic(), cpu_seconds))


@dataclass(frozen=True, slots=True)
class Person:
    """Who records: an interpreter that may run, the package, the workloads they may read."""

    uid: int
    interpreter: str
    package: Path
    script: Path
    workloads: Path

    @property
    def own_cgroup(self) -> bool:
        return self.uid == 0


def root() -> Person:
    """Be root, who may make cgroups."""
    script = envs.ROOT / "scripts" / "jobmeter"
    return Person(0, sys.executable, envs.ROOT / "src", script, catalogue.WORKLOADS)


def nobody(folder: Path) -> Person:
    """Be an unprivileged user without any right on cgroups or on private folders."""
    package, workloads = envs.unprivileged_copy(folder)
    interpreter = envs.unprivileged_interpreter()
    return Person(launch.NOBODY, interpreter, package, package / "jobmeter-script", workloads)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run folder beside the kernel's truth."""

    exit_code: int
    run: Json
    """The records of `run.jsonl`, merged in order."""
    usage: list[Json]
    events: list[Json]
    said: Json
    """What `--summary json` printed."""
    stdout: str
    cpu: list[CpuLook]
    job_cpu_seconds: float
    tool_cpu_seconds: float
    memory: launch.MemoryPeak | None
    leftovers: list[str]

    @property
    def headline(self) -> Json:
        headline: Json = self.said["headline"]
        return headline

    def cumulated(self, key: str) -> Iterator[tuple[float, float]]:
        """Give the moment and the running total of a counter at every line that has it."""
        source, total = key.partition("_")[0], 0.0
        for line in self.usage:
            if key in line["measurements"]:
                total += line["measurements"][key]
                yield line["clock"][source][1], total

    def truth_at(self, moment: float) -> tuple[float, float]:
        """Bound the kernel's count at a moment by the looks before and after it."""
        before = [look.cpu_seconds for look in self.cpu if look.end <= moment]
        after = [look.cpu_seconds for look in self.cpu if look.begin >= moment]
        return (before[-1] if before else 0.0), (after[0] if after else self.job_cpu_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How to record."""

    options: tuple[str, ...] = ()
    watch_memory: bool = False
    limit_bytes: int | None = None
    """Limit the memory of the cgroup jobmeter is started in."""
    join: bool = True
    """Let the job join the oracle's cgroups; without, it stays where jobmeter put it."""


PLAIN = Wish()


def record(person: Person, command: list[str], folder: Path, wish: Wish = PLAIN) -> Recorded:
    """Record one command in a fresh arena."""
    launch.become_subreaper()
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    task = launch.Task(
        argv=_argv(person, command, folder, wish),
        folder=folder,
        uid=person.uid,
        environment={
            **os.environ,
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "PYTHONPATH": str(person.package),
        },
        own_cgroup=person.own_cgroup,
    )
    with arenas.build(f"truth-{os.getpid()}", own_cgroup=person.own_cgroup) as arena:
        if person.uid:
            arena.allow(person.uid)
        if wish.limit_bytes is not None:
            arena.limit_tool(wish.limit_bytes)
        pid = launch.start(task, arena)
        cpu_oracle = CpuOracle(arena.job_cpu_seconds)
        memory_oracle = launch.MemoryOracle(arena.job_memory) if wish.watch_memory else None
        exit_code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        launch.await_all(arena)
        cpu = cpu_oracle.stop()
        memory = memory_oracle.stop() if memory_oracle else None
        job_cpu_seconds = arena.job_cpu_seconds()
        tool_cpu_seconds = arena.all_cpu_seconds() - job_cpu_seconds
    written = _read(folder)
    return Recorded(exit_code, *written, cpu, job_cpu_seconds, tool_cpu_seconds, memory, arena.leftovers)


def _argv(person: Person, command: list[str], folder: Path, wish: Wish) -> list[str]:
    program = [
        person.interpreter,
        str(person.script),
        "run",
        "--summary",
        "json",
        "--home",
        str(folder / "home"),
    ]
    joining = ["/bin/sh", str(person.workloads / "join.sh")] if wish.join else []
    return [*program, *wish.options, "--", *joining, *command]


def _read(folder: Path) -> tuple[Json, list[Json], list[Json], Json, str]:
    (run_folder,) = (folder / "home" / "runs").glob("*/*")
    merged: Json = {}
    for line in _lines(run_folder / "run.jsonl"):
        merged.update(line)
    said = [line for line in (folder / "stderr").read_text().splitlines() if line.startswith("{")]
    summary = json.loads(said[-1]) if said else {}
    usage, events = _lines(run_folder / "usage.jsonl"), _lines(run_folder / "events.jsonl")
    return merged, usage, events, summary, (folder / "stdout").read_text()


def _lines(path: Path) -> list[Json]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]
