"""The few cgroup facts the truth needs: where the hierarchies are, and what their counters say.

Written apart from jobmeter on purpose: an oracle that shared code with what it checks would share its faults.
"""

import os
from dataclasses import dataclass
from pathlib import Path


class NoTruthError(Exception):
    """This machine cannot give the kernel's truth; says why."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One look at a cgroup's memory."""

    charged_bytes: int
    needed_bytes: int
    """Charged memory without file cache: anonymous, shared and kernel memory."""
    peak_charged_bytes: int | None
    """The kernel's own high-water mark, page cache included."""


def mounts() -> dict[str, tuple[Path, str]]:
    """Map each mounted controller (`unified` for version 2) to its mount point and the root mounted there."""
    found: dict[str, tuple[Path, str]] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        kind, _, super_options = right.split()[:3]
        root, mount_point = left.split()[3:5]
        if kind == "cgroup2":
            found["unified"] = (Path(mount_point), root)
        if kind == "cgroup":
            found.update((option, (Path(mount_point), root)) for option in super_options.split(","))
    return found


def current(controller: str) -> Path:
    """Give the directory of this process's cgroup in one version 1 hierarchy."""
    mount_point, root = mounts()[controller]
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return mount_point / os.path.relpath(path, root)
    raise NoTruthError(f"this process is in no {controller} cgroup")


def write(path: Path, text: str) -> None:
    """Write to a control file with one write, so that the kernel's refusal is an error here."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def flat(path: Path) -> dict[str, int]:
    """Read a file of `key number` lines."""
    return {key: int(value) for key, value in (line.split() for line in path.read_text().splitlines())}


def cpu_seconds_v1(cgroup: Path) -> float:
    """Read the CPU time of a version 1 `cpuacct` cgroup and all that was ever below it."""
    return int((cgroup / "cpuacct.usage").read_text()) / 1e9


def cpu_seconds_v2(cgroup: Path) -> float:
    """Read the CPU time of a version 2 cgroup and all that was ever below it."""
    return flat(cgroup / "cpu.stat")["usage_usec"] / 1e6


def memory_v1(cgroup: Path) -> Memory:
    """Look at the memory of a version 1 cgroup."""
    charged = int((cgroup / "memory.usage_in_bytes").read_text())
    stat = flat(cgroup / "memory.stat")
    file_cache = stat["total_cache"] - stat["total_shmem"]
    peak = int((cgroup / "memory.max_usage_in_bytes").read_text())
    return Memory(charged, charged - file_cache, peak)


def memory_v2(cgroup: Path) -> Memory:
    """Look at the memory of a version 2 cgroup; kernels before 5.19 keep no peak."""
    charged = int((cgroup / "memory.current").read_text())
    stat = flat(cgroup / "memory.stat")
    try:
        peak = int((cgroup / "memory.peak").read_text())
    except FileNotFoundError:
        peak = None
    return Memory(charged, charged - (stat["file"] - stat["shmem"]), peak)
