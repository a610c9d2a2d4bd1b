"""Pages of runs as a browser asks for them: searched, filtered, sorted, counted by what they have in common.

A cursor is the place a page ended at, so that a run that begins meanwhile neither repeats nor hides another. It belongs
to one question: with another filter or order it is refused.
"""

import base64
import binascii
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import msgspec

from jobmeter.errors import UsageError
from jobmeter.model import query
from jobmeter.model.query import Place, RunQuery
from jobmeter.model.run import Run
from jobmeter.service import fields, filters, index, shapes
from jobmeter.stores import Store

DEFAULT_LIMIT = 50
MOST_RUNS = 1_000
MOST_FACETS = 12
LONGEST_FILTER = 4_000
LONGEST_CURSOR = 2_000
FACETS = ("project", "status", "host", "user", "tag", "cause")
_EXAMPLE = "as in q=status=failed and wall>2h; see docs/filters.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question about many runs, as it is written in an address."""

    q: str | None = None
    """A filter, as `jobmeter ls --filter` takes it."""
    sort: str = "started"
    reverse: bool = False
    limit: int = DEFAULT_LIMIT
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some runs, and what to ask for next."""

    runs: list[Run]
    next: str | None
    total: int

    def as_record(self, names: Sequence[str] = ()) -> dict[str, object]:
        """Render for JSON; of every run only some keys where they are named."""
        listed = map(shapes.listed, self.runs)
        shown = [{key: run[key] for key in names if key in run} for run in listed] if names else list(listed)
        return {"runs": shown, "next": self.next, "total": self.total}


def page(home: str, asked: Asked) -> Page:
    """Read one page."""
    wanted = _query(asked)
    found = _ask(home, wanted)
    return Page(
        runs=found.runs,
        next=None if found.next is None else _cursor(found.next, _digest(asked)),
        total=found.total,
    )


def _ask(home: str, wanted: RunQuery) -> query.RunPage:
    with index.open_index(home) as opened:
        opened.refresh()
        return opened.ask(lambda store: store.page(wanted))


def facets(home: str, q: str | None, names: Sequence[str]) -> dict[str, list[dict[str, object]]]:
    """Count the runs that match by the values of some fields."""
    unknown = [name for name in names if name != query.TAGS and fields.type_of(name) is None]
    if unknown:
        raise UsageError("there is no such field to count by", hint=fields.nearest(unknown[0][:80]))
    if not 0 < len(names) <= MOST_FACETS:
        raise UsageError(f"{len(names)} fields cannot be counted at once", hint=f"name 1 to {MOST_FACETS}")
    where = _where(q)

    def count(store: Store) -> dict[str, list[query.Facet]]:
        return store.facets(RunQuery(where=where), list(dict.fromkeys(names)))

    with index.open_index(home) as opened:
        opened.refresh()
        found = opened.ask(count)
    return {
        name: [{"value": one.value, "count": one.count} for one in counted] for name, counted in found.items()
    }


def chosen(names: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """Read which keys of a document are wanted: names by comma; all where nothing is said."""
    if names is None:
        return ()
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = next((name for name in wanted if name not in known), None)
    if unknown is not None or not wanted:
        raise UsageError("there is no such key to select", hint=f"use some of {', '.join(known)}")
    return tuple(dict.fromkeys(wanted))


def _query(asked: Asked) -> RunQuery:
    if not 1 <= asked.limit <= MOST_RUNS:
        raise UsageError(f"a page holds 1 to {MOST_RUNS} runs, not {asked.limit}", hint="use a smaller limit")
    if fields.type_of(asked.sort) is None:
        raise UsageError("there is no such field to sort by", hint=fields.nearest(asked.sort[:80]))
    return RunQuery(
        where=_where(asked.q),
        sort=fields.ref(fields.normal(asked.sort)),
        reverse=asked.reverse,
        limit=asked.limit,
        after=None if asked.cursor is None else _place(asked.cursor, _digest(asked)),
    )


def _where(q: str | None) -> query.Filter | None:
    if q is None or not q.strip():
        return None
    if len(q) > LONGEST_FILTER:
        raise UsageError(f"a filter has at most {LONGEST_FILTER} letters", hint=_EXAMPLE)
    return filters.parse(q, now=time.time())


def _digest(asked: Asked) -> int:
    """Tell one question from another; how many runs a page holds does not matter."""
    return zlib.crc32(repr((asked.q, asked.sort, asked.reverse)).encode("utf-8", "backslashreplace"))


def _cursor(place: Place, digest: int) -> str:
    packed = msgspec.json.encode([digest, place.value, place.started_at, place.run_id])
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _place(cursor: str, digest: int) -> Place:
    problem = UsageError("the cursor is not of this question", hint="begin without one, then take `next`")
    if len(cursor) > LONGEST_CURSOR:
        raise problem
    try:
        packed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        told, value, started_at, run_id = msgspec.json.decode(packed, type=_Packed)
    except (ValueError, binascii.Error):
        raise problem from None
    numbers = [number for number in (value, started_at) if isinstance(number, int | float)]
    if told != digest or not all(map(_is_stored, numbers)) or not index.is_run_id(run_id):
        raise problem
    return Place(value=value, started_at=started_at, run_id=run_id)


def _is_stored(number: float) -> bool:
    """Tell whether a store can compare with a number: whole ones of more than 64 bits it cannot."""
    return abs(number) < _BEYOND if isinstance(number, int) else isfinite(number)


_BEYOND = 2**63
_Packed = tuple[int, int | float | str | None, float | None, str]
