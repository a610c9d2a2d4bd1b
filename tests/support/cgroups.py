"""Trees of /proc and /sys/fs/cgroup made of plain files, and a job that lives in a real cgroup."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from jobmeter.probes import cgroupfs
from jobmeter.probes.cgroupfs import OwnCgroup
from jobmeter.probes.paths import Paths
from support import recorder

MIB = 1 << 20

BURN = "import time\nwhile time.process_time() < {seconds}: pass"
FILL_PRIVATE = "import time\nheld = b'x' * {bytes}\nprint('held', flush=True)\ninput()"
FILL_SHARED = """
import mmap
held = mmap.mmap(-1, {bytes})
for at in range(0, {bytes}, 4096): held[at] = 1
print('held', flush=True)
input()
"""


class Tree:
    """A machine made of files: what /proc/self says and what the cgroup directories hold."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = Paths(proc=str(root / "proc"), sys=str(root / "sys"))

    def process(self, cgroup: str, pid: str = "self") -> None:
        """Write /proc/PID/cgroup."""
        self.write(f"proc/{pid}/cgroup", cgroup)

    def mounts(self, *lines: str) -> None:
        """Write /proc/self/mountinfo; mount points are below /sys of the tree."""
        self.write("proc/self/mountinfo", "\n".join(lines) + "\n")

    def write(self, path: str, text: str) -> None:
        """Write one file of the tree."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def cgroup(self, path: str, files: Mapping[str, str]) -> str:
        """Make one cgroup directory below /sys/fs/cgroup and return its path."""
        directory = self.root / "sys/fs/cgroup" / path
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in {"cgroup.procs": "", **files}.items():
            (directory / name).write_text(text)
        return str(directory)


class RealJob:
    """What a collector needs to know of a job, for a real process."""

    def __init__(self, pid: int, own_cgroup: OwnCgroup | None, paths: Paths | None = None) -> None:
        self.paths = paths or Paths()
        self.pid = pid
        self.own_cgroup = own_cgroup
        self.processes: dict[int, object] = {}


def start(script: str, own: OwnCgroup | None = None, *more: str) -> "subprocess.Popen[str]":
    """Start a Python script in cgroups joined between fork and exec: first `more`, then the own one."""

    def join() -> None:
        for directory in more:
            write(f"{directory}/cgroup.procs", b"0")
        if own is not None:
            own.join()

    return subprocess.Popen(
        [sys.executable, "-S", "-c", script],
        preexec_fn=join,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: "subprocess.Popen[str]") -> int:
    """Let a script that waits for input end, and reap it."""
    process.communicate("\n")
    return process.returncode


def held(process: "subprocess.Popen[str]") -> None:
    """Wait until a script says that it holds its memory."""
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"


@contextmanager
def memory_limit(limit_bytes: int = 128 * MIB) -> Iterator[str]:
    """Make a real memory cgroup with a limit, and take it away again."""
    place = cgroupfs.locate(Paths()).memory
    assert place is not None, "the machine needs the memory controller"
    directory = f"{place.directory}/limited-{os.getpid()}"
    os.mkdir(directory)
    try:
        file = "memory.limit_in_bytes" if place.version == 1 else "memory.max"
        write(f"{directory}/{file}", b"%d" % limit_bytes)
        yield directory
    finally:
        # what the kernel left of a job ends a moment later, in the recorder's own group inside
        for group in (*Path(directory).glob("*/"), Path(directory)):
            recorder.wait_for(lambda path=group / "cgroup.procs": not path.read_text())
            group.rmdir()


def write(path: str, text: bytes) -> None:
    """Write to a kernel file unbuffered, so that a refusal is an error."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)


def read(directory: str, name: str) -> str:
    """Read a kernel file the plain way: the oracle's eye."""
    return Path(directory, name).read_text()
