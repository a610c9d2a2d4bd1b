"""Ask a system tool (`ps`, `vm_stat`, `sysctl`) once and read its answer, without the subprocess module.

The tool's CPU time enters this process's RUSAGE_CHILDREN when it is reaped, like that of the job: it is kept
in `cpu_seconds` so that exact accounting can take it out again. `ps` can hang for ever in the kernel on a
process that holds its memory map, hence the bound, and the wait after a kill that is bounded too.
"""

import _signal
import os
import select
import time

_KILL_GRACE_SECONDS = 0.2


def find(name: str, search_path: str | None = None) -> str | None:
    """Return the full path of a tool; None where no directory of the search path has it."""
    for folder in (search_path or os.environ.get("PATH") or os.defpath).split(os.pathsep):
        candidate = os.path.join(folder or ".", name)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


class Tool:
    """One system tool, started anew for every question, one at a time."""

    __slots__ = ("_environment", "_strays", "_timeout_seconds", "cpu_seconds", "path")

    def __init__(self, path: str, *, timeout_seconds: float = 2.0) -> None:
        self.path = path
        self.cpu_seconds = 0.0
        """CPU time of all reaped calls so far."""
        self._timeout_seconds = timeout_seconds
        self._environment = _plain_environment()
        self._strays: list[int] = []

    def ask(self, *arguments: str) -> bytes:
        """Return what the tool prints; raise OSError when it cannot be started or does not end in time."""
        self._collect_strays()
        pid, out = self._start(arguments)
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

    def close(self) -> None:
        """Reap what a kill could not end at once."""
        self._collect_strays()

    def _start(self, arguments: tuple[str, ...]) -> tuple[int, int]:
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
                self.path,
                [self.path, *arguments],
                self._environment,
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
            reaped, _, usage = os.wait4(pid, options)
        except ChildProcessError:
            return True  # someone else in this process waited for it first
        if reaped == 0:
            return False
        self.cpu_seconds += usage.ru_utime + usage.ru_stime
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


def _plain_environment() -> dict[str, str]:
    # COLUMNS, PS_FORMAT, PS_PERSONALITY and LC_NUMERIC change what `ps` prints: keep the character set only
    environ = os.environ
    charset = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or "C"
    return {"PATH": environ.get("PATH", os.defpath), "LC_CTYPE": charset}
