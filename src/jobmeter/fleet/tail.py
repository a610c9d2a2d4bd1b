"""Files that somebody else writes, read from afar piece by piece: what to ask for, and what of it is new.

Only sizes and bytes are trusted: an inode is used again at once, a clock differs between hosts. The end of what
was read is asked for again and compared, so a file that was replaced by a longer one is noticed.
"""

from dataclasses import dataclass
from enum import Enum

BLOCK = 4096
"""Requests begin at a multiple of this, as `dd` counts."""
PIECE = 64 * BLOCK
"""Bytes of a metrics file asked for at a time: small enough that parsing one delays nobody."""
LOG_PIECE = 8 * BLOCK
"""Bytes of a log: its lines cost a hundred times as much."""


class TargetError(Exception):
    """A target could not be asked, or a file of it could not be used; the sentence says why."""


class Found(Enum):
    """What became of a request for a file."""

    HERE = "here"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A piece of the first of some files that is there."""

    paths: tuple[str, ...]
    offset: int = 0
    length: int = PIECE
    validator: str = ""
    """What the target said of the version we have, where it names versions (an ETag)."""


@dataclass(frozen=True, slots=True)
class Got:
    """The answer to one request."""

    found: Found
    path: str = ""
    data: bytes = b""
    validator: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """New bytes of a file."""

    data: bytes
    offset: int
    restarted: bool
    """The file is another one than before: what was read of the old one says nothing about this."""
    more: bool
    """There was more than could be asked for at once."""


class Tail:
    """How far one growing file has been read."""

    def __init__(self, paths: tuple[str, ...], length: int = PIECE) -> None:
        self._candidates = paths
        self._length = length
        self._path = ""
        self._begin = 0
        self._seen = b""
        """The bytes from `_begin` on that were read already."""
        self._restarted = False

    def wanted(self) -> Wanted:
        """Ask for what follows, and for a little of what is known."""
        return Wanted((self._path,) if self._path else self._candidates, self._begin, self._length)

    def take(self, got: Got) -> Piece | None:
        """Compare the answer with what is known; None where there is nothing to compare."""
        if got.found is Found.MISSING:
            self._forget()
        if got.found is not Found.HERE:
            return None
        if not got.data.startswith(self._seen):
            began = self._begin
            self._forget()
            if began:
                return Piece(b"", 0, restarted=False, more=True)
        self._path = got.path
        restarted, self._restarted = self._restarted, False
        known = len(self._seen)
        new = Piece(
            got.data[known:], self._begin + known, restarted=restarted, more=len(got.data) >= self._length
        )
        self._advance(got.data)
        return new

    def _forget(self) -> None:
        self._restarted = self._restarted or self._begin + len(self._seen) > 0
        self._path, self._begin, self._seen = "", 0, b""

    def _advance(self, data: bytes) -> None:
        end = self._begin + len(data)
        begin = max(self._begin, (end - BLOCK) // BLOCK * BLOCK)
        self._seen = data[begin - self._begin :]
        self._begin = begin
