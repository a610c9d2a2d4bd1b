"""The process somebody else started: when it ended, how it ended, and what it said about that itself."""

import os
import select

from jobmeter.errors import UsageError
from jobmeter.probes import pidfd, procfs

_STATUS_WAIT_MS = 500
_POLL_SECONDS = 0.2
"""How often an old kernel, which has no descriptors for processes, is asked whether the process is there."""

_VISIBLE_AT, _EXIT_CODE_AT = 23, 49
"""Places of `startcode` and `exit_code` behind the command in `/proc/PID/stat`: see proc(5)."""


class Target:
    """A running process that is not our child."""

    __slots__ = ("_proc", "_start_ticks", "_visible", "_zombie_status", "fd", "pid")

    def __init__(self, pid: int, proc: str, fd: int | None) -> None:
        self.pid = pid
        self._proc = proc
        self.fd = fd
        """Readable once the process has ended; None on kernels older than 5.3."""
        stat = procfs.read_stat(proc, pid)
        self._start_ticks = -1 if stat is None else stat[5]
        # who may not see addresses is shown an exit code of 0, whatever it was
        self._visible = self._field(_VISIBLE_AT) not in (None, 0, 1)
        self._zombie_status: int | None = None

    @property
    def there(self) -> bool:
        """Whether the process could be found."""
        return self._start_ticks >= 0

    @property
    def patience(self) -> float:
        """How long one may wait before asking again."""
        return _POLL_SECONDS if self.fd is None else float("inf")

    def ended(self, ready: list[int]) -> bool:
        """Tell whether the process has ended, given which descriptors are readable."""
        if self.fd is not None:
            over = self.fd in ready
        else:
            stat = procfs.read_stat(self._proc, self.pid)
            over = stat is None or stat[5] != self._start_ticks or stat[1] in ("Z", "X")
        if over and self._visible:
            self._zombie_status = self._field(_EXIT_CODE_AT)
        return over

    def exit_status(self) -> int | None:
        """Ask how it ended: as a zombie it showed it, and new kernels know once its parent has reaped it."""
        if self._zombie_status is not None or self.fd is None:
            return self._zombie_status
        poll = select.poll()
        poll.register(self.fd, select.POLLHUP)
        poll.poll(_STATUS_WAIT_MS)
        return pidfd.wait_status(self.fd)

    def _field(self, place: int) -> int | None:
        """Read one number of its `stat`; None once it is gone or its pid is another's."""
        text = procfs.read_file(f"{self._proc}/{self.pid}/stat") or b""
        fields = text[text.rfind(b")") + 2 :].split()
        if len(fields) <= _EXIT_CODE_AT or int(fields[19]) != self._start_ticks:
            return None
        return int(fields[place])


def find(pid: int, proc: str) -> Target:
    """Take hold of a running process; UsageError where there is none."""
    target = Target(pid, proc, pidfd.open_pid(pid))
    if not target.there:
        raise UsageError(f"no such process: {pid}", hint="give the pid of a running process, as ps shows it")
    return target


class Told:
    """What the SDK inside the process says over its socket: `exit CODE STATUS`, then `finish CODE STATUS`."""

    __slots__ = ("_exit_code", "_status", "_unread", "exiting", "fd", "finished")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.exiting = False
        self.finished = False
        self._exit_code: int | None = None
        self._status = ""
        self._unread = b""

    def listen(self) -> bool:
        """Take in what was said; False when nobody can say anything any more."""
        try:
            said = os.read(self.fd, 4096)
        except OSError:
            return False
        *lines, self._unread = (self._unread + said).split(b"\n")
        for line in lines:
            words = line.decode("ascii", "replace").split()
            if len(words) == 3 and words[0] in ("exit", "finish"):
                self.exiting = True
                self.finished = words[0] == "finish"
                self._exit_code = None if words[1] == "-" else int(words[1])
                self._status = words[2]
        return bool(said)

    def answer(self) -> None:
        """Say that the last look was taken."""
        try:
            os.write(self.fd, b".")
        except OSError:
            return  # it could not wait that long

    def known(self) -> dict[str, object]:
        """What the process said of its own end; empty where it said nothing."""
        return {"status": self._status, "exit_code": self._exit_code} if self._status else {}

    def cancelled(self, status: int) -> dict[str, object]:
        """Call the end by Ctrl-C what it is: the training let itself be interrupted."""
        interrupted = self._status == "cancelled" and status != 0
        return {"status": self._status} if interrupted else {}
