"""Text from a job, made safe to show, measured and cut by the cells a terminal gives it.

Its names, arguments and log lines are not ours to trust. A control character in a file name can clear the
screen, retitle the window or hide a line; a bidi override can make one argument look like another. They are
shown escaped (`\\x1b`), as are bytes that were no UTF-8.
"""

import re
from collections.abc import Sequence
from unicodedata import category, combining, east_asian_width

ELLIPSIS = "…"

_BARE_ARGUMENT = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def clean(text: str) -> str:
    """Escape what a terminal would act on instead of show."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte that was no UTF-8, as os.fsdecode keeps it
    if letter in "\t\n\r":
        return {"\t": "\\t", "\n": "\\n", "\r": "\\r"}[letter]
    if category(letter) == "Zs":
        return " "
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def command_line(arguments: Sequence[str]) -> str:
    """Write a command as one would type it, escaped where a terminal needs it."""
    return " ".join(clean(_quoted(argument)) for argument in arguments)


def _quoted(argument: str) -> str:
    if _BARE_ARGUMENT.fullmatch(argument):
        return argument
    return "'" + argument.replace("'", "'\"'\"'") + "'"


def width(text: str) -> int:
    """Count the terminal cells a cleaned text takes: East Asian letters take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(_cells(letter) for letter in text)


def _cells(letter: str) -> int:
    if combining(letter):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def cut(text: str, cells: int) -> str:
    """Shorten a cleaned text to at most so many cells; an ellipsis says that something is gone."""
    room, kept = cells, 0
    # no more is measured than could be shown: a command line can have megabytes
    for place, letter in enumerate(text):
        room -= _cells(letter)
        if room < 0:
            return text[:kept] + ELLIPSIS if cells > 0 else ""
        if room > 0:
            kept = place + 1
    return text


def wrap(text: str, cells: int) -> list[str]:
    """Break a cleaned text at spaces into lines of at most so many cells; 0 is no limit.

    A word that is longer is cut in pieces.
    """
    if cells == 0:
        return [text]
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if width(longer) <= cells:
            line = longer
            continue
        if line:
            lines.append(line)
        while width(word) > cells:
            piece = cut(word, cells + 1)[:-1] or word[0]
            lines.append(piece)
            word = word[len(piece) :]
        line = word
    return [*lines, line]
