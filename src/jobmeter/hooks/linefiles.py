"""Append whole lines from inside a training process: microseconds each, no thread, nothing to drain.

A mapped file costs a copy into the page cache per line, and what is there outlives a `kill -9` of everybody.
Room is set aside before it is touched: a hole in a mapped file on a full disk would be SIGBUS, the end of the
training. While open, and after a crash, such a file ends in NUL bytes: the first NUL is its end. File systems
that cannot promise the room (network, copy on write) get plain writes.
"""

import errno
import mmap
import os
import sys
import time

from jobmeter.hooks.descriptors import Descriptor
from jobmeter.runfolder import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Lines(Protocol):
        """Where lines go."""

        dropped: int

        def put(self, line: bytes) -> None:
            """Keep one line, its line end included, or count it as dropped."""

        def straight(self) -> Callable[[bytes], object]:
            """Give what takes lines with the least ado: ValueError where it has no room, which `put` makes."""

        def close(self) -> None:
            """Cut the file to what was written and give everything back."""


PAGE = mmap.ALLOCATIONGRANULARITY
_FIRST_BYTES, _LARGEST_BYTES = 64 << 10, 1 << 20
_RETRY_SECONDS = 1.0
_COPIES_DESCRIPTOR = sys.version_info < (3, 13)
"""Whether a map keeps a descriptor of its own, which it closes with itself."""
_KEEPS_PROMISES = frozenset((b"ext2", b"ext3", b"ext4", b"f2fs", b"overlay", b"tmpfs", b"xfs"))
"""File systems on which a successful posix_fallocate means that writing into the mapping cannot fail."""

_CREATE = os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_APPEND
"""Appending also where lines are mapped: cut back to its last whole line, a file is written on from there."""


class MappedLines:
    """A file written through a window of memory that moves along; not for use by two processes."""

    __slots__ = (
        "_base",
        "_failed",
        "_file",
        "_growing",
        "_map",
        "_retry_at",
        "_times_lost",
        "_waiting",
        "dropped",
    )

    def __init__(self, file: Descriptor, failed: "Callable[[OSError], None]") -> None:
        """Take over an empty file; OSError where it cannot be mapped."""
        self._file = file
        self._failed = failed
        self._base = 0
        self._retry_at = 0.0
        self._growing = False
        self._waiting: list[bytes] = []
        self.dropped = 0
        self._map = _window(file.number(), 0, _FIRST_BYTES)
        self._times_lost = file.times_lost

    def put(self, line: bytes) -> None:
        """Keep one line; a full disk costs lines, told once, and is tried again every second."""
        if self._growing:
            self._waiting.append(line)  # a signal handler logs while the window moves
            return
        try:
            # one call takes the place and fills it: a handler comes before or after
            self._map.write(line)
        except ValueError as error:
            if not says_full(error):
                raise
            self._put_after_growing(line)

    def straight(self) -> "Callable[[bytes], object]":
        """Give what copies a line into the window; after `put` has moved it, ask again."""
        return self._map.write

    def _put_after_growing(self, line: bytes) -> None:
        self._growing = True
        try:
            moved = self._grow(len(line))
        finally:
            self._growing = False
        waiting, self._waiting = [line, *self._waiting], []
        for one in waiting:
            if moved:
                self.put(one)
            else:
                self._put_or_drop(one)

    def _put_or_drop(self, line: bytes) -> None:
        try:
            self._map.write(line)
        except ValueError as error:
            if not says_full(error):
                raise
            self.dropped += 1

    def _grow(self, needed: int) -> bool:
        """Move the window on to new room; False when the disk has none."""
        now = time.monotonic()
        if now < self._retry_at:
            return False
        room, end = len(self._map), self._map.tell()
        whole_pages = end - end % PAGE
        base, end = self._base + whole_pages, end - whole_pages
        least = -(-(end + needed) // PAGE) * PAGE
        try:
            window = self._widest(base, least, max(least, min(2 * room, _LARGEST_BYTES)))
        except OSError as error:
            _cut(self._file, self._base + room)  # what was set aside of it would keep the disk full
            self._retry_at = now + _RETRY_SECONDS
            self._failed(error)
            return False
        window.seek(end)
        _unmap(self._map, self._file, self._times_lost)
        self._map, self._base = window, base
        self._times_lost = self._file.times_lost
        return True

    def _widest(self, base: int, least: int, wanted: int) -> mmap.mmap:
        """Make as much room as is wanted, or as there is: the last page of a disk still holds some lines."""
        fd = self._file.number()
        if wanted > least:
            try:
                return _window(fd, base, wanted)
            except OSError:
                return _window(fd, base, least)
        return _window(fd, base, least)

    def close(self) -> None:
        """Cut the file to what was written and give everything back."""
        length = self._base + self._map.tell()
        self._let_go()
        _cut(self._file, length)
        self._file.close()

    def forget(self) -> None:
        """Let go without touching the file: after a fork it is the parent's."""
        self._let_go()
        self._file.close()

    def _let_go(self) -> None:
        self._retry_at = float("inf")
        _unmap(self._map, self._file, self._times_lost)


def says_full(error: ValueError) -> bool:
    """Tell a window without room from a signal handler of the script's that raised when the copy was made."""
    trace = error.__traceback__
    return trace is not None and trace.tb_next is None


def _window(fd: int, base: int, size: int) -> mmap.mmap:
    """Set room aside, then map it."""
    os.posix_fallocate(fd, base, size)
    if _COPIES_DESCRIPTOR:
        return mmap.mmap(fd, size, offset=base)
    return mmap.mmap(fd, size, offset=base, trackfd=False)  # type: ignore[call-arg,unused-ignore]  # since Python 3.13


_abandoned: list[mmap.mmap] = []
"""Maps whose own copy of the descriptor was closed by the training: giving them back would close a file of its."""


def _unmap(window: mmap.mmap, file: Descriptor, times_lost: int) -> None:
    window.seek(0, os.SEEK_END)  # nothing fits any more, also where it must be left as it is
    copy_is_ours = file.times_lost == times_lost and file.is_ours
    if copy_is_ours or not _COPIES_DESCRIPTOR:
        window.close()
    else:
        _abandoned.append(window)


class WrittenLines:
    """A file written with one call per line."""

    __slots__ = ("_failed", "_file", "_lines", "_number", "dropped")

    def __init__(self, file: Descriptor, failed: "Callable[[OSError], None]") -> None:
        self._file = file
        self._failed = failed
        self._number = file.number()
        self._lines = writer.WholeLines(self._number)
        self.dropped = 0

    def put(self, line: bytes) -> None:
        """Keep one line whole or not at all."""
        try:
            if self._written(line):
                return
            error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as refusal:
            error = refusal
        self.dropped += 1
        self._failed(error)

    def straight(self) -> "Callable[[bytes], object]":
        """Give what takes lines: there is nothing shorter."""
        return self.put

    def _written(self, line: bytes) -> bool:
        number = self._file.number()
        if number != self._number:
            self._number, self._lines = number, writer.WholeLines(number)
        return self._lines.write(line)

    def close(self) -> None:
        """Give the descriptor back."""
        self._file.close()

    forget = close
    """After a fork the descriptor is the parent's too, and stays open there."""


def create(path: str, failed: "Callable[[OSError], None]", *, mapped: bool) -> "MappedLines | WrittenLines":
    """Make a new file of lines; FileExistsError where another process has it, OSError where it cannot be."""
    if not mapped:
        return WrittenLines(Descriptor(os.open(path, os.O_WRONLY | _CREATE, 0o600), path), failed)
    file = Descriptor(os.open(path, os.O_RDWR | _CREATE, 0o600), path)
    try:
        return MappedLines(file, failed)
    except OSError:
        # this file system, or this disk at this moment: a write tells which, line by line
        _cut(file, 0)
        return WrittenLines(file, failed)


def can_map(folder: str, proc: str = "/proc") -> bool:
    """Tell whether the folder lies on a file system that keeps its promise of room."""
    try:
        device = os.stat(folder).st_dev
        with open(f"{proc}/self/mountinfo", "rb") as file:
            mounts = file.read()
    except OSError:
        return False
    number = b" %d:%d " % (os.major(device), os.minor(device))
    for mount in mounts.splitlines():
        if number in mount:
            return mount.partition(b" - ")[2].split(b" ", 1)[0] in _KEEPS_PROMISES
    return False  # a subvolume of btrfs has a number that no mount has


def _cut(file: Descriptor, length: int) -> None:
    try:
        os.ftruncate(file.number(), length)
    except OSError:
        return  # it keeps its NUL bytes, which readers take for its end
