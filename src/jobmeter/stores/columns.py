"""Windows, which come by time, turned into columns, which are stored by series.

Only numbers become columns. Labels live on in process rows, and tallies in the run folder.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from operator import le

from jobmeter.model.view import Window
from jobmeter.stores import Statistics, documents
from jobmeter.stores.codec import Number

Name = tuple[str, str]
Places = tuple[int, ...]

_NUMBERS = frozenset((int, float))


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one series in a block of windows, and which windows they came from."""

    name: Name
    places: Places
    values: Sequence[Number]


def split(windows: Iterable[Window]) -> tuple[list[Window], list[Window]]:
    """Part what belongs to the whole job from what belongs to a process or device; names become clean."""
    job: list[Window] = []
    instances: list[Window] = []
    names: list[Name] = []
    shape = _shape(names)
    for found in windows:
        # most windows look like the one before
        if list(found.values) != names:
            names = list(found.values)
            shape = _shape(names)
        window = found if shape.plain else cleaned(found)
        if not shape.some_instance:
            job.append(window)
        elif not shape.some_job:
            instances.append(window)
        else:
            job.append(only(window, lambda name: not name[1]))
            instances.append(only(window, lambda name: bool(name[1])))
    return job, instances


@dataclass(frozen=True, slots=True)
class _Shape:
    """What all windows with the same names have in common."""

    some_job: bool
    some_instance: bool
    plain: bool


def _shape(names: Sequence[Name]) -> _Shape:
    held = [bool(instance) for _, instance in names]
    return _Shape(
        not all(held),
        any(held),
        all(documents.is_plain(key) and documents.is_plain(instance) for key, instance in names),
    )


def cleaned(window: Window) -> Window:
    """Give a window names that every database takes."""
    return Window(
        timestamp=window.timestamp,
        num_samples=window.num_samples,
        clock=window.clock,
        values={(documents.clean(k), documents.clean(i)): value for (k, i), value in window.values.items()},
    )


def only(window: Window, wanted: Callable[[Name], bool]) -> Window:
    """Keep some values of a window."""
    return Window(
        timestamp=window.timestamp,
        num_samples=window.num_samples,
        clock=window.clock,
        values={name: value for name, value in window.values.items() if wanted(name)},
    )


def columns(windows: Sequence[Window]) -> list[Column]:
    """Turn a block of windows into columns, ordered by name."""
    # windows of one shape are turned all at once; a job has few shapes
    shapes: dict[tuple[Name, ...], list[int]] = {}
    names_before: list[Name] | None = None
    places: list[int] = []
    for place, window in enumerate(windows):
        if list(window.values) != names_before:
            names_before = list(window.values)
            places = shapes.setdefault(tuple(names_before), [])
        places.append(place)
    parts: dict[Name, list[Column]] = {}
    for names, places in shapes.items():
        rows = [windows[place].values.values() for place in places]
        for name, values in zip(names, zip(*rows, strict=True), strict=True):
            column = _numbers(name, tuple(places), values)
            if column is not None:
                parts.setdefault(name, []).append(column)
    return [_join(name, parts[name]) for name in sorted(parts)]


def _numbers(name: Name, places: Places, values: tuple[object, ...]) -> Column | None:
    if _NUMBERS.issuperset(map(type, values)):
        return Column(name, places, values)  # type: ignore[arg-type]  # every value is a number
    kept = [(place, value) for place, value in zip(places, values, strict=True) if type(value) in _NUMBERS]
    if not kept:
        return None
    return Column(name, tuple(place for place, _ in kept), [value for _, value in kept])  # type: ignore[misc]  # numbers


def _join(name: Name, parts: list[Column]) -> Column:
    if len(parts) == 1:
        return parts[0]
    pairs = sorted(chain.from_iterable(zip(part.places, part.values, strict=True) for part in parts))
    return Column(name, tuple(place for place, _ in pairs), [value for _, value in pairs])


def times(windows: Sequence[Window], places: Places) -> list[float]:
    """Give the wall-clock times of some windows."""
    return [windows[place].timestamp for place in places]


def rising(moments: Iterable[Number]) -> "array[float]":
    """Hold the time still where the wall clock was set back: a line is never drawn backwards."""
    known = array("d", moments)
    # looking first is three times cheaper, and clocks are hardly ever set back
    if all(map(le, known, islice(known, 1, None))):
        return known
    return array("d", accumulate(known, max))


def spans(windows: Sequence[Window], source: str, places: Places) -> list[float] | None:
    """Give the seconds each window of a source covers; None unless every window says so."""
    try:
        pairs = [windows[place].clock[source] for place in places]
    except KeyError:
        return None
    # rounded, because subtracting large floats leaves noise in digits no clock has
    return [round(end - begin, 9) for begin, end in pairs]


def source_of(key: str) -> str:
    """Name the source whose clock covers a key: its first word."""
    return key.partition("_")[0]


def statistics(values: Sequence[Number]) -> Statistics:
    """Summarise a column; values that are no numbers count for nothing but the last."""
    total = sum(values)
    if not math.isnan(total):
        return Statistics(len(values), min(values), max(values), total, values[-1])
    kept = [value for value in values if not math.isnan(value)]
    if not kept:
        return Statistics(0, math.nan, math.nan, 0.0, values[-1])
    return Statistics(len(kept), min(kept), max(kept), sum(kept), values[-1])


def merge(parts: Iterable[Statistics]) -> Statistics:
    """Join the statistics of consecutive stretches of one series."""
    known = list(parts)
    some = [part for part in known if part.n]
    if not some:
        return known[-1]
    return Statistics(
        sum(part.n for part in some),
        min(part.low for part in some),
        max(part.high for part in some),
        sum(part.total for part in some),
        known[-1].last,
    )
