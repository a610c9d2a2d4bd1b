"""Whole lines of an append-only file from an offset on, plain or compressed, while it may still grow.

Offsets count bytes of the uncompressed file, so they stay true when `usage.jsonl` becomes
`usage.jsonl.gz`. A last line without its newline is left for the next call unless the writer is gone.

Files of a job's own process are mapped into its memory and set aside in advance: while it writes, and after
it was killed, they end in zero bytes, which are no lines and may become some.
"""

import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

BLOCK_BYTES = 8 * 1024 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is garbage of this size or more: it is skipped, never held in memory."""

_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class Piece:
    """Some whole lines, without their newlines, and the offset just past them."""

    lines: list[bytes]
    end: int
    skipped: int = 0
    """Beginnings of lines that were too long to be read."""
    torn: bool = False
    """The only line has no newline: whole if it can be decoded, else cut off."""


def size(folder: Path, name: str) -> int | None:
    """Say how large a file is while it is plain; None when it is compressed or not there."""
    try:
        status = os.stat(f"{folder}/{name}")
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def pieces(
    folder: Path, name: str, offset: int = 0, *, closed: bool = False, mapped: bool = False
) -> Iterator[Piece]:
    """Yield the whole lines past `offset`; `closed` also takes a last line that has no newline.

    A `mapped` file ends where zero bytes begin.
    """
    rest = b""
    begin = offset
    found = blocks(folder, name, offset)
    for block in _before_zeros(found, closed=closed) if mapped else found:
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            whole = rest + head
            begin += len(whole) + 1
            yield Piece(whole.split(b"\n"), begin)
            rest = tail
            continue
        rest += block
        if len(rest) > MAX_LINE_BYTES:
            begin += len(rest)
            yield Piece([], begin, skipped=1)
            rest = b""
    if closed and rest:
        yield Piece([rest], begin + len(rest), torn=True)


def _before_zeros(found: Iterator[bytes], *, closed: bool) -> Iterator[bytes]:
    """Cut at the first zero byte; in a file that is still written no line beyond it is known to be whole."""
    line_begins = True
    for block in found:
        zero = block.find(b"\0")
        if zero < 0:
            yield block
        elif not closed or not block[zero:].strip(b"\0"):
            yield block[:zero]
            return
        else:
            # bytes follow, so it was garbage in a line; only zeros that begin a line end the file
            end = 0 if zero == 0 and line_begins else block.find(b"\n\0") + 1
            if end or (zero == 0 and line_begins):
                yield block[:end]
                return
            yield block
        line_begins = block.endswith(b"\n")


def blocks(folder: Path, name: str, offset: int = 0) -> Iterator[bytes]:
    """Yield the bytes of a file past `offset`, plain or compressed."""
    plain = _open(f"{folder}/{name}")
    if plain is not None:
        with plain as file:
            if offset:
                file.seek(offset)
            while block := file.read(BLOCK_BYTES):
                yield block
        return
    packed = _open(f"{folder}/{name}.gz")
    if packed is None:
        return
    with packed as file:
        yield from _past(offset, _inflate(file))


def _open(path: str) -> BinaryIO | None:
    try:
        # without O_NONBLOCK a pipe of that name would hold the reader for ever
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    return os.fdopen(fd, "rb", buffering=0)


def _inflate(file: BinaryIO) -> Iterator[bytes]:
    """Decompress as far as the file is sound; what a cut or a flipped bit hides is left out."""
    inflater = zlib.decompressobj(_GZIP)
    while block := file.read(BLOCK_BYTES):
        while block:
            try:
                yield inflater.decompress(block, BLOCK_BYTES)
            except zlib.error:
                return
            if not inflater.eof:
                block = inflater.unconsumed_tail
                continue
            block = inflater.unused_data
            inflater = zlib.decompressobj(_GZIP)


def _past(offset: int, blocks: Iterator[bytes]) -> Iterator[bytes]:
    for block in blocks:
        if offset >= len(block):
            offset -= len(block)
            continue
        yield block[offset:]
        offset = 0
