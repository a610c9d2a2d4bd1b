"""What loggers put before a message, and the lines that do nothing but announce an epoch.

The head of a line is cut at its first time of day: what stands before that is a date, a host, a level. What can
mislead: a level or a module's name is cut only in the forms loggers give it, because `Loss:` looks like one.
"""

import re
from functools import lru_cache

from jobmeter.formats.steplines import shapes
from jobmeter.formats.steplines.row import Memory

_CLOCK = re.compile(r"^.{0,60}?\d{2}:\d{2}:\d{2}(?:[.,]\d+)?\S*(?=\s)")
_LEVEL = re.compile(
    r"^[\s\-|:,\[\]>]*(?:[\w.]+\s*[-|:]\s*)?(?:\d+\s*[-|:]\s*)?\[?(?:DEBUG|INFO|NOTICE|WARN(?:ING)?)\b[\s\-|:\]>]*"
    r"(?:(?:root|__main__|\w+(?:\.\w+)+)(?::[\w<>]+)*\s*[-|:\]>]+\s*)?"
)
_MARKS = re.compile(r"^[\s\-|:,\]>]+")
_HEADING = re.compile(
    r"[\W_]*(?:(?:start(?:ing)?|begin(?:ning)?|running|training)\s+)*epoch\s*[:#=\[(]?\s*(?P<epoch>\d{1,7})"
    r"(?:\s*(?:/|of)\s*(?P<epochs>\d{1,7}))?(?:\W+(?:start(?:ed|ing)?|begins?|begin training|training)\b)?[\W_]*",
    re.IGNORECASE,
)
_LONGEST_HEADING = 160


def message(text: str) -> str:
    """Give a line without its logger's prefix."""
    body = _CLOCK.sub("", text)
    level = _LEVEL.match(body)
    if level is not None:
        return body[level.end() :]
    return _MARKS.sub("", body) if len(body) != len(text) else body


def note_heading(text: str, memory: Memory) -> bool:
    """Remember the epoch that a line of its own announces; False for any other line."""
    if len(text) > _LONGEST_HEADING or "poch" not in text.lower():
        return False
    found = _heading(shapes.of(text))
    if found is None:
        return False
    epoch, epochs = found
    memory.heading = int(text[slice(*epoch)])
    memory.heading_total = int(text[slice(*epochs)]) if epochs else None
    return True


def may_be_heading(shape: str) -> bool:
    """Tell whether lines of a shape announce an epoch."""
    return len(shape) <= _LONGEST_HEADING and "poch" in shape.lower() and _heading(shape) is not None


@lru_cache(maxsize=shapes.MOST)
def _heading(shape: str) -> tuple[shapes.Span, shapes.Span | None] | None:
    start = len(shape) - len(message(shape))
    found = _HEADING.fullmatch(shape, start)
    if found is None:
        return None
    return found.span("epoch"), found.span("epochs") if found["epochs"] else None
