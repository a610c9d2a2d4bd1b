"""Start the job: in its cgroup, with its own process group and its outputs.

Everything the job could notice is put back as it was found: SIGPIPE and SIGXFSZ, which Python ignores, are
restored, signals the caller ignored stay ignored, inherited descriptors stay open, the locale is the caller's.
posix_spawn shares the recorder's memory until exec: nothing is copied, and no time of ours is counted as the job's.
"""

import _signal
import os

from jobmeter.probes import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmeter.probes.cgroupfs import OwnCgroup
    from jobmeter.recording.signals import Inbox

    Begin = Callable[[str, list[str], "Inheritance"], int]

NOT_FOUND, NOT_EXECUTABLE = 127, 126
_ENOENT, _ENOEXEC, _EACCES, _ENOTDIR = 2, 8, 13, 20
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")


class ExecError(Exception):
    """The kernel would not start the command."""

    def __init__(self, errno: int) -> None:
        super().__init__(os.strerror(errno))
        self.errno = errno

    @property
    def exit_code(self) -> int:
        return NOT_FOUND if self.errno in (_ENOENT, _ENOTDIR) else NOT_EXECUTABLE


class Inside:
    """A visit to the job's cgroup: a child is born where its parent is, and nothing it allocates is charged elsewhere.

    Moving in can take the kernel 15 ms, which are not the job's.
    """

    __slots__ = ("_own_cgroup",)

    def __init__(self, own_cgroup: "OwnCgroup | None") -> None:
        self._own_cgroup = own_cgroup

    def __enter__(self) -> None:
        if self._own_cgroup is not None:
            self._own_cgroup.join()

    def __exit__(self, *_error: object) -> None:
        if self._own_cgroup is not None:
            self._own_cgroup.leave()


class Inheritance:
    """What the command finds: its descriptors by ours, its environment, the signals our caller blocked or ignored."""

    __slots__ = ("blocked", "environment", "ignores_children", "outputs")

    def __init__(self, outputs: dict[int, int], inbox: "Inbox") -> None:
        self.outputs = outputs
        self.environment = _environment()
        self.blocked = inbox.blocked
        self.ignores_children = inbox.child_signal == _signal.SIG_IGN


def start(command: list[str], heritage: Inheritance) -> int:
    """Start `command`; return its pid, which is its group's too."""
    return _spawn(command, heritage, _fork_one if heritage.ignores_children else _spawn_one)


def _spawn(command: list[str], heritage: Inheritance, begin: "Begin") -> int:
    refused = _ENOENT
    for path in _candidates(command[0]):
        if not os.path.exists(path):
            continue
        try:
            return begin(path, command, heritage)
        except OSError as error:
            if error.errno == _ENOEXEC:
                # a script without #!: the shell runs it, as execvp and every shell do
                return _spawn(["/bin/sh", path, *command[1:]], heritage, begin)
            if error.errno not in (_ENOENT, _ENOTDIR):
                refused = error.errno or refused
            if error.errno not in (_ENOENT, _ENOTDIR, _EACCES):
                break
    raise ExecError(refused)


def _spawn_one(path: str, words: list[str], heritage: Inheritance) -> int:
    return os.posix_spawn(
        path,
        words,
        heritage.environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, source, target) for target, source in heritage.outputs.items()],
        setpgroup=0,
        setsigmask=heritage.blocked,
        setsigdef=(_signal.SIGPIPE, _signal.SIGXFSZ),
    )


def _fork_one(path: str, words: list[str], heritage: Inheritance) -> int:
    """Start a command that ignores SIGCHLD, as our caller did: posix_spawn cannot, and we cannot bear it ourselves."""
    verdict, told = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            for target, source in heritage.outputs.items():
                os.dup2(source, target)
            _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
            _signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
            _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
            _signal.pthread_sigmask(_signal.SIG_SETMASK, heritage.blocked)
            os.execve(path, words, heritage.environment)  # noqa: S606  # this is what recording a command is
        except OSError as error:
            os.write(told, b"%d" % (error.errno or 0))
        finally:
            os._exit(NOT_EXECUTABLE)
    os.close(told)
    # the pipe closes on a successful exec; otherwise the child writes its errno
    errno = os.read(verdict, 16)
    os.close(verdict)
    if not errno:
        return pid
    os.waitpid(pid, 0)
    raise OSError(int(errno), os.strerror(int(errno)))


def _environment() -> "Mapping[str, str]":
    """Undo that Python sets LC_CTYPE where it finds the C locale (PEP 538)."""
    if os.environ.get("LC_CTYPE") not in _COERCED:
        return os.environ
    given = procfs.read_file("/proc/self/environ", 1 << 22) or b""
    if not given:
        return os.environ
    before = [entry for entry in given.split(b"\0") if entry.startswith(b"LC_CTYPE=")]
    environment = {name: value for name, value in os.environ.items() if name != "LC_CTYPE"}
    if before:
        environment["LC_CTYPE"] = os.fsdecode(before[0][9:])
    return environment


def exists(name: str) -> bool:
    """Say whether there is a file that `name` could mean."""
    return any(os.path.exists(path) for path in _candidates(name))


def _candidates(name: str) -> list[str]:
    if "/" in name:
        return [name]
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [os.path.join(folder or ".", name) for folder in folders] if name else []
