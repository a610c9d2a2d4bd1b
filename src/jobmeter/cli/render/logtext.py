"""The job's bytes made safe for a terminal: colours, tabs and line ends stay, all else is shown escaped.

A carriage return alone becomes a line end: what a progress bar overwrote stays visible.
"""

import codecs
import re

from jobmeter.model import text

_KEPT = re.compile(r"\x1b\[[0-9;:]*m|\r*\n|\r|\t|[^\x00-\x1f\x7f-\x9f]+|.", re.DOTALL)
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-9;:]{0,32})?|\r+)\Z")


class TerminalText:
    """Turns blocks of bytes into safe text; what a block cuts in two is kept for the next."""

    def __init__(self, *, colour: bool) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._held = ""
        self._colour = colour
        self._painted = False

    def feed(self, data: bytes) -> str:
        """Make one block safe."""
        whole = self._held + self._decoder.decode(data)
        unfinished = _UNFINISHED.search(whole)
        cut = unfinished.start() if unfinished else len(whole)
        self._held = whole[cut:]
        return self._safe(whole[:cut])

    def finish(self) -> str:
        """Give back what was held, and switch colours off if the job left them on."""
        rest = self._safe(self._held + self._decoder.decode(b"", final=True))
        self._held = ""
        return f"{rest}\x1b[0m" if self._painted else rest

    def _safe(self, whole: str) -> str:
        return "".join(self._piece(match[0]) for match in _KEPT.finditer(whole))

    def _piece(self, piece: str) -> str:
        if piece in ("\t", "\n"):
            return piece
        if piece.strip("\r\n") == "":
            return "\n"
        if piece.startswith("\x1b[") and piece.endswith("m"):
            self._painted = self._painted or self._colour
            return piece if self._colour else ""
        return text.clean(piece)
