"""Start the process that follows a run: it pushes the folder and watches for alerts, beside the recorder, never in it.

It is nobody's child, has a session, a low priority and no streams of its own, so that neither the job nor who waits
for the recorder ever meets it. Two pipes join the two: the end of the first tells the follower that the run is over,
however the recorder ended; the end of the second tells the recorder that all was sent.
"""

import os
import select
import sys

from jobmeter.probes import command, procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from resource import struct_rusage

    from jobmeter.config.options import Options

CONTROL_FD, DONE_FD = 3, 4
_PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); from jobmeter.delivery import follower; "
    "sys.exit(follower.main(sys.argv[1:]))"
)
_NICENESS = 10
_LAST_WORD_SECONDS = 10.0
"""How long the last push may take where everything is killed as soon as the recorder ends."""


class Follower:
    """The follower as its recorder sees it: a helper of ours where orphans come to us whatever we do (as process 1)."""

    __slots__ = ("_control", "_done", "strays", "usage")

    def __init__(self, control: int, done: int, pid: int) -> None:
        self._control = control
        self._done = done
        self.usage = command.Usage()
        found = procfs.read_stat("/proc", pid) if pid else None
        self.strays: tuple[int, ...] = (pid,) if found is not None and found[2] == os.getpid() else ()

    def reaped(self, pid: int, rusage: "struct_rusage") -> None:
        """Hear that the recorder has waited for it: what it used is not the job's."""
        self.strays = tuple(stray for stray in self.strays if stray != pid)
        self.usage.add(rusage, None)

    def over(self) -> None:
        """Tell that the run is over."""
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    def last_word(self) -> None:
        """Stay until all was sent, for a bounded time, where everything is killed as soon as this process ends."""
        self.over()
        if os.getpid() == 1 or "SLURM_JOB_ID" in os.environ:
            poll = select.poll()
            poll.register(self._done, select.POLLIN)
            poll.poll(_LAST_WORD_SECONDS * 1000)


def start(options: "Options", folder: str | None) -> Follower | None:
    """Start it where it was asked for; call this while orphans do not yet come to this process."""
    if not options.follow or folder is None or not _is_interpreter():
        return None
    heard, control = os.pipe2(os.O_CLOEXEC)
    done, told = os.pipe2(os.O_CLOEXEC)
    environment = {**os.environ, **({"JOBMETER_SERVER": options.server} if options.server else {})}
    # in its own folder it would keep a file system from being unmounted
    words = [sys.executable, "-P", "-c", _PROGRAM, _root(), os.path.abspath(folder), *options.follow]
    pid = os.fork()
    if pid == 0:
        try:
            _stand_apart({heard, told})
            os.write(told, b"%d" % _execute(words, environment, heard, told))
        finally:
            os._exit(0)
    os.close(heard)
    os.close(told)
    os.waitpid(pid, 0)
    os.set_blocking(done, False)
    return Follower(control, done, _told_pid(done))


def _told_pid(done: int) -> int:
    """Read which process it is; 0 where it could not be started."""
    try:
        return int(os.read(done, 32) or b"0")
    except BlockingIOError:
        return 0  # who started it was killed in between


def lacks_token(server: str | None, environ: "Mapping[str, str]") -> bool:
    """Tell whether a server elsewhere would be asked without a token, which none answers."""
    if server is None or environ.get("JOBMETER_TOKEN"):
        return False
    from jobmeter.config import receivers

    folder = environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    path = environ.get("JOBMETER_TOKEN_FILE") or os.path.join(folder, "jobmeter", "token")
    return not os.path.exists(path) and not receivers.is_loopback(
        server.partition("://")[2].partition("/")[0]
    )


def _stand_apart(kept: set[int]) -> None:
    """Hold nothing of the caller's: others wait for these ends to close."""
    os.setsid()
    os.chdir("/")
    os.nice(_NICENESS)
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else map(str, range(3, 256)):
        try:
            if int(name) > 2 and int(name) not in kept:
                os.close(int(name))
        except OSError:
            continue  # the listing's own, or none


def _execute(words: list[str], environment: dict[str, str], heard: int, told: int) -> int:
    # clear of the low numbers that the new process is given
    high = [os.dup2(fd, number) for fd, number in ((heard, 10), (told, 11))]
    null = os.devnull
    return os.posix_spawn(
        words[0],
        words,
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, null, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, high[0], CONTROL_FD),
            (os.POSIX_SPAWN_DUP2, high[1], DONE_FD),
            (os.POSIX_SPAWN_CLOSE, high[0]),
            (os.POSIX_SPAWN_CLOSE, high[1]),
        ],
        setsigmask=(),
        setsigdef=range(1, 32),
    )


def _is_interpreter() -> bool:
    """Tell Python from a program that holds one."""
    name = os.path.basename(sys.executable or "").lower()
    return ("python" in name or "pypy" in name) and not getattr(sys, "frozen", False)


def _root() -> str:
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
