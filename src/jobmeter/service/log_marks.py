"""When the bytes of a stream came, by `output.index`, without reading all of it: a long run has millions of marks.

Marks of all streams stand in the order of time, and the offsets of each stream rise, so the right place is found by
halving the file.
"""

import json
import os
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path

FILE = "output.index"
READ_BYTES = 1 << 20
_PROBE_BYTES = 1 << 14
Marks = tuple[list[int], list[str]]
"""Offsets, rising, and the moment by which each was reached."""


def between(folder: Path, stream: str, begin: int, end: int) -> Marks:
    """Read the marks of a part of a stream, and the first behind it; none where the index has none."""
    try:
        fd = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return [], []  # nothing was looked at while it came
    try:
        return _collected(fd, _place(fd, stream, lambda mark: mark[0] <= begin), stream, end)
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
        low = _place(fd, stream, lambda mark: mark[1] <= timestamp)
        found = None
        for offset, moment in _marks(os.pread(fd, READ_BYTES, low), stream, whole=low == 0):
            if moment > timestamp:
                break
            found = offset
        return found
    finally:
        os.close(fd)


def _place(fd: int, stream: str, is_before: Callable[[tuple[int, str]], bool]) -> int:
    """Find a byte of the index before which all marks of the stream are before what is looked for."""
    low, high = 0, os.fstat(fd).st_size
    while high - low > _PROBE_BYTES:
        middle = (low + high) // 2
        found = next((mark for mark in _marks(os.pread(fd, _PROBE_BYTES, middle), stream)), None)
        # another stream may have filled the probe: going back is always right, only slower
        if found is not None and is_before(found):
            low = middle
        else:
            high = middle
    return low


def _collected(fd: int, place: int, stream: str, end: int) -> Marks:
    offsets: list[int] = []
    moments: list[str] = []
    text = os.pread(fd, READ_BYTES, place)
    for offset, timestamp in _marks(text, stream, whole=place == 0):
        offsets.append(offset)
        moments.append(timestamp)
        if offset >= end:
            break
    return offsets, moments


def _marks(text: bytes, stream: str, *, whole: bool = False) -> list[tuple[int, str]]:
    """Read the marks of a stream out of a part of the index; its first line is torn unless it is `whole`."""
    rows = text.split(b"\n")[0 if whole else 1 :]
    name = json.dumps(stream).encode()
    found = []
    for row in rows:
        if name not in row:
            continue
        try:
            mark = json.loads(row)
        except (ValueError, RecursionError):
            continue  # torn or garbage: it costs a time, not the output
        match mark:
            case [str() as written, int() as offset, str() as timestamp] if written == stream:
                found.append((offset, timestamp))
    return found
