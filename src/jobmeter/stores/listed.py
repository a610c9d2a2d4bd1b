"""The runs of a SQLite index as lists ask for them: one narrow row each, so that no document is read to find them.

What a column does not tell is filtered or sorted in Python, of the runs that the columns leave.
"""

from collections.abc import Collection, Iterator, Sequence

import apsw

from jobmeter.model.query import TAG, TAGS, Facet, Place, RunPage, RunQuery, Total
from jobmeter.model.run import Run
from jobmeter.stores import Batch, conditions, documents, paging, rows

SQLITE = conditions.Dialect("?", "instr({text}, {part}) > 0")
_BATCH_IDS = 500
_TEXT_COLUMNS = [conditions.named(name) for name in paging.TEXTS if name != "cause"]
_NUMBER_COLUMNS = [conditions.named(name) for name in paging.NUMBERS]
_COLUMNS = [
    "run_id",
    "id_folded",
    "started_at",
    *(f'"{name}"' for name in _TEXT_COLUMNS),
    *(f'"{name}_folded"' for name in _TEXT_COLUMNS),
    *(f'"{name}"' for name in _NUMBER_COLUMNS),
]
_PUT = f"""INSERT INTO listed ({", ".join(_COLUMNS)}) VALUES ({", ".join("?" * len(_COLUMNS))})
    ON CONFLICT (run_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])}"""  # noqa: S608  # names of our own
_CAUSE_PUT = "UPDATE listed SET cause = ?2 WHERE run_id = ?1"
_TAGS_DROP = "DELETE FROM run_tag WHERE run_id = ?"
_TAGS_READ = "SELECT key, value FROM run_tag WHERE run_id = ? ORDER BY key"
_TAG_ADD = "INSERT INTO run_tag (key, value, run_id) VALUES (?, ?, ?)"
_BRIEFS = """SELECT run_id, brief FROM run WHERE run_id IN (SELECT value FROM json_each(?))"""
FORGET = (_TAGS_DROP, "DELETE FROM listed WHERE run_id = ?")

_Number = int | float | None
_FieldsRow = tuple[str, float | None, str | None, bytes, bytes | None]


def put(connection: apsw.Connection, batch: Batch, fields: dict[str, object]) -> None:
    """Write the narrow row of a run, and its tags."""
    run_id = documents.clean(batch.run.run_id)
    texts = [_text(fields.get(name)) for name in paging.TEXTS if name != "cause"]
    numbers = [_number(fields.get(name)) for name in paging.NUMBERS]
    row = (run_id, run_id.lower(), batch.run.started_at, *texts, *map(_folded, texts), *numbers)
    connection.execute(_PUT, row)
    tags = sorted((name[len(TAG) :], str(value)) for name, value in fields.items() if name.startswith(TAG))
    if tags != rows.select(connection, _TAGS_READ, (run_id,), list[tuple[str, str]]):
        connection.execute(_TAGS_DROP, (run_id,))
        connection.executemany(_TAG_ADD, [(key, value, run_id) for key, value in tags])


def put_cause(connection: apsw.Connection, run_id: str, cause: str) -> None:
    """Note what analysis gives as the cause of a run's end."""
    connection.execute(_CAUSE_PUT, (run_id, documents.clean(cause) or None))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _folded(text: str | None) -> str | None:
    return None if text is None or text.lower() == text else text.lower()


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) else None


class Lists:
    """Answers questions about many runs."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def page(self, query: RunQuery) -> RunPage:
        """List a page of runs."""
        found = self._pages(query)
        briefs = self._briefs(found.ids)
        runs = [briefs[run_id] for run_id in found.ids if run_id in briefs]
        return RunPage(runs=runs, next=found.next, total=found.total)

    def _pages(self, query: RunQuery) -> paging.Pages:
        split = conditions.split(query.where, SQLITE)
        order = conditions.order(query)
        if split.rest is not None or order is None:
            return paging.page(self._rows(query, {query.sort.name, query.sort.also or ""}), query)
        behind = conditions.behind(query, SQLITE)
        value = conditions.column(query.sort.name)
        more = -1 if query.limit is None else query.limit + 1
        sql = f"""SELECT listed.run_id, listed.started_at, {value} FROM listed
            WHERE ({split.condition.sql}) AND ({behind.sql}) ORDER BY {order} LIMIT ?"""  # noqa: S608  # columns only
        bound = (*split.condition.bound, *behind.bound, more)
        found = rows.select(self._connection, sql, bound, list[tuple[str, float | None, str | _Number]])
        places = [Place(value=value, started_at=at, run_id=run_id) for run_id, at, value in found]
        is_all = query.after is None and (query.limit is None or len(places) <= query.limit)
        total = len(places) if is_all else self._count(split.condition)
        shown = [one.run_id for one in places[: query.limit]]
        return paging.Pages(shown, paging.end_of(places, query.limit), total)

    def count(self, query: RunQuery) -> int:
        """Count the runs that match."""
        split = conditions.split(query.where, SQLITE)
        if split.rest is not None:
            return sum(1 for _ in paging.matching(self._rows(query, ()), query))
        return self._count(split.condition)

    def _count(self, condition: conditions.Condition) -> int:
        sql = f"SELECT count(*) FROM listed WHERE {condition.sql}"  # noqa: S608  # columns only
        ((count,),) = rows.select(self._connection, sql, condition.bound, list[tuple[int]])
        return count

    def facets(
        self, query: RunQuery, names: Collection[str], *, least: int, most: int | None
    ) -> dict[str, list[Facet]]:
        """Count runs by the values of fields."""
        split = conditions.split(query.where, SQLITE)
        by_sql = {name for name in names if name == TAGS or name in paging.TEXTS}
        others = names if split.rest is not None else [name for name in names if name not in by_sql]
        found: dict[str, list[Facet]] = {}
        if others:
            matching = paging.matching(self._rows(query, others), query)
            found = paging.facets(matching, others, least=least, most=most)
        for name in by_sql - found.keys():
            counted = self._tags(split.condition) if name == TAGS else self._counted(name, split.condition)
            found[name] = paging.ranked(counted, least=least, most=most)
        return {name: found[name] for name in names}

    def _counted(self, name: str, condition: conditions.Condition) -> list[tuple[str, int]]:
        column = conditions.column(name)
        sql = f"""SELECT {column}, count(*) FROM listed
            WHERE {column} IS NOT NULL AND ({condition.sql}) GROUP BY {column}"""  # noqa: S608  # columns only
        return rows.select(self._connection, sql, condition.bound, list[tuple[str, int]])

    def _tags(self, condition: conditions.Condition) -> list[tuple[str, int]]:
        sql = f"""SELECT run_tag.key || '=' || run_tag.value, count(*)
            FROM run_tag JOIN listed ON listed.run_id = run_tag.run_id
            WHERE {condition.sql} GROUP BY run_tag.key, run_tag.value"""  # noqa: S608  # columns only
        if not condition.bound and condition.sql == "1 = 1":
            sql = "SELECT key || '=' || value, count(*) FROM run_tag GROUP BY key, value"
        return rows.select(self._connection, sql, condition.bound, list[tuple[str, int]])

    def totals(self, query: RunQuery, names: Collection[str]) -> dict[str, Total]:
        """Add numbers up."""
        split = conditions.split(query.where, SQLITE)
        if split.rest is not None or not all(name in paging.NUMBERS for name in names):
            return paging.totals(paging.matching(self._rows(query, names), query), names)
        if not names:
            return {}
        asked = ", ".join(
            f"count({column}), coalesce(sum({column}), 0)" for column in map(conditions.column, names)
        )
        sql = f"SELECT {asked} FROM listed WHERE {split.condition.sql}"  # noqa: S608  # columns only
        (found,) = rows.select(self._connection, sql, split.condition.bound, list[tuple[int | float, ...]])
        pairs = zip(found[::2], found[1::2], strict=True)
        return {
            name: Total(int(count), float(total)) for name, (count, total) in zip(names, pairs, strict=True)
        }

    def values(self, query: RunQuery, names: Sequence[str]) -> list[tuple[object, ...]]:
        """Read some fields of a page of runs."""
        ids = self._pages(query).ids
        asked = [conditions.column(name) for name in names]
        known: dict[str, tuple[object, ...]] = {}
        for begin in range(0, len(ids), _BATCH_IDS):
            part = documents.encode(ids[begin : begin + _BATCH_IDS]).decode()
            known |= self._fields_of(part, names) if None in asked else self._columns_of(part, asked)
        return [known[run_id] for run_id in ids if run_id in known]

    def _columns_of(self, ids: str, asked: Sequence[str | None]) -> dict[str, tuple[object, ...]]:
        sql = f"""SELECT {", ".join(["listed.run_id", *map(str, asked)])} FROM listed
            WHERE run_id IN (SELECT value FROM json_each(?))"""  # noqa: S608  # columns only
        kind = list[tuple[str | int | float | None, ...]]
        return {str(row[0]): row[1:] for row in rows.select(self._connection, sql, (ids,), kind)}

    def _fields_of(self, ids: str, names: Sequence[str]) -> dict[str, tuple[object, ...]]:
        condition = conditions.Condition("listed.run_id IN (SELECT value FROM json_each(?))", (ids,))
        found = self._documents(condition, summaries=any(map(paging.is_summary_key, names)))
        return {row.run_id: tuple(row.known.get(name) for name in names) for row in found}

    def _rows(self, query: RunQuery, names: Collection[str]) -> Iterator[paging.Row]:
        """Read the runs that columns leave, newest first, as Python looks at them."""
        split = conditions.split(query.where, SQLITE)
        asked = {*names, *paging.names_in(query.where)}
        return self._documents(split.condition, summaries=any(map(paging.is_summary_key, asked)))

    def _documents(self, condition: conditions.Condition, *, summaries: bool) -> Iterator[paging.Row]:
        brief = "run.brief" if summaries else "NULL"
        sql = f"""SELECT listed.run_id, listed.started_at, listed.cause, run.fields, {brief}
            FROM listed JOIN run ON run.run_id = listed.run_id WHERE {condition.sql}
            ORDER BY listed.started_at DESC NULLS LAST, listed.run_id DESC"""  # noqa: S608  # columns only
        for row in rows.select(self._connection, sql, condition.bound, list[_FieldsRow]):
            yield _row(*row)

    def _briefs(self, ids: Sequence[str]) -> dict[str, Run]:
        found: dict[str, Run] = {}
        for begin in range(0, len(ids), _BATCH_IDS):
            part = documents.encode(ids[begin : begin + _BATCH_IDS]).decode()
            for run_id, brief in rows.select(self._connection, _BRIEFS, (part,), list[tuple[str, bytes]]):
                found[run_id] = documents.decode_brief(brief)
        return found


def _row(
    run_id: str, started_at: float | None, cause: str | None, fields: bytes, brief: bytes | None
) -> paging.Row:
    known = documents.decode_mapping(fields)
    if cause is not None:
        known["cause"] = cause
    if brief is not None:
        known = paging.of_tools(documents.decode_summary(brief)) | known
    return paging.row(run_id, started_at, known)
