"""What happened in a run, as rows: what matters is always there, what repeats is counted."""

import os
from collections.abc import Iterator, Mapping, Sequence

from jobmeter.cli.render import local_time
from jobmeter.cli.render.rows import Row
from jobmeter.cli.render.screen import Style
from jobmeter.model import text, units
from jobmeter.model.run import Run
from jobmeter.model.view import SEVERE_EVENTS, Event
from jobmeter.service import event_twins

MOST = 10
MOST_OF_A_KIND = 3
"""Of more, the first and the last are shown."""
HANG = 2
_LONGEST, _LONGEST_SAID = 60, 120
_UNSAID = frozenset(("clock",))
"""Details for programs: whose clock the time of a file is."""


def event_rows(events: Sequence[Event], run: Run) -> Iterator[Row]:
    """Say what happened, in order; a checkpoint found on disk that was told already is not said again."""
    once = event_twins.without(events)
    shown = _chosen(once)
    for place, (event, count) in enumerate(shown[:MOST]):
        style = Style.BAD if event.type in SEVERE_EVENTS else Style.PLAIN
        yield Row("events" if place == 0 else "", _sentence(event, count, run), style=style, hang=HANG)
    left = len(shown) - MOST
    if left > 0:
        yield Row("", f"and {left} more, see --json")


def _chosen(events: Sequence[Event]) -> list[tuple[Event, int]]:
    """Take all events, but of a kind that repeats the first and the last, with how many there are between them."""
    kinds: dict[str, list[int]] = {}
    for place, event in enumerate(events):
        kinds.setdefault(event.type, []).append(place)
    between: dict[int, int] = {}
    for places in kinds.values():
        few = len(places) <= MOST_OF_A_KIND
        between |= dict.fromkeys(places, 0) if few else {places[0]: 0, places[-1]: len(places) - 2}
    kept = [(events[place], count) for place, count in sorted(between.items())]
    severe = [pair for pair in kept if pair[0].type in SEVERE_EVENTS]
    # what a person must not miss comes before what is merely early
    room = max(MOST - len(severe), 0)
    others = [pair for pair in kept if pair[0].type not in SEVERE_EVENTS][:room]
    chosen = sorted((*severe, *others), key=lambda pair: pair[0].timestamp)
    return chosen if len(chosen) == len(kept) else [*chosen, *(pair for pair in kept if pair not in chosen)]


def _sentence(event: Event, count: int, run: Run) -> str:
    clock = local_time.whole(event.timestamp).partition(" ")[2] or "?"
    whose = f" rank {event.rank}" if run.ranks and event.rank is not None else ""
    more = f"after {count} more: " if count else ""
    said = _alert(event.details) if event.type == "alert" else ""
    return f"{more}{clock}{whose} {text.clean(event.type)}{said or _details(event.details, run)}"


def _alert(details: Mapping[str, object]) -> str:
    """Say what an alert says, without what programs know it by."""
    words = [str(details[key]) for key in ("title", "text") if details.get(key)]
    return "".join(f": {text.cut(text.clean(word), _LONGEST_SAID)}" for word in words)


def _details(details: Mapping[str, object], run: Run) -> str:
    parts = [
        f"{text.clean(str(key))}={_value(key, value, run)}"
        for key, value in details.items()
        if key not in _UNSAID
    ]
    return f": {', '.join(parts)}" if parts else ""


def _value(key: str, value: object, run: Run) -> str:
    if key.endswith("bytes") and isinstance(value, int | float) and not isinstance(value, bool):
        return units.format_bytes(value)
    if key == "processes" and isinstance(value, list):
        return text.cut(text.clean(", ".join(map(_process, value))), _LONGEST)
    if isinstance(value, str) and run.cwd and value.startswith(f"{run.cwd}/"):
        return text.cut(text.clean(os.path.relpath(value, run.cwd)), _LONGEST)
    return text.cut(text.clean(str(value)), _LONGEST)


def _process(known: object) -> str:
    """Say of a process that stood still what it waited in."""
    if not isinstance(known, dict):
        return str(known)
    place = known.get("syscall") or known.get("wchan") or known.get("state")
    return f"{known.get('command')} in {place}"
