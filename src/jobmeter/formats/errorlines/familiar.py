"""Lines that were met before and meant nothing, or little: a log repeats itself.

Two lines are the same if they differ in digits only. What is remembered is small: that a line says nothing, or
which warning it repeats. Lines whose numbers decide what they say are never remembered.
"""

from jobmeter.formats.errorlines.folding import Key

_DIGITS = b"0123456789."
_TELLING = (b"rank", b"exit", b"status", b"signal", b"code", b"errno", b"memory: usage", b"oom", b"error (")
_MOST = 4_096
_LONGEST_BYTES = 2_000


class Familiar:
    """What lines meant, by their text without its digits."""

    def __init__(self) -> None:
        self._meanings: dict[bytes, Key | None] = {}

    def look_up(self, raw: bytes) -> tuple[bytes, Key | None, bool]:
        """Give the line's shape, what it repeats, and whether it is known."""
        shape = raw.translate(None, _DIGITS)
        return shape, self._meanings.get(shape), shape in self._meanings

    def remember(self, shape: bytes, meaning: Key | None) -> None:
        """Keep what a line meant, unless its numbers tell that."""
        lower = shape.lower()
        if len(shape) > _LONGEST_BYTES or any(word in lower for word in _TELLING):
            return
        if len(self._meanings) >= _MOST:
            self._meanings.clear()
        self._meanings[shape] = meaning
