"""A pair of cgroups around one tool and the job it watches, so that the kernel counts both apart.

The tool is started in the cgroup `tool`. The job's first step, `join.sh`, moves itself to the cgroup `job`
and becomes the command. Both lie below one parent, which counts all that was ever below it, also what was
removed since: all = parent, job = `job`, the tool's own = all - job.

A recorder that gives the job a cgroup of its own must not lose it by that move.

* Hybrid machine: CPU is counted in version 1 `cpuacct`, where jobmeter makes nothing while there is a
  unified hierarchy for its own cgroup. So the job joins there as under every other tool. In version 1
  `memory` jobmeter does make its own cgroup: the job stays in it, and it is found as the directory below
  `tool` and looked at from outside.
* Pure version 2 machine: there is one hierarchy, so the job joins nothing (`own_cgroup=True`). jobmeter makes
  its own cgroup beside `tool`, and the job is what the parent counts less what `tool` counts: read from
  cgroups that jobmeter does not read.

Memory truth is what the cgroup was charged minus file cache, looked at every few milliseconds
(`launch.MemoryOracle`), because the kernel's own peak contains file cache.

What the shell of `join.sh` uses before it is inside (under 1 ms) is counted as the tool's.
"""

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from harness import cgroups

JOIN_VARIABLE = "JOBMETER_BENCH_JOIN"


@dataclass(frozen=True, slots=True)
class Arena:
    """Cgroups made for one run; use as a context manager so that they go again."""

    cpu: Path
    """Parent of `tool` and `job` where CPU is counted."""
    memory: Path
    """The same where memory is counted; the same directory on a pure version 2 machine."""
    own_cgroup: bool
    """The tool gives the job a cgroup of its own."""
    leftovers: list[str] = field(default_factory=list)
    """Cgroups the tool had left behind when the arena was closed."""

    @property
    def is_hybrid(self) -> bool:
        return self.memory != self.cpu

    @property
    def parents(self) -> list[Path]:
        """The directories that hold a pair."""
        return [self.cpu, self.memory] if self.is_hybrid else [self.cpu]

    @property
    def tool_files(self) -> list[Path]:
        """The files a tool's process must enter before it starts."""
        return [parent / "tool" / "cgroup.procs" for parent in self.parents]

    @property
    def job_files(self) -> list[Path]:
        """The files the job enters by itself."""
        joined = [parent for parent in self.parents if not (self.own_cgroup and parent == self.memory)]
        return [parent / "job" / "cgroup.procs" for parent in joined]

    def allow(self, uid: int) -> None:
        """Let an unprivileged user move its processes within the arena, but make no cgroup there."""
        for parent in self.parents:
            # version 2 asks for write permission on the common ancestor as well
            for directory in (parent, parent / "tool", parent / "job"):
                os.chown(directory / "cgroup.procs", uid, -1)

    def limit_tool(self, limit_bytes: int) -> None:
        """Set the memory limit of the cgroup the tool is started in."""
        name = "memory.limit_in_bytes" if self.is_hybrid else "memory.max"
        cgroups.write(self.memory / "tool" / name, str(limit_bytes))

    def all_cpu_seconds(self) -> float:
        """Read the CPU time of tool and job together."""
        return self._cpu(self.cpu)

    def job_cpu_seconds(self) -> float:
        """Read the CPU time of the job so far, with processes that have ended."""
        if self.own_cgroup and not self.is_hybrid:
            # the tool first: an older value of it makes the job no smaller than it was
            tool = self._cpu(self.cpu / "tool")
            return self._cpu(self.cpu) - tool
        return self._cpu(self.cpu / "job")

    def job_memory(self) -> cgroups.Memory | None:
        """Look at the job's memory; None while the tool has not made its own cgroup yet."""
        directory = self._own_memory_cgroup() if self.own_cgroup else self.memory / "job"
        if directory is None:
            return None
        try:
            return cgroups.memory_v1(directory) if self.is_hybrid else cgroups.memory_v2(directory)
        except OSError:
            # the tool removed its cgroup between listing and reading
            return None

    def pids(self) -> list[int]:
        """List every live process of the tool and the job."""
        files = self.cpu.rglob("cgroup.procs")
        return [int(word) for file in files for word in file.read_text().split()]

    def kill(self) -> None:
        """End every process of the tool and the job."""
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)

    def _cpu(self, cgroup: Path) -> float:
        return cgroups.cpu_seconds_v1(cgroup) if self.is_hybrid else cgroups.cpu_seconds_v2(cgroup)

    def _own_memory_cgroup(self) -> Path | None:
        parent = self.memory / "tool" if self.is_hybrid else self.memory
        made = [path for path in parent.iterdir() if path.is_dir() and path.name not in ("tool", "job")]
        return made[0] if made else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for parent in self.parents:
            self.leftovers.extend(_remove(parent, expected={parent, parent / "tool", parent / "job"}))


def build(name: str, *, own_cgroup: bool) -> Arena:
    """Make the cgroups of one run; raises NoTruthError where the machine cannot."""
    mounted = cgroups.mounts()
    if "unified" not in mounted:
        raise cgroups.NoTruthError("no version 2 hierarchy is mounted")
    if "memory" in mounted:
        cpu, memory = cgroups.current("cpuacct") / name, cgroups.current("memory") / name
    else:
        cpu = memory = mounted["unified"][0] / name
    arena = Arena(cpu, memory, own_cgroup)
    try:
        for parent in arena.parents:
            parent.mkdir()
            if not arena.is_hybrid:
                _enable_memory(parent)
            (parent / "tool").mkdir()
            (parent / "job").mkdir()
    except OSError as error:
        raise cgroups.NoTruthError(f"cannot make cgroups: {error}; run as root") from error
    return arena


def _enable_memory(cgroup: Path) -> None:
    for directory in (cgroup.parent, cgroup):
        cgroups.write(directory / "cgroup.subtree_control", "+memory")


def _remove(cgroup: Path, expected: set[Path]) -> list[str]:
    """Remove a cgroup with all below it; name those that the arena did not make."""
    left: list[str] = []
    for child in [path for path in cgroup.iterdir() if path.is_dir()]:
        left += _remove(child, expected)
    cgroup.rmdir()
    if cgroup not in expected:
        left.append(str(cgroup))
    return left
