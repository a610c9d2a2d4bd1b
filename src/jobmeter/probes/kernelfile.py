"""Pseudo files kept open and read again from their start: no path walk, no new file each time.

A single read may return less than the file: the kernel hands out records until its own buffer (a page) is
full, so a long `/proc/diskstats` or `/proc/vmstat` arrives in pieces.
"""

import os

_CHUNK_BYTES = 32768
_LAST_CHUNK_BYTES = 2048
"""Only a last piece is this short: the kernel ends any other within one record of a page (4096 or more)."""


def open_file(path: str) -> int | None:
    """Open a pseudo file for repeated reading; None where it is absent or closed to us."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None


def read_file(fd: int) -> bytes:
    """Read a pseudo file from its start to its end."""
    text = os.pread(fd, _CHUNK_BYTES, 0)
    if len(text) < _LAST_CHUNK_BYTES:
        return text
    while True:
        chunk = os.pread(fd, _CHUNK_BYTES, len(text))
        text += chunk
        if len(chunk) < _LAST_CHUNK_BYTES:
            return text


def read_head(fd: int, size_bytes: int) -> bytes:
    """Read the first bytes of a pseudo file whose head is all that is wanted."""
    return os.pread(fd, size_bytes, 0)


def close_file(fd: int) -> None:
    """Give a pseudo file back."""
    os.close(fd)
