"""Signals that reach the recorder: passed on to the job's group once, in order, a stubborn Ctrl-C harder."""

import _signal
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_NAMES = (
    "SIGINT",
    "SIGTERM",
    "SIGHUP",
    "SIGQUIT",
    "SIGUSR1",
    "SIGUSR2",
    "SIGXCPU",
    "SIGTSTP",
    "SIGCONT",
    "SIGWINCH",
)
FORWARDED: tuple[int, ...] = tuple(getattr(_signal, name) for name in _NAMES)

ESCALATION = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGKILL)
"""What the first, second and third SIGINT become."""


class Inbox:
    """Collects signals and wakes the event loop."""

    __slots__ = ("_write", "arrived", "blocked", "child_signal", "fd")

    def __init__(self) -> None:
        self.arrived: list[int] = []
        self.fd, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        _signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        # a caller that blocks SIGCHLD hands that on, and the end of the job would go unnoticed
        self.blocked = _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGCHLD,))
        # with SIGCHLD ignored the kernel reaps by itself and throws the accounts away
        self.child_signal = _signal.getsignal(_signal.SIGCHLD)
        _signal.signal(_signal.SIGCHLD, self._note)
        for number in FORWARDED:
            self.listen(number)

    def listen(self, number: int) -> None:
        """Catch a signal, unless the caller had it ignored (nohup): then the job ignores it too."""
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, self._note)

    def _note(self, number: int, _frame: "FrameType | None") -> None:
        if number != _signal.SIGCHLD:
            self.arrived.append(number)

    def release(self) -> None:
        """Stop listening: from here on a signal means us, and so does one that nobody has taken yet."""
        _signal.set_wakeup_fd(-1)
        for number in FORWARDED:
            if _signal.getsignal(number) == self._note:
                _signal.signal(number, _signal.SIG_DFL)
        for number in self.arrived:
            os.kill(os.getpid(), number)

    def take(self) -> list[int]:
        """Give the signals that arrived since the last call."""
        try:
            os.read(self.fd, 4096)
        except BlockingIOError:
            return []
        arrived, self.arrived = self.arrived, []
        return arrived
