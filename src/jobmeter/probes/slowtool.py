"""A system tool that may be slow or hang (`nvidia-smi`), asked in the background: its answer is taken when it is there.

The same circuit breaker as for the GPU helper: `closed` while it answers, `open` after it failed (no answer in time,
nothing readable, cannot be started) for a pause that doubles, `trial` when it is asked again after that.
"""

import _signal
import os
import time

from jobmeter.model.breaker import Breaker
from jobmeter.probes import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from resource import struct_rusage

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 2.0, 300.0
_MOST_BYTES = 4 << 20
_KEPT = ("LD_LIBRARY_PATH",)
"""A driver's libraries are not always where the linker looks."""


class SlowTool:
    """One question, asked again and again, one call at a time."""

    __slots__ = (
        "_arguments",
        "_clock",
        "_every_seconds",
        "_next_at",
        "_out",
        "_path",
        "_pause",
        "_pid",
        "_read",
        "_strays",
        "_timeout_seconds",
        "asked_at",
        "failures",
        "last_error",
        "state",
        "usage",
    )

    def __init__(
        self,
        path: str,
        arguments: list[str],
        *,
        every_seconds: float,
        timeout_seconds: float = 2.0,
        clock: "Callable[[], float]" = time.monotonic,
    ) -> None:
        self._path = path
        self._arguments = arguments
        self._every_seconds = every_seconds
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._pid, self._out = 0, -1
        self._read: list[bytes] = []
        self._strays: list[int] = []
        self._pause = FIRST_PAUSE_SECONDS
        self._next_at = 0.0
        self.asked_at = 0.0
        """When the call began whose answer was taken last."""
        self.state = Breaker.TRIAL
        self.failures = 0
        self.last_error = ""
        self.usage = command.Usage()

    @property
    def strays(self) -> tuple[int, ...]:
        """Calls that are still running."""
        return (self._pid, *self._strays) if self._pid else tuple(self._strays)

    def reaped(self, pid: int, rusage: "struct_rusage") -> None:
        """Hear from the recorder that it has waited for a call."""
        self.usage.add(rusage, None)
        self._strays = [stray for stray in self._strays if stray != pid]
        if pid == self._pid:
            self._pid = 0

    def take(self) -> bytes | None:
        """Give the answer if one has arrived, and ask again when it is time; never wait."""
        self._strays = [pid for pid in self._strays if not self._reap(pid)]
        answer = self._answer() if self._out >= 0 else None
        if self._out < 0 and self._clock() >= self._next_at and not self._strays:
            self._ask()
        return answer

    def accept(self) -> None:
        """Note that the answer could be read."""
        self.state, self._pause = Breaker.CLOSED, FIRST_PAUSE_SECONDS

    def refuse(self, error: str) -> None:
        """Note that there was no answer, or none that could be read."""
        self.state, self.last_error = Breaker.OPEN, error
        self.failures += 1
        self._next_at = self._clock() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)

    def _answer(self) -> bytes | None:
        while sum(map(len, self._read)) <= _MOST_BYTES:
            try:
                chunk = os.read(self._out, 65536)
            except BlockingIOError:
                break
            if not chunk:
                answer = b"".join(self._read)
                self._end()
                return answer
            self._read.append(chunk)
        else:
            self._end()
            self.refuse(f"{os.path.basename(self._path)} does not stop talking")
            return None
        if self._clock() - self.asked_at > self._timeout_seconds:
            self._end()
            self.refuse(f"{os.path.basename(self._path)} gave no answer in {self._timeout_seconds:g} s")
        return None

    def _ask(self) -> None:
        self.state = Breaker.TRIAL if self.state is Breaker.OPEN else self.state
        self.asked_at = self._clock()
        self._next_at = self.asked_at + self._every_seconds
        self._read = []
        try:
            self._pid, self._out = command.start(self._path, self._arguments, keep=_KEPT)
        except OSError as error:
            self.refuse(f"{self._path} could not be started: {error.strerror}")
            return
        os.set_blocking(self._out, False)

    def _end(self) -> None:
        os.close(self._out)
        self._out = -1
        pid, self._pid = self._pid, 0
        if not pid:
            return
        try:
            os.kill(pid, _signal.SIGKILL)
        except ProcessLookupError:
            return  # the recorder's own wait was first
        if not self._reap(pid):
            self._strays.append(pid)

    def _reap(self, pid: int) -> bool:
        try:
            reaped, _, rusage = os.wait4(pid, os.WNOHANG)
        except ChildProcessError:
            return True  # the recorder's own wait was first, and has told us if it knew
        if reaped:
            self.usage.add(rusage, None)
        return bool(reaped)

    def close(self) -> None:
        """End what still runs; wait a moment for it."""
        if self._out >= 0:
            self._end()
        until = time.monotonic() + 0.1
        while self._strays and time.monotonic() < until:
            self._strays = [pid for pid in self._strays if not self._reap(pid)]
            time.sleep(0.002)
