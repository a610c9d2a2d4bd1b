"""Bytes of a stream in, pieces that may hold a step out.

A piece ends at a newline or at a carriage return, so each drawing of a bar is one. Nearly all text of nearly all
jobs holds no step: whole blocks are passed over by searching their bytes for a few words. A line without an end
is cut, so that a hundred megabytes of it need no more memory than one piece.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jobmeter.formats.steplines import happenings

LONGEST_BYTES = 65_536
_BLOCK_BYTES = 8_192
_MOVES = re.compile(rb"(?:\x1b\[[0-9;]*[A-Za-z])+")
_SEPARATOR = re.compile(rb"[\r\n]")
_ROW_WORDS = (
    b"loss",
    b"it/s",
    b"s/it",
    b"/step",
    b"epoch",
    b"s avg - ",
    b"samplespersec",
    b", lr=",
    b'step"',
    b"iter(",
    b"acc@",
    b"perplexity",
    b"ppl",
    b"reward",
    b"timer '",
    b"s/batch",
    b"step/s",
    b" trl:",
    b" tel:",
)
_TERSE_WORDS = (b" train ", b" val ", b" hella ")
_TERSE = re.compile(rb"\s*\d+ (?:train|val|hella) [-\d.a-z]+\s*")
"""Rows of nothing but a step, a word and a number; the words alone stand in any prose."""
_MILESTONE_WORDS = (b"s]", b"ing step #", b"ed step #", *happenings.WORDS)
_WORDS = _ROW_WORDS + _MILESTONE_WORDS
_WIDE_BLANK = 8


@dataclass(slots=True, kw_only=True)
class Piece:
    """One line, or one drawing of a redrawn one."""

    raw: bytes
    start: int
    """Where in the stream its first byte stands."""
    after_return: bool
    """It was drawn over what stood there."""
    after_blank: bool
    """What stood there had been wiped with blanks."""
    may_be_row: bool = True
    may_be_milestone: bool = True

    @property
    def end(self) -> int:
        """Where in the stream its last byte stands."""
        return self.start + max(len(self.raw) - 1, 0)


class Splitter:
    """Cuts a stream into pieces, fed in any portions with the same result."""

    def __init__(self, consumed: int = 0, *, after_return: bool = False, after_blank: bool = False) -> None:
        self.consumed = consumed
        self.after_return = after_return
        self.after_blank = after_blank
        self._tail = bytearray()

    def feed(self, data: bytes, offset: int) -> None:
        """Take bytes that begin at an offset; those seen before are passed over."""
        held_to = self.consumed + len(self._tail)
        if offset > held_to:
            # bytes in between are lost: what was begun cannot be ended
            self._tail.clear()
            self.consumed = held_to = offset
        if offset < self.consumed:
            data, offset = data[self.consumed - offset :], self.consumed
        del self._tail[offset - self.consumed :]
        self._tail += data

    def pieces(self, wants_all: Callable[[], bool], *, final: bool) -> Iterator[Piece]:
        """Give the pieces that ended and may matter; all of them while the reader wants all."""
        held = bytes(self._tail)
        ended = max(held.rfind(b"\n"), held.rfind(b"\r")) + 1
        first = self.consumed
        position = 0
        while position < ended:
            separator = _SEPARATOR.search(held, position + _BLOCK_BYTES, ended)
            stop = separator.end() if separator else ended
            yield from self._block(held[position:stop], first + position, wants_all)
            position = stop
        yield from self._unended(held[ended:], first + ended, wants_all, final=final)

    def _block(self, block: bytes, offset: int, wants_all: Callable[[], bool]) -> Iterator[Piece]:
        places = _places(block)
        position = 0
        while position < len(block) and (places or wants_all()):
            if not wants_all():
                position = places[0]
            while places and places[0] <= position:
                del places[0]
            stop = _stop(block, position)
            yield from self._cut(
                block[position:stop], offset + position, self._look_back(block, position), wants_all
            )
            position = stop + 1
        self.after_return, self.after_blank = self._look_back(block, len(block))

    def _unended(
        self, rest: bytes, offset: int, wants_all: Callable[[], bool], *, final: bool
    ) -> Iterator[Piece]:
        """Keep the beginning of a line until the rest of it comes, unless it is too long for any line."""
        whole = len(rest) if final else (len(rest) - 1) // LONGEST_BYTES * LONGEST_BYTES
        yield from self._cut(rest[: max(whole, 0)], offset, (self.after_return, self.after_blank), wants_all)
        self.consumed = offset + max(whole, 0)
        self._tail = bytearray(rest[max(whole, 0) :])

    def _cut(
        self, raw: bytes, offset: int, before: tuple[bool, bool], wants_all: Callable[[], bool]
    ) -> Iterator[Piece]:
        """Give one line, in parts where it is too long."""
        for start in range(0, len(raw), LONGEST_BYTES):
            part = raw[start : start + LONGEST_BYTES]
            lower = part.lower()
            piece = Piece(
                raw=part,
                start=offset + start,
                after_return=before[0],
                after_blank=before[1],
                may_be_row=wants_all()
                or any(word in lower for word in _ROW_WORDS)
                or _TERSE.fullmatch(lower) is not None,
                may_be_milestone=any(word in lower for word in _MILESTONE_WORDS),
            )
            if piece.may_be_row or piece.may_be_milestone:
                yield piece

    def _look_back(self, block: bytes, position: int) -> tuple[bool, bool]:
        """Tell of the piece that begins somewhere: is it drawn over another one, and was that wiped."""
        if not position:
            return self.after_return, self.after_blank
        last = _last_drawn(block[:position])
        is_wiped = len(last) >= _WIDE_BLANK and not last.strip(b" ") if last else self.after_blank
        return block[position - 1 : position] == b"\r", is_wiped


def _last_drawn(block: bytes) -> bytes:
    """Find what was drawn last; moves of the cursor alone, as between two bars, draw nothing."""
    while block:
        block = block.rstrip(b"\r\n")
        start = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        if not _MOVES.fullmatch(block, start):
            return block[start:]
        block = block[:start]
    return b""


def _places(block: bytes) -> list[int]:
    """Find where the lines begin that hold a word."""
    lower = block.lower()
    found: set[int] = set()
    for word in _WORDS:
        at = lower.find(word)
        while at >= 0:
            found.add(_start(block, at))
            at = lower.find(word, _stop(block, at))
    for word in _TERSE_WORDS:
        at = lower.find(word)
        while at >= 0:
            start, stop = _start(block, at), _stop(block, at)
            if block[start:at].isdigit():
                found.add(start)
            at = lower.find(word, stop)
    return sorted(found)


def _start(block: bytes, position: int) -> int:
    return max(block.rfind(b"\n", 0, position), block.rfind(b"\r", 0, position)) + 1


def _stop(block: bytes, position: int) -> int:
    found = _SEPARATOR.search(block, position)
    return found.start() if found else len(block)
