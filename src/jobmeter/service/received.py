"""One file of a run that others send: what is there of it, whether a part fits, and how it is appended.

What is there is told by size and CRC. Both are remembered between requests and only ever extended, so that a long
file is read once after a start of the server, not at every request.
"""

import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from jobmeter.model.sync import Carried, Held, Part
from jobmeter.runfolder import tailer

_BLOCK_BYTES = 1 << 20
_PRIVATE = 0o600
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a file, and which file that was."""

    held: Held
    inode: int = 0


NOTHING = Known(Held(size=0, crc32=0))


def look(path: Path, known: Known | None, *, carried: Carried, closed: bool) -> Known:
    """Say how much of a file is there; half a line that a kill left behind is cut off unless it is all there is."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        found = _look_compressed(path, known)
        if found is known or closed or carried is Carried.OUTPUT or not _is_torn(path, found):
            return found
        _unpack(path)
        status = os.stat(path, follow_symlinks=False)
    if known is not None and known.inode == status.st_ino and known.held.size == status.st_size:
        return known
    size = status.st_size
    if carried is not Carried.OUTPUT and not closed:
        size = _cut_torn_line(path, size)
    extends = known is not None and known.inode == status.st_ino and known.held.size <= size
    begin = known.held if known is not None and extends else NOTHING.held
    return Known(_checksum(path, begin), status.st_ino)


def _look_compressed(path: Path, known: Known | None) -> Known:
    try:
        status = os.stat(path.with_name(f"{path.name}.gz"), follow_symlinks=False)
    except FileNotFoundError:
        return NOTHING
    if known is not None and known.inode == status.st_ino:
        return known
    return Known(_checksum(path, NOTHING.held), status.st_ino)


def _is_torn(path: Path, found: Known) -> bool:
    """Tell whether a compressed file ends within a line."""
    if not found.held.size:
        return False
    return b"".join(tailer.blocks(path.parent, path.name, found.held.size - 1)) != b"\n"


def _checksum(path: Path, begin: Held) -> Held:
    size, crc32 = begin.size, begin.crc32
    for block in tailer.blocks(path.parent, path.name, size):
        size += len(block)
        crc32 = zlib.crc32(block, crc32)
    return Held(size=size, crc32=crc32)


def _cut_torn_line(path: Path, size: int) -> int:
    """Senders append whole lines: what stands behind the last one was being written when the server was killed."""
    with path.open("r+b") as file:
        end = size
        while end:
            begin = max(0, end - _BLOCK_BYTES)
            file.seek(begin)
            at = file.read(end - begin).rfind(b"\n")
            end = begin if at < 0 else begin + at + 1
            if at >= 0:
                break
        if end < size:
            file.truncate(end)
    return end


def fits(path: Path, held: Held, part: Part, data: memoryview) -> memoryview | None:
    """Give what of a part is new here; None when it leaves a gap or tells of another file."""
    overlap = held.size - part.offset
    if overlap < 0:
        return None
    if overlap <= len(data):
        return data[overlap:] if zlib.crc32(data[:overlap], part.crc32) == held.crc32 else None
    # an old request again: more has come since
    return data[:0] if _stands_there(path, part.offset, data) else None


def _stands_there(path: Path, offset: int, data: memoryview) -> bool:
    compared = 0
    for block in tailer.blocks(path.parent, path.name, offset):
        piece = data[compared : compared + len(block)]
        if block[: len(piece)] != piece:
            return False
        compared += len(piece)
        if compared == len(data):
            return True
    return not len(data)


def append(path: Path, known: Known, data: memoryview, *, durable: bool) -> Known:
    """Add bytes to a file, all of them or none; OSError when the disk refuses."""
    _unpack(path)
    fd = os.open(path, _APPEND, _PRIVATE)
    try:
        _write_whole(fd, known.held.size, data)
        if durable:
            os.fsync(fd)
        inode = os.fstat(fd).st_ino
    finally:
        os.close(fd)
    size, crc32 = known.held.size + len(data), zlib.crc32(data, known.held.crc32)
    return Known(Held(size=size, crc32=crc32), inode)


def _write_whole(fd: int, size: int, data: memoryview) -> None:
    left = data
    try:
        while len(left):
            left = left[os.write(fd, left) :]
    except OSError:
        os.ftruncate(fd, size)
        raise


def _unpack(path: Path) -> None:
    """Make a file plain again that was compressed since its run ended: at every moment one of the two is whole."""
    packed = path.with_name(f"{path.name}.gz")
    if path.exists() or not packed.exists():
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, _PRIVATE)
    with os.fdopen(fd, "wb") as file:
        for block in tailer.blocks(path.parent, path.name):
            file.write(block)
    partial.rename(path)
    packed.unlink()
