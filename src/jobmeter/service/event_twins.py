"""Events that several sources told of one thing: a checkpoint announced by the loop and found on disk."""

from collections.abc import Sequence
from dataclasses import replace

from jobmeter.model.view import Event

TOLD_TWICE = frozenset(("checkpoint",))
SAME_SECONDS = 60.0
"""How far apart the two may lie: a file's time is that of its last byte."""


def without(events: Sequence[Event]) -> tuple[Event, ...]:
    """Leave out what was told already; the first telling gains what only a later one knew."""
    kept: list[Event] = []
    for event in events:
        twin = next((place for place, other in enumerate(kept) if _same(other, event)), None)
        if twin is None:
            kept.append(event)
            continue
        first = kept[twin]
        rank = first.rank if first.rank is not None else event.rank
        kept[twin] = replace(first, details={**event.details, **first.details}, rank=rank)
    return tuple(kept)


def _same(first: Event, second: Event) -> bool:
    if first.type != second.type or first.type not in TOLD_TWICE or not _agree(first.rank, second.rank):
        return False
    if abs(first.timestamp - second.timestamp) > SAME_SECONDS:
        return False
    steps = first.details.get("step"), second.details.get("step")
    paths = _name(first), _name(second)
    # two steps may write to one path, and one step to two
    return _agree(*steps) and _agree(*paths) and (None not in steps or None not in paths)


def _agree(first: object, second: object) -> bool:
    return first == second or first is None or second is None


def _name(event: Event) -> str | None:
    """Take the last part of a path: a loop names it from where it stands, the disk from its root."""
    path = event.details.get("path")
    return path.rstrip("/").rpartition("/")[2] if isinstance(path, str) else None
