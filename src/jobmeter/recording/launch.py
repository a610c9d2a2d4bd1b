"""Start the job: fork, join its cgroup, own process group, its outputs, exec.

Everything the job could notice is put back as it was found: SIGPIPE and SIGXFSZ, which Python ignores, are
restored, signals the caller ignored stay ignored, inherited descriptors stay open, the locale is the caller's.
"""

import _signal
import os

from jobmeter.probes import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.probes.cgroupfs import OwnCgroup
    from jobmeter.recording.terminal import Terminal

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


class Launched:
    """A started command: its pid, and the pipe that tells whether exec worked."""

    __slots__ = ("_verdict", "pid")

    def __init__(self, pid: int, verdict: int) -> None:
        self.pid = pid
        self._verdict = verdict

    def confirm(self) -> None:
        """Wait until the command runs; raise what exec said if it does not."""
        # the pipe closes on a successful exec; otherwise the child writes its errno
        errno = os.read(self._verdict, 16)
        os.close(self._verdict)
        if errno:
            os.waitpid(self.pid, 0)
            raise ExecError(int(errno))


def start(
    command: list[str],
    outputs: dict[int, int],
    *,
    own_cgroup: "OwnCgroup | None",
    terminal: "Terminal",
    child_signal: object,
) -> Launched:
    """Fork and exec `command` with `outputs` mapping its descriptors to ours."""
    verdict, child_verdict = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        try:
            _become(command, outputs, own_cgroup, terminal, child_signal)
        except OSError as error:
            os.write(child_verdict, str(error.errno or 0).encode())
        finally:
            os._exit(NOT_EXECUTABLE)
    os.close(child_verdict)
    try:
        os.setpgid(pid, pid)
    except OSError:
        # the child did it first and has already become the command, which is what we want
        return Launched(pid, verdict)
    return Launched(pid, verdict)


def _become(
    command: list[str],
    outputs: dict[int, int],
    own_cgroup: "OwnCgroup | None",
    terminal: "Terminal",
    child_signal: object,
) -> None:
    if own_cgroup is not None:
        own_cgroup.join()
    os.setpgid(0, 0)
    terminal.give_to_self()
    for target, source in outputs.items():
        os.dup2(source, target)
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    _signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
    if child_signal == _signal.SIG_IGN:
        _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
    _restore_locale()
    _exec(command)


def _restore_locale() -> None:
    """Undo that Python sets LC_CTYPE where it finds the C locale (PEP 538)."""
    if os.environ.get("LC_CTYPE") not in _COERCED:
        return
    given = procfs.read_file("/proc/self/environ", 1 << 22) or b""
    before = [entry for entry in given.split(b"\0") if entry.startswith(b"LC_CTYPE=")]
    if before:
        os.environ["LC_CTYPE"] = os.fsdecode(before[0][9:])
    elif given:
        del os.environ["LC_CTYPE"]


def _exec(command: list[str]) -> None:
    refused = OSError(_ENOENT, "not found")
    for path in _candidates(command[0]):
        try:
            os.execv(path, command)  # noqa: S606  # this is what recording a command is
        except OSError as error:
            if error.errno == _ENOEXEC:
                # a script without #!: the shell runs it, as execvp and every shell do
                os.execv("/bin/sh", ["/bin/sh", path, *command[1:]])  # noqa: S606  # as above
            if error.errno not in (_ENOENT, _ENOTDIR):
                refused = error
            if error.errno not in (_ENOENT, _ENOTDIR, _EACCES):
                break
    raise refused


def exists(name: str) -> bool:
    """Say whether there is a file that `name` could mean."""
    return any(os.path.exists(path) for path in _candidates(name))


def _candidates(name: str) -> list[str]:
    if "/" in name:
        return [name]
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [os.path.join(folder or ".", name) for folder in folders] if name else []
