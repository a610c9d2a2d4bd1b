"""The recorder's end of the GPU helper process: start it, hear it without waiting, start it anew when it fails.

A circuit breaker stands between a sample and a driver. `closed`: the helper answers. `open`: it died, or did not
answer in time and was killed; nothing is asked until the pause is over, which doubles each time. `trial`: started
again, not heard yet. `unusable`: it said that there is nothing to read here; it is not started again. What it
said is handed out once: an old answer is never taken for a new one.
"""

import _signal
import os
import sys
import time

from jobmeter.model.breaker import Breaker
from jobmeter.probes import command, procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from resource import struct_rusage

START_SECONDS, ANSWER_SECONDS = 30.0, 5.0
"""Without its persistence daemon a driver takes seconds per GPU to wake up."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 2.0, 300.0
_GOOD_SECONDS = 60.0
"""A helper that answered this long is trusted again: the pause begins anew."""

_END_SECONDS = 0.1
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from jobmeter.probes import gpu_helper; gpu_helper.run(sys.argv[2:])"
)


class HelperProcess:
    """One helper at a time, and what came of it."""

    __slots__ = (
        "_asked_at",
        "_clock",
        "_gap",
        "_inlet",
        "_io",
        "_outlet",
        "_pause",
        "_pending",
        "_pid",
        "_proc",
        "_retry_at",
        "_strays",
        "_words",
        "failures",
        "heard_at",
        "last_error",
        "started_at",
        "state",
        "usage",
    )

    def __init__(self, words: list[str], proc: str, *, clock: "Callable[[], float]" = time.monotonic) -> None:
        self._words = words
        self._proc = proc
        self._clock = clock
        self._pid = 0
        self._inlet = self._outlet = -1
        self._pending = b""
        self._strays: list[int] = []
        self._io: procfs.ProcessIo | None = None
        self._pause = FIRST_PAUSE_SECONDS
        self._retry_at = self._gap = 0.0
        self._asked_at = clock()
        self.usage = command.Usage()
        self.state = Breaker.TRIAL
        self.failures = 0
        self.last_error = ""
        self.started_at = self.heard_at = clock()
        self._start()

    @property
    def strays(self) -> tuple[int, ...]:
        """Processes of ours that live: the helper, and those a kill has not ended yet."""
        return (self._pid, *self._strays) if self._pid else tuple(self._strays)

    def reaped(self, pid: int, rusage: "struct_rusage") -> None:
        """Hear from the recorder that it has waited for a process of ours."""
        self.usage.add(rusage, self._io)
        self._io = None
        self._strays = [stray for stray in self._strays if stray != pid]
        if pid == self._pid:
            self._pid = 0

    def say(self, line: str) -> None:
        """Ask something of the helper; one that does not listen loses it."""
        if self._inlet < 0:
            return
        try:
            os.write(self._inlet, line.encode() + b"\n")
        except OSError:
            return  # full or closed: `hear` finds out which

    def hear(self) -> list[list[str]]:
        """Take the lines that have arrived since the last call, as fields; start the helper anew if it is time."""
        now = self._clock()
        if self._outlet < 0:
            dying = self._still_dying()
            if self.state is Breaker.OPEN and now >= self._retry_at and not dying:
                self.state = Breaker.TRIAL
                self._start()
            return []
        # at an ordinary end the account is read too late: its parent reaps it at once
        self._io = procfs.read_io(self._proc, self._pid) or self._io
        # asked once per sample it answers shortly before the next, however far that is
        self._gap = max(now - self._asked_at, self._gap / 2)
        self._asked_at = now
        lines = self._read(now)
        self._judge(lines, now)
        return lines

    def wait(self, seconds: float, word: str) -> list[list[str]]:
        """Hear until a line begins with `word`, for a moment at most; only when no sample can be late by it."""
        import select

        until = self._clock() + seconds
        lines: list[list[str]] = []
        poll = select.poll()
        while self.state is Breaker.CLOSED and self._outlet >= 0:
            poll.register(self._outlet, select.POLLIN)
            left = until - self._clock()
            if left <= 0 or not poll.poll(left * 1000):
                break
            lines += self.hear()
            if any(line[0] == word for line in lines):
                break
        return lines

    def _read(self, now: float) -> list[list[str]]:
        data = b""
        ended = False
        while not ended:
            try:
                chunk = os.read(self._outlet, 65536)
            except BlockingIOError:
                break
            data += chunk
            ended = not chunk
        *lines, self._pending = (self._pending + data).split(b"\n")
        if lines:
            self.heard_at = now
        told = [line.decode("utf-8", "replace").split("\t") for line in lines if line]
        if ended and not any(line[0] == "unusable" for line in told):
            self._fail("the GPU helper ended", now)
        return told

    def _judge(self, lines: list[list[str]], now: float) -> None:
        for line in lines:
            if line[0] == "unusable":
                self._stop()
                self.state, self.last_error = Breaker.UNUSABLE, line[1] if len(line) > 1 else ""
                return
            if line[0] == "ready" and self.state is Breaker.TRIAL:
                self.state, self.started_at = Breaker.CLOSED, now
        if self._outlet < 0:
            return
        patience = (ANSWER_SECONDS if self.state is Breaker.CLOSED else START_SECONDS) + 2 * self._gap
        if now - self.heard_at > patience:
            self._fail(f"the GPU driver gave no answer in {patience:.0f} s", now)
        elif self.state is Breaker.CLOSED and now - self.started_at > _GOOD_SECONDS:
            self._pause = FIRST_PAUSE_SECONDS

    def _fail(self, error: str, now: float) -> None:
        self._stop()
        self.state, self.last_error = Breaker.OPEN, error
        self.failures += 1
        self._retry_at = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)

    def _start(self) -> None:
        self.heard_at = self._clock()
        self._pending = b""
        try:
            self._pid, self._inlet, self._outlet = _spawn(self._words)
        except OSError as error:
            self._fail(f"the GPU helper could not be started: {error.strerror}", self.heard_at)

    def _stop(self) -> None:
        for fd in (self._inlet, self._outlet):
            if fd >= 0:
                os.close(fd)
        self._inlet = self._outlet = -1
        if not self._pid:
            return
        try:
            os.kill(self._pid, _signal.SIGKILL)
        except ProcessLookupError:
            self._pid = 0  # somebody else in this process waited for it
            return
        pid = self._pid
        if not self._reap(pid):
            self._strays.append(pid)  # stuck in the driver: it ends when the kernel lets go of it
            self._pid = 0

    def _still_dying(self) -> bool:
        """Whether the last one still hangs in the kernel: another would only join it."""
        return any(not self._reap(pid) for pid in tuple(self._strays))

    def _reap(self, pid: int) -> bool:
        try:
            reaped, _, rusage = os.wait4(pid, os.WNOHANG)
        except ChildProcessError:
            self._strays = [stray for stray in self._strays if stray != pid]
            return True  # the recorder's own wait was first, and has told us if it knew
        if reaped:
            self.reaped(pid, rusage)
        return bool(reaped)

    def close(self) -> None:
        """End the helper; wait a moment for it, so that nothing of it is left behind."""
        if self._pid and self._outlet >= 0:
            self._io = procfs.read_io(self._proc, self._pid) or self._io
        self._stop()
        until = time.monotonic() + _END_SECONDS
        while self._still_dying() and time.monotonic() < until:
            time.sleep(0.002)


def _spawn(words: list[str]) -> tuple[int, int, int]:
    """Start the helper; give its pid, what it is told by and what it is heard from."""
    ours: list[int] = []
    theirs: list[int] = []
    try:
        inlet, tell = os.pipe2(os.O_CLOEXEC)
        ours.append(tell)
        theirs.append(inlet)
        hear, outlet = os.pipe2(os.O_CLOEXEC)
        ours.append(hear)
        theirs.append(outlet)
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        theirs.append(null)
        for fd in ours:
            os.set_blocking(fd, False)
        return _execute(words, inlet, outlet, null), tell, hear
    except OSError:
        for fd in ours:
            os.close(fd)
        raise
    finally:
        for fd in theirs:
            os.close(fd)


def _execute(words: list[str], inlet: int, outlet: int, null: int) -> int:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    actions = [
        (os.POSIX_SPAWN_DUP2, inlet, 0),
        (os.POSIX_SPAWN_DUP2, outlet, 1),
        (os.POSIX_SPAWN_DUP2, null, 2),
    ]
    # -P: a `queue.py` in the job's folder is not the library's
    arguments = [sys.executable, "-P", "-c", _PROGRAM, root, words[0], str(os.getpid()), *words[1:]]
    # a group of its own: what a terminal or a shell sends to the recorder's is not meant for it
    return os.posix_spawn(
        sys.executable,
        arguments,
        os.environ,
        file_actions=actions,
        setpgroup=0,
        setsigmask=(),
        setsigdef=(_signal.SIGPIPE, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGCHLD, _signal.SIGTERM),
    )
