"""Descriptors of ours in a process that is not ours.

A training may close every number it does not know (the daemon's recipe, `os.closerange`), and open files of its
own under them. What is not ours any more is neither written to, nor cut, nor closed: a file of ours is opened
again by its name.
"""

import errno
import os

_NOTHING = (-1, -1)


class Descriptor:
    """One open file or socket, told from whatever else may have its number later."""

    __slots__ = ("_fd", "_identity", "_path", "times_lost")

    def __init__(self, fd: int, path: str | None = None) -> None:
        """Take over a descriptor; with `path`, a file that can be opened again."""
        self._fd = fd
        self._path = path
        self._identity = _identity(fd)
        self.times_lost = 0
        """How often the training closed it; copies made before are lost with it."""

    @property
    def is_ours(self) -> bool:
        """Whether the number still stands for what it stood for."""
        try:
            return _identity(self._fd) == self._identity
        except OSError:
            return False  # closed, and nothing else has the number yet

    def number(self) -> int:
        """Give a number that is ours to use; OSError where there is none any more."""
        if not self.is_ours:
            self._open_again()
        return self._fd

    def _open_again(self) -> None:
        if self._path is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        if _identity(fd) != self._identity:
            os.close(fd)
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        self._fd = fd
        self.times_lost += 1

    def close(self) -> None:
        """Give the number back if it is ours; it is not used again."""
        ours = self.is_ours
        self._path, self._identity = None, _NOTHING
        if not ours:
            return
        try:
            os.close(self._fd)
        except OSError:
            return  # a network file system tells here that it lost something; there is nobody to tell


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino
