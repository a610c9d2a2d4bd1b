"""What one line, or one exception, says of a failure; and what its reader may look at."""

from collections.abc import Callable
from dataclasses import dataclass, field

from jobmeter.model.run import Value

WARNING, ERROR, CRITICAL = "WARNING", "ERROR", "CRITICAL"
LONGEST_MESSAGE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A line without what launchers put before it, or an exception with its message."""

    text: str
    following: Callable[[], str] = str
    """The text of the next lines, each with its newline; asked for only where a message may go on."""
    exception: str | None = None
    """The exception's name, where a traceback ended in it."""
    trace: str = ""
    """The traceback itself."""
    level: str | None = None
    """What a logger put before the line."""
    memory: dict[str, Value] = field(default_factory=dict)
    """What earlier lines of the same stream said; readers keep here what a later line needs."""

    def unwrapped(self) -> str:
        """Join the text with what follows, as if a terminal had not broken the line."""
        return (self.text + self.following().replace("\n", ""))[:LONGEST_MESSAGE]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """A failure as one message tells it."""

    type: str
    message: str
    fields: dict[str, Value] = field(default_factory=dict)
    level: str = ERROR
    same: str | None = None
    """Messages with the same word here are one failure; None compares the messages themselves."""
    ends_attempt: bool = False
    """Nothing of this attempt follows: a launcher or a scheduler gave up."""
    is_more: bool = False
    """Another line of what was told before: it adds fields and is not counted."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A known failure: the words without which it cannot be, and its reader."""

    words: tuple[str, ...]
    """In lower case; a line with none of them is not shown to the reader."""
    read: Callable[[Passage], Sign | None]


def level_of(passage: Passage, otherwise: str = ERROR) -> str:
    """Say how bad the logger thought it was; a line without a level is what its reader says."""
    return passage.level if passage.level in (WARNING, ERROR, CRITICAL) else otherwise


def type_of(passage: Passage, otherwise: str) -> str:
    """Name the exception, or what the line is known as."""
    return passage.exception or otherwise
