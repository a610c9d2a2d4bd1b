"""Text of a job on its way into a page: secrets out, control characters shown as such, everything escaped.

Whatever a job is called, prints or has in its config is somebody's text. A page is handed around, so what
looks like a secret leaves here replaced, as everywhere where logs leave the machine.
"""

import html
import re
import unicodedata

from jobmeter.config import redaction

_REPLACED = "\N{REPLACEMENT CHARACTER}"
_QUOTED = re.compile(r"`([^`]+)`")
_LAYOUT = frozenset("\n\t")


def line(words: str) -> str:
    """Escape words that stand in one line."""
    return block(" ".join(words.split()))


def prose(words: str) -> str:
    """Escape a sentence; what stands in backticks is for a terminal and looks like it."""
    return _QUOTED.sub(r"<code>\1</code>", line(words))


def block(words: str) -> str:
    """Escape text that keeps its lines."""
    return html.escape("".join(map(_shown, redaction.redact_text(words))))


def cut(words: str, most: int) -> str:
    """Escape text of at most so many letters, and say where it goes on."""
    return block(words) if len(words) <= most else f"{block(words[:most])}\N{HORIZONTAL ELLIPSIS}"


def _shown(letter: str) -> str:
    if letter in _LAYOUT or letter.isprintable():
        return letter
    return " " if unicodedata.category(letter) == "Zs" else _REPLACED
