"""When the bytes of a stream came, by `output.index`, without reading all of it: a long run has millions of marks.

Marks of all streams stand in the order of time, and the offsets of each stream rise, so the right place is found by
halving the file. A stream may be silent for most of it: its next mark is looked for as far as need be, and since what
is left to search is halved each time, no more than the whole file is gone through.
"""

import json
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

FILE = "output.index"
READ_BYTES = 1 << 20
_PROBE_BYTES = 1 << 14
"""Most often enough to meet the next mark of a stream; a row longer than this is garbage."""
Marks = tuple[list[int], list[str]]
"""Offsets, rising, and the moment by which each was reached."""


class _Mark(NamedTuple):
    place: int
    """Where in the index its row begins."""
    offset: int
    moment: str


def between(folder: Path, stream: str, begin: int, end: int) -> Marks:
    """Read the marks of a part of a stream, and the first behind it; none where the index has none."""
    try:
        fd = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return [], []  # nothing was looked at while it came
    try:
        low, _ = _part(fd, stream, lambda mark: mark.offset <= begin)
        return _collected(_marks(fd, stream, low), end)
    finally:
        os.close(fd)


def moment(marks: Marks, line_end: int) -> str | None:
    """Say when a line was whole."""
    offsets, moments = marks
    place = bisect_left(offsets, line_end)
    return moments[place] if place < len(moments) else None


def reached(folder: Path, stream: str, timestamp: str) -> int | None:
    """Say how far a stream was written by a moment; None where nothing of it is known to have come by then."""
    try:
        fd = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None  # nothing was looked at while it came
    try:
        low, high = _part(fd, stream, lambda mark: mark.moment <= timestamp)
        found = None
        for mark in _marks(fd, stream, low, high):
            if mark.moment > timestamp:
                break
            found = mark.offset
        return found
    finally:
        os.close(fd)


def _part(fd: int, stream: str, is_before: Callable[[_Mark], bool]) -> tuple[int, int]:
    """Find a small part of the index: all marks of the stream before it are before what is looked for, none behind."""
    low, high = 0, os.fstat(fd).st_size
    while high - low > _PROBE_BYTES:
        middle = (low + high) // 2
        found = next(_marks(fd, stream, middle, high), None)
        if found is not None and is_before(found):
            low = found.place
        else:
            high = middle
    return low, high


def _collected(marks: Iterator[_Mark], end: int) -> Marks:
    offsets: list[int] = []
    moments: list[str] = []
    for mark in marks:
        if offsets and mark.offset <= offsets[-1]:
            continue  # garbage: a file may say the same for ever
        offsets.append(mark.offset)
        moments.append(mark.moment)
        if mark.offset >= end:
            break
    return offsets, moments


def _marks(fd: int, stream: str, begin: int, end: int | None = None) -> Iterator[_Mark]:
    """Read the marks of a stream whose rows begin in a part of the index."""
    name = json.dumps(stream).encode()
    for place, text in _whole_rows(fd, begin):
        for start, row in _rows_with(name, text):
            if end is not None and place + start >= end:
                return
            try:
                mark = json.loads(row)
            except (ValueError, RecursionError):
                continue  # torn or garbage: it costs a time, not the output
            match mark:
                case [str() as written, int() as offset, str() as timestamp] if written == stream:
                    yield _Mark(place + start, offset, timestamp)
        if end is not None and place + len(text) >= end:
            return


def _whole_rows(fd: int, begin: int) -> Iterator[tuple[int, bytes]]:
    """Read blocks of whole rows, with the place of each: from the first row that does not begin before `begin`."""
    # the byte before tells whether a row begins there
    at, is_torn, size = max(0, begin - 1), begin > 0, _PROBE_BYTES
    while block := os.pread(fd, size, at):
        first = block.find(b"\n") + 1 if is_torn else 0
        last = block.rfind(b"\n") + 1
        if last > first:
            yield at + first, block[first:last]
        # without an end in sight the row is garbage, or still being written
        is_torn = last == 0
        at += last or len(block)
        size = READ_BYTES


def _rows_with(name: bytes, text: bytes) -> Iterator[tuple[int, bytes]]:
    """Pick the rows that hold a name, with where each begins: of most blocks there is none, and little is looked at."""
    place = text.find(name)
    while place >= 0:
        begin, end = text.rfind(b"\n", 0, place) + 1, text.index(b"\n", place)
        yield begin, text[begin:end]
        place = text.find(name, end)
