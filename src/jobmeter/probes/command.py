"""Ask a system tool (`ps`, `vm_stat`, `sysctl`) once and read its answer, without the subprocess module.

When the tool is reaped, the kernel adds what it used to this process's account of reaped children, which is
also the job's. `Tool.usage` keeps it apart, so that exact accounting can take it out again. `ps` can hang for
ever in the kernel on a process that holds its memory map, hence the bound, and the bounded wait after a kill.
"""

import _signal
import os
import select
import time

from jobmeter.probes import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from resource import struct_rusage

_KILL_GRACE_SECONDS = 0.2


def find(name: str, search_path: str | None = None) -> str | None:
    """Return the full path of a tool; None where no directory of the search path has it."""
    for folder in (search_path or os.environ.get("PATH") or os.defpath).split(os.pathsep):
        candidate = os.path.join(folder or ".", name)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def start(path: str, arguments: "Iterable[str]", *, keep: tuple[str, ...] = ()) -> tuple[int, int]:
    """Start a tool; return its pid and the end of the pipe it prints to. `keep` are variables it may need."""
    out, inlet = os.pipe()
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    actions = [
        (os.POSIX_SPAWN_DUP2, null, 0),
        (os.POSIX_SPAWN_DUP2, inlet, 1),
        (os.POSIX_SPAWN_DUP2, null, 2),
    ]
    try:
        # the recorder blocks and catches signals: the tool starts with none blocked and the usual actions
        pid = os.posix_spawn(
            path,
            [path, *arguments],
            _plain_environment(keep),
            file_actions=actions,
            setsigmask=(),
            setsigdef=(_signal.SIGPIPE, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGCHLD),
        )
    except OSError:
        os.close(out)
        raise
    finally:
        os.close(inlet)
        os.close(null)
    return pid, out


class Usage:
    """What our own calls used: part of RUSAGE_CHILDREN and of `/proc/self/io`, but not of the job."""

    __slots__ = ("cpu_ns", "io", "majflt", "maxrss_bytes", "minflt")

    def __init__(self) -> None:
        self.cpu_ns = 0
        self.minflt = 0
        self.majflt = 0
        self.maxrss_bytes = 0
        """The largest of any call; at least the recorder's own size, which a child inherits."""
        self.io: procfs.ProcessIo = (0, 0, 0, 0)

    def add(self, rusage: "struct_rusage", io: procfs.ProcessIo | None) -> None:
        """Count one more reaped call."""
        self.cpu_ns += round((rusage.ru_utime + rusage.ru_stime) * 1e9)
        self.minflt += rusage.ru_minflt
        self.majflt += rusage.ru_majflt
        self.maxrss_bytes = max(self.maxrss_bytes, rusage.ru_maxrss * 1024)
        if io is not None:
            before = self.io
            self.io = (before[0] + io[0], before[1] + io[1], before[2] + io[2], before[3] + io[3])


class Earlier:
    """Processes reaped before the job began, as if they had been calls of our own."""

    __slots__ = ("usage",)

    strays: tuple[int, ...] = ()

    def __init__(self) -> None:
        self.usage = Usage()

    def reaped(self, pid: int, rusage: "struct_rusage") -> None:
        """Nothing of it is left to wait for."""


class Tool:
    """One system tool, started anew for every question, one at a time."""

    __slots__ = ("_strays", "_timeout_seconds", "path", "usage")

    def __init__(self, path: str, *, timeout_seconds: float = 2.0) -> None:
        self.path = path
        self.usage = Usage()
        """Of all reaped calls so far."""
        self._timeout_seconds = timeout_seconds
        self._strays: list[int] = []

    def ask(self, *arguments: str) -> bytes:
        """Return what the tool prints; raise OSError when it cannot be started or does not end in time."""
        self._collect_strays()
        pid, out = start(self.path, arguments)
        try:
            text = self._read(out, time.monotonic() + self._timeout_seconds)
        finally:
            os.close(out)
        if text is None:
            self._abandon(pid)
            raise TimeoutError(f"{self.path} gave no answer in {self._timeout_seconds:g} s")
        self._reap(pid, 0)
        return text

    @property
    def strays(self) -> tuple[int, ...]:
        """Calls that a kill has not ended yet."""
        return tuple(self._strays)

    def reaped(self, pid: int, rusage: "struct_rusage") -> None:
        """Hear from the recorder that it has waited for a call that a kill could not end at once."""
        self._strays.remove(pid)
        self.usage.add(rusage, None)

    def close(self) -> None:
        """Reap what a kill could not end at once."""
        self._collect_strays()

    def _read(self, out: int, deadline: float) -> bytes | None:
        poll = select.poll()
        poll.register(out, select.POLLIN)
        chunks: list[bytes] = []
        while True:
            left_ms = (deadline - time.monotonic()) * 1000
            if left_ms <= 0 or not poll.poll(left_ms):
                return None
            chunk = os.read(out, 65536)
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)

    def _reap(self, pid: int, options: int) -> bool:
        try:
            io = _io_at_the_end(pid, options)
            reaped, _, rusage = os.wait4(pid, options)
        except ChildProcessError:
            return True  # someone else in this process waited for it first
        if reaped == 0:
            return False
        self.usage.add(rusage, io)
        return True

    def _abandon(self, pid: int) -> None:
        os.kill(pid, _signal.SIGKILL)
        deadline = time.monotonic() + _KILL_GRACE_SECONDS
        while not self._reap(pid, os.WNOHANG):
            if time.monotonic() > deadline:
                self._strays.append(pid)  # stuck in the kernel: it dies when the kernel lets go of it
                return
            time.sleep(0.005)

    def _collect_strays(self) -> None:
        self._strays = [pid for pid in self._strays if not self._reap(pid, os.WNOHANG)]


def _io_at_the_end(pid: int, options: int) -> procfs.ProcessIo | None:
    if not hasattr(os, "waitid"):
        return None  # macOS, which keeps no such account either
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | options)
    return None if ended is None else procfs.read_io("/proc", pid)


def _plain_environment(keep: tuple[str, ...]) -> dict[str, str]:
    # COLUMNS, PS_FORMAT, PS_PERSONALITY and LC_NUMERIC change what `ps` prints: keep the character set only
    environ = os.environ
    charset = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or "C"
    kept = {name: environ[name] for name in keep if name in environ}
    return {"PATH": environ.get("PATH", os.defpath), "LC_CTYPE": charset, **kept}
