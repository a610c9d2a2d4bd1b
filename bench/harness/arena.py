"""A pair of cgroups around one tool and the job it watches, so that the kernel counts both apart.

CPU. Below `jobmeter-bench-PID` in the version 2 hierarchy (the `unified` one on a hybrid machine, the only
one elsewhere) lie `tool` and `job`. The tool is started in `tool`. The job's first step, `join.sh`, moves
itself to `job` and becomes the command. The parent counts all that was ever below it, also what was removed
since, so

    all = parent,  tool's own = `tool`,  job = all - tool's own.

A recorder that gives the job a cgroup of its own must not lose it by that move. On a hybrid machine it does
not: jobmeter's own cgroup is in the version 1 hierarchies `cpuacct` and `memory`, and the job leaves only the
unified one, where jobmeter keeps nothing. On a pure version 2 machine the job does not join anything
(`own_cgroup=True`): jobmeter makes its own cgroup beside `tool`, below the same parent, and the difference
above is still the job, read from cgroups that jobmeter does not read.

Memory. The same pair in the version 1 `memory` hierarchy (hybrid), or in the same directories elsewhere.
Other tools' jobs join `job` there; jobmeter's own cgroup is found as the directory it makes below or beside
`tool`, and only looked at from outside. What counts as truth is charged memory minus file cache, looked at
every few milliseconds (`MemoryOracle`), because the kernel's own peak contains file cache.

What the shell of `join.sh` uses before it is inside (under 1 ms) is counted as the tool's.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from harness import cgroups

JOIN_VARIABLE = "JOBMETER_BENCH_JOIN"
JOIN_SCRIPT = Path(__file__).resolve().parent.parent / "workloads" / "join.sh"


@dataclass(frozen=True, slots=True)
class Arena:
    """Cgroups made for one run; use as a context manager so that they go again."""

    unified: Path
    """Parent of `tool` and `job` in the version 2 hierarchy."""
    memory: Path
    """Parent of `tool` and `job` where memory is counted; the same directory on a pure version 2 machine."""
    own_cgroup: bool
    """The tool gives the job a cgroup of its own."""
    leftovers: list[str] = field(default_factory=list)
    """Cgroups the tool had left behind when the arena was closed."""

    @property
    def is_hybrid(self) -> bool:
        return self.memory != self.unified

    @property
    def tool_files(self) -> list[Path]:
        """The files a tool's process must enter before it starts."""
        return [parent / "tool" / "cgroup.procs" for parent in {self.unified, self.memory}]

    @property
    def job_files(self) -> list[Path]:
        """The files the job enters by itself."""
        joined = {self.unified, self.memory}
        if self.own_cgroup:
            joined.discard(self.memory)
        return [parent / "job" / "cgroup.procs" for parent in sorted(joined)]

    def allow(self, uid: int) -> None:
        """Let an unprivileged user move its processes within the arena, but make no cgroup there."""
        for parent in {self.unified, self.memory}:
            # version 2 asks for write permission on the common ancestor as well
            for directory in (parent, parent / "tool", parent / "job"):
                os.chown(directory / "cgroup.procs", uid, -1)

    def all_cpu_seconds(self) -> float:
        """Read the CPU time of tool and job together."""
        return cgroups.cpu_seconds(self.unified)

    def tool_cpu_seconds(self) -> float:
        """Read the CPU time of the tool and its helpers."""
        return cgroups.cpu_seconds(self.unified / "tool")

    def job_cpu_seconds(self) -> float:
        """Read the CPU time of the job so far, with processes that have ended."""
        if not self.own_cgroup or self.is_hybrid:
            return cgroups.cpu_seconds(self.unified / "job")
        tool = self.tool_cpu_seconds()
        return self.all_cpu_seconds() - tool

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

    def is_populated(self) -> bool:
        """Tell whether any process of the tool or the job lives."""
        return cgroups.flat(self.unified / "cgroup.events")["populated"] == 1

    def kill(self) -> None:
        """End every process of the tool and the job."""
        cgroups.write(self.unified / "cgroup.kill", "1")

    def _own_memory_cgroup(self) -> Path | None:
        parent = self.memory / "tool" if self.is_hybrid else self.memory
        made = [path for path in parent.iterdir() if path.is_dir() and path.name not in ("tool", "job")]
        return made[0] if made else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for parent in sorted({self.unified, self.memory}):
            self.leftovers.extend(_remove(parent, expected={parent, parent / "tool", parent / "job"}))


def build(name: str, *, own_cgroup: bool) -> Arena:
    """Make the cgroups of one run; raises NoTruthError where the machine cannot."""
    mounted = cgroups.mounts()
    if "unified" not in mounted:
        raise cgroups.NoTruthError("no version 2 hierarchy is mounted, so no CPU truth")
    unified = mounted["unified"][0] / name
    memory = cgroups.current("memory") / name if "memory" in mounted else unified
    try:
        for parent in {unified, memory}:
            parent.mkdir()
            if parent == unified and memory == unified:
                _enable_memory(unified)
            (parent / "tool").mkdir()
            (parent / "job").mkdir()
    except OSError as error:
        raise cgroups.NoTruthError(f"cannot make cgroups: {error}; run as root") from error
    return Arena(unified, memory, own_cgroup)


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
