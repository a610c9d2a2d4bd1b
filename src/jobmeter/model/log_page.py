"""A page of a job's output as it is served: secrets cut out, bytes that are no UTF-8 escaped."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line; what a carriage return overwrote is left out, as on a terminal."""

    offset: int
    """The byte of the stream the line begins at."""
    text: str
    number: int | None
    """Counted from 1; None so far into a stream that counting would read too much."""
    timestamp: str | None
    """When its last byte came, as good as ten looks a second; None where nobody looked."""
    cut: bool
    """The line is longer than what is shown of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Some lines of one stream, and where to go on."""

    run_id: str
    stream: str | None
    """None where no output was captured."""
    streams: tuple[str, ...]
    """The streams that there are."""
    begin: int
    next: int
    """The offset to ask for next: of the first line that is not on this page."""
    size_bytes: int
    """How much of the stream there is."""
    lines: tuple[LogLine, ...]
    tail: str | None
    """The last line of a run that goes on, as far as it is written; it comes again when it is whole."""
    complete: bool
    """Nothing follows, now or later."""
    reason: str | None
    """Why the output cannot be read, where it cannot."""
