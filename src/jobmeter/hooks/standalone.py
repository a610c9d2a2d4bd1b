"""Start a recorder for this very process, and tell it when the training ends.

It is started by a shell that leaves at once, so that it is nobody's child: a training script that waits for
its children never meets it. It has a session of its own and no streams. One socket joins the two: over it
goes `finish` (end the run now) and `exit` (take a last look, this process is about to end), and its end tells
that the recorder is gone.
"""

import os
import select
import sys

from jobmeter.errors import RecordError
from jobmeter.hooks.descriptors import Descriptor
from jobmeter.probes import pidfd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.config.options import Options
    from jobmeter.runfolder.writer import RunFolder

_SHELL = "/bin/sh"
_RECORDER = "import sys; sys.path.append({root!r}); from jobmeter.__main__ import start; start()"
_CONTROL_FD, _PROCESS_FD = 3, 4
FINISH_SECONDS = 3.0
"""How long the end of a run may take its recorder before we go on without it."""
LOOK_SECONDS = 0.25
"""How long an ending process waits for the last look at it."""


class Recorder:
    """A recorder process, as far as the training process knows it."""

    __slots__ = ("_socket",)

    def __init__(self, socket: Descriptor) -> None:
        self._socket = socket

    def finish(self, exit_code: int | None, status: str) -> bool:
        """Have the run ended now; False when the recorder did not manage in time."""
        return self._tell(f"finish {_code(exit_code)} {status}\n") and self._gone_within(FINISH_SECONDS)

    def exit(self, exit_code: int | None, status: str) -> bool:
        """Have a last look taken at this process; False when there was none in time."""
        return self._tell(f"exit {_code(exit_code)} {status}\n") and self._answers_within(LOOK_SECONDS)

    def _tell(self, message: str) -> bool:
        import _socket

        # a plain write would be SIGPIPE where the recorder is gone and the script took the default back
        quietly = getattr(_socket, "MSG_NOSIGNAL", 0)
        try:
            joint = _socket.socket(fileno=self._socket.number())
        except OSError:
            return False
        try:
            joint.send(message.encode("ascii"), quietly)
        except OSError:
            return False
        finally:
            joint.detach()
        return True

    def _answers_within(self, seconds: float) -> bool:
        poll = select.poll()
        try:
            poll.register(self._socket.number(), select.POLLIN)
        except OSError:
            return False  # the training closed it, and the recorder took that for its end
        return bool(poll.poll(seconds * 1000))

    def _gone_within(self, seconds: float) -> bool:
        """Wait until the recorder has ended: its end of the socket closes with it."""
        import time

        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if not self._answers_within(left):
                return False
            try:
                if not os.read(self._socket.number(), 64):
                    return True
            except OSError:
                return True
        return False

    def close(self) -> None:
        """Let go of the recorder; it goes on until this process ends."""
        self._socket.close()


def _code(exit_code: int | None) -> str:
    return "-" if exit_code is None else str(exit_code)


def begin(folder: "RunFolder", options: "Options") -> None:
    """Write the `start` record: the run exists from here on, whatever becomes of its recorder."""
    from jobmeter.probes.paths import Paths
    from jobmeter.recording import earlier, setup
    from jobmeter.recording.clock import SystemClock

    record = setup.start_record(options, list(sys.orig_argv), folder, SystemClock(), Paths())
    record["attached"] = True
    if account := earlier.written_down():
        record["earlier"] = account
    if not folder.run.append(record):
        raise RecordError("the disk is full", hint="the training goes on; nothing of it is kept")
    folder.close()


def start_recorder(folder: str) -> Recorder | None:
    """Start the recorder of this process; None where it cannot be started."""
    import jobmeter

    if not _is_interpreter() or sys.platform != "linux":
        return None
    root = os.path.dirname(os.path.dirname(os.path.abspath(jobmeter.__file__)))
    words = [
        sys.executable,
        "-P",
        "-c",
        _RECORDER.format(root=root),
        "attach",
        "--into",
        folder,
        str(os.getpid()),
    ]
    try:
        return Recorder(Descriptor(_spawn_joined(words)))
    except OSError:
        return None  # no shell, or no room for another process or descriptor


def _spawn_joined(words: list[str]) -> int:
    """Start the recorder with one end of a socket; give the other."""
    import _socket
    import fcntl

    ours, theirs = _socket.socketpair()
    held = {_CONTROL_FD: theirs.detach()}
    # the descriptor stays good when this process is gone and its pid another's
    process_fd = pidfd.open_pid(os.getpid())
    if process_fd is not None:
        held[_PROCESS_FD] = process_fd
    given: dict[int, int] = {}
    try:
        for number, fd in held.items():
            # clear of the low numbers that the new process is given
            given[number] = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
        _spawn(words, given)
    except OSError:
        ours.close()
        raise
    finally:
        for fd in (*held.values(), *given.values()):
            os.close(fd)
    return ours.detach()


def _is_interpreter() -> bool:
    """Tell Python from a program that holds one: started again, a frozen training would train again."""
    name = os.path.basename(sys.executable or "").lower()
    return ("python" in name or "pypy" in name) and not getattr(sys, "frozen", False)


def _spawn(words: list[str], given: dict[int, int]) -> None:
    """Start a process that is not our child, with some descriptors of ours under other numbers."""
    null = os.devnull
    actions: list[tuple[object, ...]] = [
        (os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, null, os.O_WRONLY, 0),
        *((os.POSIX_SPAWN_DUP2, fd, number) for number, fd in given.items()),
    ]
    detached = [_SHELL, "-c", '"$@" &', "sh", *words]
    pid = os.posix_spawn(_SHELL, detached, os.environ, file_actions=actions, setsid=True, setsigmask=[])
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        return  # the script's own handler of SIGCHLD was faster
