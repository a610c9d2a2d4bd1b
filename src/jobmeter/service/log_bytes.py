"""Bytes of one stream by offset, plain or compressed, a bounded number at a time.

Offsets count from the job's first byte, also where it wrote behind what a file of the user's own already held.
What can mislead: an offset in a compressed stream is reached by unpacking all that is before it.
"""

import gzip
import io
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from jobmeter.service.logs import Channel

BLOCK_BYTES = 1 << 18
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)
_TRAILER_BYTES = 8


class StreamBytes:
    """One open stream."""

    def __init__(self, file: BinaryIO | gzip.GzipFile, start: int, size_bytes: int) -> None:
        self._file = file
        self._start = start
        self.size_bytes = size_bytes

    def read(self, begin: int, count: int) -> bytes:
        """Read at most so many bytes from an offset; fewer at the end, or where a file is cut or garbled."""
        wanted = min(count, self.size_bytes - begin)
        if wanted <= 0:
            return b""
        try:
            self._file.seek(self._start + begin)
            return self._file.read(wanted)
        except _BROKEN:
            return b""

    def blocks(self, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Walk a part in blocks, each with its offset."""
        at = begin
        while at < end:
            block = self.read(at, min(BLOCK_BYTES, end - at))
            if not block:
                return
            yield at, block
            at += len(block)

    def line_start(self, offset: int, look_back: int) -> int | None:
        """Find where the line at an offset begins; None where that is further back than asked."""
        end = offset
        while end > max(0, offset - look_back):
            begin = max(0, offset - look_back, end - BLOCK_BYTES)
            newline = self.read(begin, end - begin).rfind(b"\n")
            if newline >= 0:
                return begin + newline + 1
            end = begin
        return 0 if end == 0 else None

    def line_end(self, begin: int, look_ahead: int) -> tuple[int, bool]:
        """Find what is behind the next newline, or how far one looked for it; and say whether it was found."""
        reached = begin
        for at, block in self.blocks(begin, begin + look_ahead):
            newline = block.find(b"\n")
            if newline >= 0:
                return at + newline + 1, True
            reached = at + len(block)
        return reached, False

    def last_lines(self, count: int, look_back: int) -> int:
        """Find where the last lines begin, reading no further back than asked."""
        end, wanted = self.size_bytes, count
        while end > max(0, self.size_bytes - look_back):
            begin = max(0, self.size_bytes - look_back, end - BLOCK_BYTES)
            block = self.read(begin, end - begin)
            if end == self.size_bytes and block.endswith(b"\n"):
                wanted += 1  # the newline that ends the last line begins none
            seen = block.count(b"\n")
            if seen >= wanted:
                return begin + _nth_last(block, wanted) + 1
            wanted -= seen
            end = begin
        if end == 0:
            return 0
        return self.line_end(end, look_back)[0]


def _nth_last(block: bytes, count: int) -> int:
    at = len(block)
    for _ in range(count):
        at = block.rindex(b"\n", 0, at)
    return at


@contextmanager
def opened(channel: Channel) -> Iterator[StreamBytes]:
    """Open the stream of a channel; OSError where it is gone."""
    packed = channel.path.with_name(f"{channel.path.name}.gz")
    if not channel.path.exists() and packed.exists():
        with gzip.open(packed, "rb") as unpacked:
            yield StreamBytes(unpacked, channel.start, max(0, _unpacked_size(packed) - channel.start))
        return
    # a pipe in the place of a log must not hold the server up
    fd = os.open(channel.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb", buffering=0) as raw:
        size_bytes = os.fstat(raw.fileno()).st_size
        if channel.end is not None:
            size_bytes = min(size_bytes, channel.end)
        with io.BufferedReader(raw, BLOCK_BYTES) as file:
            yield StreamBytes(file, channel.start, max(0, size_bytes - channel.start))


def _unpacked_size(packed: Path) -> int:
    """Read from the end of a compressed file what it unpacks to; one written by `gc` says so below 4 GiB."""
    with packed.open("rb") as file:
        size_bytes = file.seek(0, os.SEEK_END)
        if size_bytes < _TRAILER_BYTES:
            return 0
        file.seek(-4, os.SEEK_END)
        (unpacked,) = struct.unpack("<I", file.read(4))
    return int(unpacked)
