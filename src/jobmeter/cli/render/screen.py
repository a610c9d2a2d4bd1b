"""Where output goes: how wide it is, whether it takes colour, and what to do with letters it cannot show."""

import os
import sys
from collections.abc import Mapping
from enum import Enum
from typing import TextIO


class Style(Enum):
    """What a piece of text is; the terminal's own 16 colours, so that light and dark both work."""

    PLAIN = ""
    BOLD = "1"
    DIM = "2"
    GOOD = "32"
    BAD = "31"
    WARN = "33"
    LIVE = "36"


class Screen:
    """One output stream and what it can do. `width` 0 is no limit: a pipe or a file."""

    __slots__ = ("_stream", "colour", "width")

    def __init__(self, stream: TextIO, *, width: int, colour: bool) -> None:
        self._stream = stream
        self.width = width
        self.colour = colour

    def paint(self, text: str, style: Style) -> str:
        """Put a style around a text, where the stream takes colour."""
        if not self.colour or style is Style.PLAIN or not text:
            return text
        return f"\x1b[{style.value}m{text}\x1b[0m"

    def write(self, *lines: str) -> None:
        """Write whole lines."""
        self._stream.write("".join(f"{line}\n" for line in lines))


def standard_output(environ: Mapping[str, str] | None = None) -> Screen:
    """Describe stdout; letters its encoding lacks are escaped, never a crash."""
    known = os.environ if environ is None else environ
    stream = sys.stdout
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    return Screen(stream, width=_width(stream, known), colour=_takes_colour(stream, known))


def width_of(stream: TextIO) -> int:
    """Say how many cells a line of a stream has; 0 is no limit."""
    return _width(stream, os.environ)


def _takes_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def _width(stream: TextIO, environ: Mapping[str, str]) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        return int(columns)
    if not stream.isatty():
        return 0
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80
