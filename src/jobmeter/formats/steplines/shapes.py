"""Lines that differ in their digits only: what one of them says, and where, holds for all.

A training prints one line again and again with other numbers in it. Patterns ask whether a digit stands somewhere,
never which one, so what they find is kept by the line's shape: its text with every digit a zero. What misleads:
digits of a name (`top1`, `lr_0`) mean something, and stay.
"""

import re
from functools import lru_cache

MOST = 512
"""So many shapes are remembered at a time; a log has a few dozen."""
_ZEROED = bytes.maketrans(b"123456789", b"000000000")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_@][\w@./()-]*")
_DIGITS = re.compile(r"\d+")

Span = tuple[int, int]


def zeroed(text: str) -> str:
    """Write a zero for every digit, those of names too."""
    return zeroed_bytes(text).decode("utf-8", "surrogatepass")


def zeroed_bytes(text: str) -> bytes:
    """Write a zero for every digit, as bytes: `str.translate` takes ten times as long."""
    return text.encode("utf-8", "surrogatepass").translate(_ZEROED)


def of(text: str) -> str:
    """Give the shape of a line."""
    shape = zeroed(text)
    for start, stop in _in_words(shape):
        shape = shape[:start] + text[start:stop] + shape[stop:]
    return shape


def is_name(shape: str, span: Span) -> bool:
    """Tell whether a part of a shape still has the digits of its line."""
    kept = _in_words(zeroed(shape))
    return all(
        any(start <= found.start() and found.end() <= stop for start, stop in kept)
        for found in _DIGITS.finditer(shape, *span)
    )


@lru_cache(maxsize=MOST)
def _in_words(shape: str) -> tuple[Span, ...]:
    return tuple(word.span() for word in _WORD.finditer(shape) if _DIGITS.search(word[0]))
