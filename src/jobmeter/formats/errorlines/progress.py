"""Whether a job went on after an error: bars that advance, rows with a loss, or simply a lot more text.

What misleads: a dying process redraws its bar once more, and what it had printed before the error may be flushed after
it: a few kilobytes of rows prove nothing, unless they come after a NaN.
"""

import re

_WORDS = (b"it/s", b"s/it", b"loss")
_BAR = re.compile(rb"\d+/(?:\d+|\?) \[[\d:]+<")
_ROW = re.compile(rb"loss[\w\"' ()/]*[:= ]+[\"'(]?[-+]?\d[\d.e+-]*[^\r\n]{0,80}", re.IGNORECASE)
_SEVERAL_BARS = 5
_SEVERAL_ROWS = 3
_FLUSHED_BYTES = 16_384
_LOT_BYTES = 65_536


class Progress:
    """Looks at the text after the last error."""

    def __init__(self) -> None:
        self._since = 0
        self._position = 0
        self._bars: set[bytes] = set()
        self._rows: set[bytes] = set()
        self.late_rows = 0
        self.active = False

    def restart(self, at: int) -> None:
        """Begin to look behind an error."""
        self._since, self._position, self.active = at, max(at, self._position), True
        self._bars, self._rows, self.late_rows = set(), set(), 0

    def see(self, block: bytes, base: int, until: int) -> None:
        """Look at the stream up to an offset; the block begins at `base`."""
        begin, end = self._position - base, until - base
        self._position = max(self._position, until)
        if not self.active or begin >= end:
            return
        text = block[max(begin, 0) : end]
        for word in _WORDS:
            self._count(text, word, base + max(begin, 0))

    def _count(self, text: bytes, word: bytes, base: int) -> None:
        at = text.find(word)
        while at >= 0 and not self.went_on:
            start, stop = text.rfind(b"\n", max(at - 400, 0), at) + 1, text.find(b"\n", at)
            line = text[max(start, at - 400) : stop if 0 <= stop < at + 400 else at + 400]
            bar, row = _BAR.search(line), _ROW.search(line)
            if bar is not None:
                self._bars.add(bar[0])
            elif row is not None and row[0] not in self._rows:
                self._rows.add(row[0])
                self.late_rows += base + at > self._since + _FLUSHED_BYTES
            at = text.find(word, stop) if stop >= 0 else -1

    @property
    def has_rows(self) -> bool:
        """Tell whether losses are numbers again."""
        return len(self._rows) >= _SEVERAL_ROWS

    @property
    def went_on(self) -> bool:
        """Tell whether the job lived."""
        several = len(self._bars) >= _SEVERAL_BARS or self.late_rows >= _SEVERAL_ROWS
        return several or self._position - self._since > _LOT_BYTES
