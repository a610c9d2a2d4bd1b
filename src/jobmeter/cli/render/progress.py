"""One line on the terminal that says how far a long piece of work is; nothing where it is short or nobody looks."""

import time
from collections.abc import Callable
from typing import TextIO

from jobmeter.cli.render import screen
from jobmeter.model import text

PATIENCE_SECONDS = 2.0
"""Shorter work says nothing."""
_BEAT_SECONDS = 0.2
_LEAST_CELLS = 20
_CLEAR = "\r\x1b[K"


class Progress:
    """A line that is rewritten in place."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._due = clock() + PATIENCE_SECONDS
        self._shown = False

    def say(self, sentence: Callable[[], str]) -> None:
        """Show a sentence, made only if it is time for one."""
        now = self._clock()
        if now < self._due or not self._stream.isatty():
            return
        self._due = now + _BEAT_SECONDS
        self._shown = True
        line = text.cut(text.clean(sentence()), max(_LEAST_CELLS, screen.width_of(self._stream) - 1))
        self._stream.write(f"{_CLEAR}{line}")
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away before anything else is printed."""
        if self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()
            self._shown = False
