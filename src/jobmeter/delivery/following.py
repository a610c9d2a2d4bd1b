"""The windows that a run folder gained since the last look, straight from `usage.jsonl`.

The store holds the same, but keeps the newest packed together: taking the last few seconds of a run out of it costs
as much as taking ten minutes.
"""

import os
from pathlib import Path

from jobmeter.delivery.samples import MILLISECONDS
from jobmeter.model.view import Window
from jobmeter.runfolder import lines, tailer

USAGE = "usage.jsonl"
TAIL_BYTES = 256 * 1024


class Follower:
    """Reads on from an offset."""

    def __init__(self, folder: Path, offset: int) -> None:
        self._folder = folder
        self._offset = offset
        self._reader = lines.WindowReader()

    def read(self) -> list[Window]:
        """Give what is new."""
        size = tailer.size(self._folder, USAGE)
        if size is not None and size <= self._offset:
            return []
        windows: list[Window] = []
        for piece in tailer.pieces(self._folder, USAGE, self._offset):
            windows += self._reader.read(piece.lines)
            self._offset = piece.end
        return windows


def after(folder: Path, moment_ms: int) -> Follower | None:
    """Follow a run from the first window after a moment; None where that is not near the end of its file."""
    begin, block = _tail(folder)
    whole, newline, _ = block.rpartition(b"\n")
    if not newline:
        return None
    offset = begin + len(block) - len(block[len(whole) + 1 :])
    reader = lines.WindowReader()
    for line in reversed(whole.split(b"\n")):
        windows = reader.read([line])
        if any(round(window.timestamp * MILLISECONDS) <= moment_ms for window in windows):
            return Follower(folder, offset)
        offset -= len(line) + 1
    return Follower(folder, 0) if begin == 0 else None


def last_windows(folder: Path) -> list[Window]:
    """Read the windows at the end of a file that is being written."""
    begin, block = _tail(folder)
    whole = block.split(b"\n")
    # the first may be the end of a line, the last the beginning of one
    return lines.WindowReader().read(whole[1 if begin else 0 : -1])


def _tail(folder: Path) -> tuple[int, bytes]:
    """Read the end of the file and where it begins; nothing of one that is closed and compressed."""
    size = tailer.size(folder, USAGE)
    if not size:
        return 0, b""
    begin = max(0, size - TAIL_BYTES)
    try:
        with open(os.path.join(folder, USAGE), "rb") as file:
            file.seek(begin)
            return begin, file.read(size - begin)
    except FileNotFoundError:
        return 0, b""
