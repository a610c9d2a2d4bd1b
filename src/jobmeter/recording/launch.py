"""Start the job: in its cgroup, with its own process group and its outputs.

Everything the job could notice is put back as it was found: SIGPIPE and SIGXFSZ, which Python ignores, are
restored, signals the caller ignored stay ignored, inherited descriptors stay open, the locale is the caller's.
posix_spawn shares the recorder's memory until exec: nothing is copied, and no time of ours is counted as the job's.
"""

import _signal
import os
import sys

from jobmeter.probes import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmeter.probes.cgroupfs import OwnCgroup

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


def start(
    command: list[str], outputs: dict[int, int], *, own_cgroup: "OwnCgroup | None", child_signal: object
) -> int:
    """Start `command` with `outputs` mapping its descriptors to ours; return its pid, which is its group's too."""
    if child_signal == _signal.SIG_IGN:
        command = _ignoring_children(command)
    if own_cgroup is not None:
        # the child is born where its parent is: nothing it ever allocates is charged elsewhere
        own_cgroup.join()
    try:
        return _spawn(command, outputs, _environment())
    finally:
        if own_cgroup is not None:
            own_cgroup.leave()


def _ignoring_children(command: list[str]) -> list[str]:
    """Start through an interpreter that ignores SIGCHLD, as the caller did: the recorder itself cannot bear it."""
    found = [path for path in _candidates(command[0]) if os.path.exists(path)]
    if not found:
        raise ExecError(_ENOENT)
    return [sys.executable, "-IS", "-c", _IGNORE_AND_EXEC, found[0], *command]


_IGNORE_AND_EXEC = """
import _signal, os, sys
_signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
_signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
_signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[2:])
"""


def _spawn(command: list[str], outputs: dict[int, int], environment: "Mapping[str, str]") -> int:
    refused = _ENOENT
    for path in _candidates(command[0]):
        if not os.path.exists(path):
            continue
        try:
            return _spawn_one(path, command, outputs, environment)
        except OSError as error:
            if error.errno == _ENOEXEC:
                # a script without #!: the shell runs it, as execvp and every shell do
                return _spawn_one("/bin/sh", ["/bin/sh", path, *command[1:]], outputs, environment)
            if error.errno not in (_ENOENT, _ENOTDIR):
                refused = error.errno or refused
            if error.errno not in (_ENOENT, _ENOTDIR, _EACCES):
                break
    raise ExecError(refused)


def _spawn_one(path: str, words: list[str], outputs: dict[int, int], environment: "Mapping[str, str]") -> int:
    return os.posix_spawn(
        path,
        words,
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, source, target) for target, source in outputs.items()],
        setpgroup=0,
        setsigdef=(_signal.SIGPIPE, _signal.SIGXFSZ),
    )


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
