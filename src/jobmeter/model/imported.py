"""A run that another tool recorded, as a format reader hands it over.

Its id comes from its content, never from file names or the clock, so that importing the same files again
from anywhere finds the same run.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from jobmeter.model import moments
from jobmeter.model.run import Run
from jobmeter.model.view import Event, Step, Window

UNKNOWN_START = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands in an id where the foreign files say nothing about time; `started_at` itself stays absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One foreign run: its facts, its series, and the files it was read from."""

    format: str
    digest: str
    """Hexadecimal hash of the files that make the run what it is."""
    run: Run
    sources: tuple[Path, ...]
    windows: Iterable[Window] = ()
    """May be walked more than once; large logs are read again rather than held in memory."""
    steps: Iterable[Step] = ()
    events: Iterable[Event] = ()
    outputs: dict[str, Path] = field(default_factory=dict)
    """By stream: the file that holds the job's bytes."""


def identify(started_at: float | None, digest: str) -> str:
    """Make the id of an imported run from when it began and what its files hold."""
    moment = moments.utc(started_at) or UNKNOWN_START
    return f"{moment:%Y%m%dT%H%M%SZ}-{digest[:6]}"
