"""Bytes of a stream in, pieces that may hold a step out.

A piece ends at a newline or at a carriage return, so each drawing of a bar is one. Nearly all text of nearly all
jobs holds no step: whole blocks are passed over by searching their bytes for a few words. A line without an end
is cut, so that a hundred megabytes of it need no more memory than one piece.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from typing import NamedTuple

from jobmeter.formats.steplines import happenings
from jobmeter.formats.steplines.shapes import Span

LONGEST_BYTES = 65_536
_BLOCK_BYTES = 8_192
_MOVES = re.compile(rb"(?:\x1b\[[0-9;]*[A-Za-z])+")
_SEPARATORS = (b"\r", b"\n")
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
    b"bpb",
    b"]\t",
    b"\tlearn: ",
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
_WIDE_BLANK = 8
_RETURN = 0x0D


class Piece(NamedTuple):
    """One line, or one drawing of a redrawn one."""

    raw: bytes
    start: int
    """Where in the stream its first byte stands."""
    may_be_row: bool
    may_be_milestone: bool
    block: bytes
    position: int
    """Where it stands in a block of the stream; what the block begins after is told below."""
    block_after_return: bool
    block_after_blank: bool

    @property
    def end(self) -> int:
        """Where in the stream its last byte stands."""
        return self.start + max(len(self.raw) - 1, 0)

    @property
    def after_return(self) -> bool:
        """Tell whether it was drawn over what stood there."""
        if not self.position:
            return self.block_after_return
        return self.block[self.position - 1] == _RETURN

    @property
    def after_blank(self) -> bool:
        """Tell whether what stood there had been wiped with blanks."""
        return _is_wiped(self.block[: self.position], known=self.block_after_blank)


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

    def pieces(self, expecting: Collection[str], *, final: bool) -> Iterator[Piece]:
        """Give the pieces that ended and may matter; all of them while ranks are expecting more."""
        held = bytes(self._tail)
        ended = max(held.rfind(b"\n"), held.rfind(b"\r")) + 1
        first = self.consumed
        position = 0
        while position < ended:
            separator = _SEPARATOR.search(held, position + _BLOCK_BYTES, ended)
            stop = separator.end() if separator else ended
            yield from self._block(held[position:stop], first + position, expecting)
            position = stop
        yield from self._unended(held[ended:], first + ended, expecting, final=final)

    def _block(self, block: bytes, offset: int, expecting: Collection[str]) -> Iterator[Piece]:
        lines = _Lines(block)
        known = self.after_return, self.after_blank
        line = 0
        while True:
            if not expecting:
                marked = lines.next_marked(line)
                if marked is None:
                    break
                line = marked
            position, stop = lines.span(line)
            if position >= len(block):
                break
            if stop - position > LONGEST_BYTES:
                yield from self._cut(block[position:stop], offset, block, position, expecting)
            else:
                is_row = line in lines.rows or bool(expecting)
                is_milestone = line in lines.milestones
                if is_row or is_milestone:
                    raw = block[position:stop]
                    yield Piece(raw, offset + position, is_row, is_milestone, block, position, *known)
            line += 1
        self.after_blank = _is_wiped(block, known=self.after_blank)
        self.after_return = block.endswith(b"\r")

    def _unended(
        self, rest: bytes, offset: int, expecting: Collection[str], *, final: bool
    ) -> Iterator[Piece]:
        """Keep the beginning of a line until the rest of it comes, unless it is too long for any line."""
        whole = len(rest) if final else (len(rest) - 1) // LONGEST_BYTES * LONGEST_BYTES
        yield from self._cut(rest[: max(whole, 0)], offset, b"", 0, expecting)
        self.consumed = offset + max(whole, 0)
        self._tail = bytearray(rest[max(whole, 0) :])

    def _cut(
        self, raw: bytes, offset: int, block: bytes, position: int, expecting: Collection[str]
    ) -> Iterator[Piece]:
        """Give one line, in parts where it is too long."""
        known = self.after_return, self.after_blank
        for start in range(0, len(raw), LONGEST_BYTES):
            part = raw[start : start + LONGEST_BYTES]
            lines = _Lines(part)
            is_row, is_milestone = bool(lines.rows) or bool(expecting), bool(lines.milestones)
            if is_row or is_milestone:
                place = offset + position + start
                yield Piece(part, place, is_row, is_milestone, block, position, *known)


class _Lines:
    """The lines of a block, by their number, and which of them hold a word."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._lower = block.lower()
        self._ends: list[int] = []
        self.rows: set[int] = set()
        for word in _ROW_WORDS:
            self._mark(word, self.rows)
        for word in _TERSE_WORDS:
            self._mark_terse(word)
        self.milestones: set[int] = set()
        for word in _MILESTONE_WORDS:
            self._mark(word, self.milestones)
        self._marked = sorted(self.rows | self.milestones)

    def _mark(self, word: bytes, found: set[int]) -> None:
        """Find the lines with a word."""
        find = self._lower.find
        at = find(word)
        if at < 0:
            return
        ends = self._line_ends()
        # behind a separator at the end of the block no line stands
        if len(found) >= len(ends) - self._block.endswith(_SEPARATORS):
            return
        while at >= 0:
            line = bisect_left(ends, at)
            found.add(line)
            at = find(word, ends[line])

    def _mark_terse(self, word: bytes) -> None:
        at = self._lower.find(word)
        while at >= 0:
            line = bisect_left(self._line_ends(), at)
            start, stop = self.span(line)
            if self._lower[start:at].isdigit() and _TERSE.fullmatch(self._lower, start, stop):
                self.rows.add(line)
            at = self._lower.find(word, stop)

    def _line_ends(self) -> list[int]:
        if not self._ends:
            self._ends = [*(found.start() for found in _SEPARATOR.finditer(self._block)), len(self._block)]
        return self._ends

    def next_marked(self, line: int) -> int | None:
        """Give the next line with a word, from one on; None where none has."""
        place = bisect_left(self._marked, line)
        return self._marked[place] if place < len(self._marked) else None

    def span(self, line: int) -> Span:
        """Say where a line begins and ends; one that is not there begins at the end."""
        ends = self._line_ends()
        if line >= len(ends):
            return len(self._block), len(self._block)
        return (ends[line - 1] + 1 if line else 0), ends[line]


def _is_wiped(block: bytes, *, known: bool) -> bool:
    """Tell whether what was drawn last was blanks; where nothing was drawn, what was known before holds."""
    last = _last_drawn(block)
    return len(last) >= _WIDE_BLANK and not last.strip(b" ") if last else known


def _last_drawn(block: bytes) -> bytes:
    """Find what was drawn last; moves of the cursor alone, as between two bars, draw nothing."""
    while block:
        block = block.rstrip(b"\r\n")
        start = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        if not _MOVES.fullmatch(block, start):
            return block[start:]
        block = block[:start]
    return b""
