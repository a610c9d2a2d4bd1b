"""How a run travels: new bytes of its files at their offsets, one header line before them.

A body is one line of JSON (`Header`), then the bytes of its parts in the header's order. Which files may travel is a
closed list: nothing else of a folder leaves, and no other name is ever made by who receives. Imports little, because
the process that follows a run loads this.
"""

import re
from dataclasses import dataclass
from enum import Enum

CONTENT_TYPE = "application/x-jobmeter-sync"
MARKER = "synced.json"
"""In a folder that was received: by whom. Paths that its records name are another machine's."""
SIDECAR = "push.json"
"""In a folder that is sent: how much of it each server has confirmed."""
RUN = "run.jsonl"
NOTES = "notes.jsonl"
MAX_HEADER_BYTES = 1 << 20

_PLAIN_LINES = frozenset(("run.jsonl", "usage.jsonl", "events.jsonl", "output.index"))
_OUTPUTS = frozenset(("stdout", "stderr"))
_MAPPED = re.compile(r"(?:steps|events|sdk)(?:\.[A-Za-z0-9_-]{1,40}){0,3}\.jsonl", re.ASCII)
_NOTES = re.compile(r"notes(?:\.pushed){0,4}\.jsonl")


class Carried(Enum):
    """How a file of a run grows."""

    LINES = "lines"
    MAPPED = "mapped"
    """Lines too; while its process writes, zero bytes follow them."""
    OUTPUT = "output"
    """Any bytes."""


def carried(name: str) -> Carried | None:
    """Say how a file of this name grows; None for one that does not travel."""
    if name in _OUTPUTS:
        return Carried.OUTPUT
    if name in _PLAIN_LINES or _NOTES.fullmatch(name):
        return Carried.LINES
    return Carried.MAPPED if _MAPPED.fullmatch(name) else None


def kept_as(name: str) -> str:
    """Name the file in the receiver's folder: its own notes stay apart from those that were sent."""
    return f"notes.pushed.{name.removeprefix('notes.')}" if _NOTES.fullmatch(name) else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Bytes of one file, and the checksum of all that comes before them."""

    name: str
    offset: int
    crc32: int
    length: int
    age_seconds: float = 0.0
    """How long ago the file last grew, by the sender's clock: what tells a live run from a lost one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a request brings."""

    files: tuple[Part, ...]
    final: bool = False
    """Nothing more will come: a last line without its end is all there is of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """How much of a file the receiver has."""

    size: int
    crc32: int
