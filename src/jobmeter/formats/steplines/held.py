"""Steps that are not certain yet, and what else a reader must remember across a restart, as plain JSON.

A bar is redrawn until its step is over: the last drawing counts, at the time of the first. A row of the Hugging
Face Trainer waits for the bar that is drawn right after it and tells its step.
"""

import math
from dataclasses import dataclass, field

import msgspec

from jobmeter.formats.steplines.row import Memory, Number, Phase

_MOST_OPEN = 8


@dataclass(slots=True, kw_only=True)
class Draft:
    """A step in the making."""

    source: str
    rank: int
    step: int
    timestamp: float | None
    metrics: dict[str, Number]


@dataclass(slots=True, kw_only=True)
class Waiting:
    """A row that waits for its number."""

    draft: Draft
    phase: Phase
    who: str
    """Whose memory numbers it."""
    end: int
    """Where in the stream the row ends: a bar far behind it is another's."""
    position: int | None
    rate: dict[str, Number]
    """What the bar before it showed."""
    index: int
    """Which row of its kind it is, for the bars of another stream."""


@dataclass(slots=True, kw_only=True)
class Redraw:
    """A bar drawn again right after somebody printed a row through it."""

    position: int
    timestamp: float | None
    rate: dict[str, Number]


@dataclass(slots=True, kw_only=True)
class State:
    """All that a reader remembers between two portions of its stream."""

    consumed: int = 0
    after_return: bool = False
    after_blank: bool = False
    zone_seconds: float | None = None
    memories: dict[str, Memory] = field(default_factory=dict)
    """By rank; lines without one under the empty name."""
    waiting: list[Waiting] = field(default_factory=list)
    open: dict[str, Draft] = field(default_factory=dict)
    """The last drawing of each bar that may still be redrawn."""
    redraws: list[Redraw] = field(default_factory=list)
    redraws_taken: int = 0
    """How many of them were used or dropped before the first that is kept."""
    rows: int = 0
    """Rows that bars number, so far."""
    told: dict[str, str] = field(default_factory=dict)
    """By type of event that is told once a step: what was last told, and at which step."""


def pack(state: State) -> dict[str, object]:
    """Write a state as JSON; what JSON has no number for is spelled."""
    record: dict[str, object] = {}
    for name, value in msgspec.to_builtins(state).items():
        record[name] = _spelled(value)
    return record


def unpack(record: dict[str, object] | None) -> State:
    """Read a state back; what a newer release added to it is passed over."""
    return msgspec.convert(record or {}, State, strict=False)


def _spelled(value: object) -> object:
    if isinstance(value, dict):
        return {name: _spelled(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def put(drafts: dict[str, Draft], key: str, draft: Draft) -> Draft | None:
    """Keep a bar's drawing; gives the step before it once that is over."""
    before = drafts.get(key)
    if before is not None and before.step == draft.step:
        draft.timestamp = before.timestamp
        drafts[key] = draft
        return None
    done = drafts.pop(key, None)
    drafts[key] = draft
    if done is None and len(drafts) > _MOST_OPEN:
        done = drafts.pop(next(iter(drafts)))
    return done
