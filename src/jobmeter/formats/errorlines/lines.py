"""A stream of bytes in, the lines that may matter out.

Nearly all text of nearly all jobs says nothing of a failure: whole blocks are passed over by searching their
bytes for a few words. A line ends at a newline or a carriage return, so each drawing of a bar is one; a line
without an end is cut. What follows a line can be looked at before it is read itself: a message may go on
there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

LONGEST_BYTES = 65_536
AHEAD_BYTES = 8_192
WORDS = (
    b"error", b"fail", b"kill", b"memory", b"nan", b"limit", b"abort", b"tion fault", b"no space", b"exceeded",
    b"too many", b"terminat", b"interrupt", b"watchdog", b" xid", b"unavailable", b"not found", b"fatal", b"critical",
    b"exception", b"traceback", b"warn", b"cancel", b"timed out", b"timeout", b"preempt", b"bdbquit", b"exhausted",
    b"illegal", b"disk", b"oom", b"dead", b"no module",
    b"override",
)  # fmt: skip
"""In lower case: every line that a signature can read holds one of them."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line, and how to look at what comes after it."""

    raw: bytes
    start: int
    """Where in the stream its first byte stands."""
    block: bytes
    stop: int
    """Where in the block it ends."""

    @property
    def ahead(self) -> bytes:
        """What comes after it, as far as a message may go on."""
        return self.block[self.stop + 1 : self.stop + 1 + AHEAD_BYTES]

    @property
    def end(self) -> int:
        """Where in the stream the next line begins."""
        return self.start + len(self.raw) + 1


class Lines:
    """Cuts a stream into lines, fed in any portions with the same result."""

    def __init__(self) -> None:
        self._held = b""
        self._offset = 0
        self.block = b""
        """What was cut last; `base` is where in the stream it begins, `end` where its last line ends."""
        self.base = 0
        self.end = 0

    def feed(self, data: bytes, offset: int, wants_all: Callable[[], bool], *, final: bool) -> Iterator[Line]:
        """Give the lines that ended: those with a word, and all of them while asked for all."""
        if offset != self._offset + len(self._held):
            # bytes in between are lost: what was begun cannot be ended
            self._held, self._offset = b"", offset
        held = self._held + data
        block = held.replace(b"\r\n", b" \n").replace(b"\r", b"\n")
        cut = len(block) if final else _cut(block)
        self.block, self.base, self.end = block, self._offset, self._offset + cut
        yield from self._lines(cut, wants_all)
        self._held, self._offset = held[cut:], self._offset + cut

    def _lines(self, cut: int, wants_all: Callable[[], bool]) -> Iterator[Line]:
        places = _places(self.block[:cut])
        position, following = 0, 0
        while position < cut:
            while following < len(places) and places[following] < position:
                following += 1
            if not wants_all():
                if following == len(places):
                    return
                position = places[following]
            stop = _stop(self.block, position, cut)
            yield Line(self.block[position:stop], self.base + position, self.block, stop)
            # a line that was cut for its length has no separator
            position = stop + 1 if self.block[stop : stop + 1] == b"\n" else max(stop, position + 1)


def _cut(block: bytes) -> int:
    """Say up to where lines may be read: behind it must be enough to look ahead."""
    enough = len(block) - AHEAD_BYTES
    if enough <= 0:
        return 0
    ended = block.rfind(b"\n", 0, enough) + 1
    return ended or enough // LONGEST_BYTES * LONGEST_BYTES


def _stop(block: bytes, position: int, cut: int) -> int:
    found = block.find(b"\n", position, min(cut, position + LONGEST_BYTES))
    return found if found >= 0 else min(cut, position + LONGEST_BYTES)


def _places(block: bytes) -> list[int]:
    """Find where the lines begin that hold a word."""
    lower = block.lower()
    found: set[int] = set()
    for word in WORDS:
        at = lower.find(word)
        while at >= 0:
            newline = lower.rfind(b"\n", max(at - LONGEST_BYTES, 0), at)
            found.add(newline + 1 if newline >= 0 else max(at - at % LONGEST_BYTES, 0))
            stop = lower.find(b"\n", at)
            at = lower.find(word, stop) if stop >= 0 else lower.find(word, at + LONGEST_BYTES)
    return sorted(found)
