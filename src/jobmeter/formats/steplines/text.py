"""A piece of a log as a person would have seen it: without colours, backspaces and bytes that are no text."""

import re

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_BACKSPACES = re.compile("(\b+)")
_CURSOR_UP = b"\x1b[A"
_ORDINARY = 400
_MOST_BLANKS = 40
_WIDE = re.compile(rf"[ \t]{{{_MOST_BLANKS},}}")
_ENDLESS_WORD = re.compile(r"[\w@./-]{400}")
_BYTE_ORDER_MARK = "\ufeff"


def clean(raw: bytes) -> str:
    """Decode a segment; what is no UTF-8 becomes a mark, what a terminal would act on is gone."""
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\b" in text:
        text = _apply_backspaces(text)
    return text.removeprefix(_BYTE_ORDER_MARK).replace("\x00", "")


def tamed(line: str) -> tuple[str, bool]:
    """Shorten what patterns would try in every way: wide blanks; and tell a line with an endless word."""
    if len(line) <= _ORDINARY:
        return line, False
    return _WIDE.sub(" " * _MOST_BLANKS, line), _ENDLESS_WORD.search(line) is not None


def is_nested(raw: bytes) -> bool:
    """Tell a bar drawn below another: the cursor goes back up after it."""
    return _CURSOR_UP in raw


def _apply_backspaces(text: str) -> str:
    """Write over what backspaces went back to; those at the end only moved the cursor."""
    shown: list[str] = []
    cursor = 0
    for piece in _BACKSPACES.split(text):
        if piece.startswith("\b"):
            cursor = max(cursor - len(piece), 0)
            continue
        shown[cursor : cursor + len(piece)] = piece
        cursor += len(piece)
    return "".join(shown)
