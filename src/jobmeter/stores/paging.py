"""Questions about many runs answered in Python: what memory does, and what a database does not express in SQL."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, assert_never

from jobmeter.model.measurement import TOOLS
from jobmeter.model.query import (
    SEARCHED,
    TAG,
    TAGS,
    All,
    Compare,
    Either,
    Facet,
    Filter,
    Known,
    Not,
    Place,
    RunQuery,
    Total,
    Word,
)
from jobmeter.stores import codec, documents

TEXTS = (
    "cause",
    "command",
    "group",
    "host",
    "job_id",
    "name",
    "origin",
    "project",
    "signal",
    "status",
    "user",
)
"""Fields of text that databases keep as columns."""
NUMBERS = (
    "cores",
    "cpu_seconds",
    "disk",
    "ended",
    "energy",
    "exit_code",
    "gpu_memory",
    "gpu_util",
    "io_read",
    "io_write",
    "memory_limit",
    "memory_peak",
    "ranks",
    "samples",
    "steps.count",
    "steps.last_step",
    "steps.per_second",
    "throughput",
    "wall",
    "world_size",
)
"""Fields of numbers that databases keep as columns."""
LONGEST_LETTERS = 500
"""Of a text that is a column, the command aside: an ordered index takes no longer ones. The run itself has it whole."""
_SHORT = frozenset(TEXTS) - {"command"}


class Row(NamedTuple):
    """One run as questions see it."""

    run_id: str
    started_at: float | None
    known: Known


def row(run_id: str, started_at: float | None, known: dict[str, object]) -> Row:
    """Show a run as questions see it: its id and start are the run's own, whatever its fields say."""
    known["id"] = run_id
    if started_at is not None:
        known["started"] = started_at
    return Row(run_id, started_at, known)


class Pages(NamedTuple):
    """A page by its ids."""

    ids: list[str]
    next: Place | None
    total: int


def tidied(fields: Mapping[str, object]) -> dict[str, object]:
    """Keep of fields what every back end can hold alike."""
    found = {_text(name): _tidy(value) for name, value in fields.items()}
    return {
        name: short(value) if name in _SHORT and isinstance(value, str) else value
        for name, value in found.items()
        if value is not None
    }


def _tidy(value: object) -> object:
    match value:
        case str():
            return _text(value)
        case float():
            return value if math.isfinite(value) else None
        case int():
            return codec.storable(value)
        case list():
            return [_tidy(one) for one in value]
        case _:
            return value


def short(text: str) -> str:
    """Cut a text that is too long for a column, and mark that."""
    return text if len(text) <= LONGEST_LETTERS else f"{text[: LONGEST_LETTERS - 1]}\u2026"


def _text(text: str) -> str:
    return text if documents.is_plain(text) else documents.clean(text)


def cleaned(where: Filter | None) -> Filter | None:
    """Write the texts of a filter as those of fields are kept."""
    return None if where is None else _cleaned(where)


def _cleaned(where: Filter) -> Filter:
    match where:
        case Compare():
            name, text = _text(where.field.name), _text(where.text)
            kept = short(text) if name in _SHORT else text
            if name == where.field.name and kept == where.text:
                return where
            return replace(where, field=replace(where.field, name=name), text=kept)
        case Word():
            return Word(documents.clean(where.text))
        case Not():
            return Not(_cleaned(where.part))
        case All():
            return All(tuple(map(_cleaned, where.parts)))
        case Either():
            return Either(tuple(map(_cleaned, where.parts)))
        case _:
            assert_never(where)


def names_in(where: Filter | None) -> Iterator[str]:
    """Name the fields that a filter asks."""
    match where:
        case Compare():
            yield from (name for name in (where.field.name, where.field.also, where.percent_of) if name)
        case Not():
            yield from names_in(where.part)
        case All() | Either():
            for part in where.parts:
                yield from names_in(part)
        case Word() | None:
            yield from SEARCHED
        case _:
            assert_never(where)


def is_summary_key(name: str) -> bool:
    """Tell a key that a tool measured, which stands in a run's summary, from its other fields."""
    return name.partition("_")[0] in TOOLS


def of_tools(summary: Mapping[str, object]) -> dict[str, object]:
    """Keep of a summary what may be asked by name."""
    return {key: value for key, value in tidied(summary).items() if is_summary_key(key)}


def matching(rows: Iterable[Row], query: RunQuery) -> Iterator[Row]:
    """Leave out the runs that are not asked for."""
    where = cleaned(query.where)
    return iter(rows) if where is None else (row for row in rows if where.matches(row.known))


def place(row: Row, query: RunQuery) -> Place:
    """Say where a run stands in the order of a query."""
    value = query.sort.of(row.known)
    known = value if isinstance(value, int | float | str) else None
    return Place(value=known, started_at=row.started_at, run_id=row.run_id)


def ordered(places: Iterable[Place], *, reverse: bool) -> list[Place]:
    """Order runs as `Place.is_after` says; given newest first."""
    known = list(places)
    numbers = [one for one in known if isinstance(one.value, int | float)]
    texts = [one for one in known if isinstance(one.value, str)]
    absent = [one for one in known if one.value is None]
    numbers.sort(key=lambda one: one.value, reverse=not reverse)  # type: ignore[arg-type, return-value]  # numbers
    texts.sort(key=lambda one: str(one.value).lower(), reverse=reverse)
    return [*numbers, *texts, *absent]


def newest_first(rows: Iterable[Row]) -> list[Row]:
    """Order runs by their start, those without one last."""
    return sorted(rows, key=_age, reverse=True)


def _age(row: Row) -> tuple[float, str]:
    return (-math.inf if row.started_at is None else row.started_at, row.run_id)


def page(rows: Iterable[Row], query: RunQuery) -> Pages:
    """Choose a page of rows that are given newest first."""
    places = ordered((place(row, query) for row in matching(rows, query)), reverse=query.reverse)
    after = query.after
    behind = (
        places if after is None else [one for one in places if one.is_after(after, reverse=query.reverse)]
    )
    return Pages([one.run_id for one in behind[: query.limit]], end_of(behind, query.limit), len(places))


def end_of(places: Sequence[Place], limit: int | None) -> Place | None:
    """Say where a page of so many ends; None where all of them are on it."""
    return places[limit - 1] if limit is not None and 0 < limit < len(places) else None


def facet_values(known: Known, name: str) -> Iterator[str]:
    """Give the values of one field that count apart."""
    if name == TAGS:
        yield from (f"{key.removeprefix(TAG)}={value}" for key, value in known.items() if key.startswith(TAG))
        return
    found = known.get(name)
    if isinstance(found, list):
        yield from dict.fromkeys(map(str, found))
    elif found is not None:
        yield str(found)


def facets(
    rows: Iterable[Row], names: Collection[str], *, least: int, most: int | None
) -> dict[str, list[Facet]]:
    """Count runs by the values of fields."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    for row in rows:
        for name, counter in counts.items():
            counter.update(facet_values(row.known, name))
    return {name: ranked(counter.items(), least=least, most=most) for name, counter in counts.items()}


def ranked(counts: Iterable[tuple[str, int]], *, least: int, most: int | None) -> list[Facet]:
    """Order values by how many runs have them."""
    found = sorted((-count, value) for value, count in counts if count >= least)
    return [Facet(value, -count) for count, value in found[:most]]


def totals(rows: Iterable[Row], names: Collection[str]) -> dict[str, Total]:
    """Add numbers up."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for row in rows:
        for name, numbers in found.items():
            value = row.known.get(name)
            if isinstance(value, int | float):
                numbers.append(value)
    return {name: Total(len(numbers), math.fsum(numbers)) for name, numbers in found.items()}
