"""Questions about many runs asked of a database: narrow rows (`listed`), so that no document is read to find runs.

What a column does not tell is filtered or sorted in Python, of the runs that the columns leave.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from jobmeter.model.query import TAG, TAGS, Facet, Place, RunPage, RunQuery, Total
from jobmeter.model.run import Run
from jobmeter.stores import conditions, documents, paging, rows
from jobmeter.stores.conditions import Bound, Condition, Dialect

TEXT_COLUMNS = [conditions.named(name) for name in paging.TEXTS if name != "cause"]
NUMBER_COLUMNS = [conditions.named(name) for name in paging.NUMBERS]
COLUMNS = [
    "run_id",
    "id_folded",
    "started_at",
    *(f'"{name}"' for name in TEXT_COLUMNS),
    *(f'"{name}_folded"' for name in TEXT_COLUMNS),
    *(f'"{name}"' for name in NUMBER_COLUMNS),
]
"""What `row` fills; the cause of a run's end comes from elsewhere."""
_BATCH_IDS = 500

_Number = int | float | None
_FieldsRow = tuple[str, float | None, str | None, bytes, bytes | None]


class Asker(Protocol):
    """An open database."""

    @property
    def dialect(self) -> Dialect:
        """How it writes what differs."""

    def ask(self, sql: str, bound: Sequence[Bound], kind: type[rows.Rows]) -> rows.Rows:
        """Read every row of a query as `kind`, a list of tuples."""

    def among(self, column: str, ids: Sequence[str]) -> Condition:
        """Say that a column holds one of these."""


def row(
    run_id: str, started_at: float | None, fields: dict[str, object]
) -> tuple[str | int | float | None, ...]:
    """Make the narrow row of a run."""
    texts = [_text(fields.get(name)) for name in paging.TEXTS if name != "cause"]
    numbers = [_number(fields.get(name)) for name in paging.NUMBERS]
    return (run_id, run_id.lower(), started_at, *texts, *map(_folded, texts), *numbers)


def tags(fields: dict[str, object]) -> list[tuple[str, str]]:
    """Give the tags of a run, ordered by their keys."""
    return sorted((name[len(TAG) :], str(value)) for name, value in fields.items() if name.startswith(TAG))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _folded(text: str | None) -> str | None:
    return None if text is None or text.lower() == text else text.lower()


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) else None


class Lists:
    """Answers questions about many runs."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def page(self, query: RunQuery) -> RunPage:
        """List a page of runs."""
        found = self._pages(query)
        briefs = self._briefs(found.ids)
        runs = [briefs[run_id] for run_id in found.ids if run_id in briefs]
        return RunPage(runs=runs, next=found.next, total=found.total)

    def _pages(self, query: RunQuery) -> paging.Pages:
        split = conditions.split(query.where, self._asker.dialect)
        order = conditions.order(query)
        if split.rest is not None or order is None:
            return paging.page(self._rows(query, {query.sort.name, query.sort.also or ""}), query)
        column = conditions.column(query.sort.name)
        kind = list[tuple[str, float | None, str | _Number]]
        found = self._select(
            f"listed.run_id, listed.started_at, {column}", query, split.condition, order, kind
        )
        places = [Place(value=value, started_at=at, run_id=run_id) for run_id, at, value in found]
        is_all = query.after is None and (query.limit is None or len(places) <= query.limit)
        total = len(places) if is_all else self._count(split.condition)
        shown = [one.run_id for one in places[: query.limit]]
        return paging.Pages(shown, paging.end_of(places, query.limit), total)

    def _select(
        self, asked: str, query: RunQuery, condition: Condition, order: str, kind: type[rows.Rows]
    ) -> rows.Rows:
        """Read columns of a page, and of one run more, which tells whether there is a next page."""
        mark = self._asker.dialect.mark
        behind = conditions.behind(query, self._asker.dialect)
        limit, more = ("", ()) if query.limit is None else (f"LIMIT {mark}", (query.limit + 1,))
        sql = f"""SELECT {asked} FROM listed
            WHERE ({condition.sql}) AND ({behind.sql}) ORDER BY {order} {limit}"""  # noqa: S608  # columns only
        return self._asker.ask(sql, (*condition.bound, *behind.bound, *more), kind)

    def count(self, query: RunQuery) -> int:
        """Count the runs that match."""
        split = conditions.split(query.where, self._asker.dialect)
        if split.rest is not None:
            return sum(1 for _ in paging.matching(self._rows(query, ()), query))
        return self._count(split.condition)

    def _count(self, condition: Condition) -> int:
        sql = f"SELECT count(*) FROM listed WHERE {condition.sql}"  # noqa: S608  # columns only
        ((count,),) = self._asker.ask(sql, condition.bound, list[tuple[int]])
        return count

    def facets(
        self, query: RunQuery, names: Collection[str], *, least: int, most: int | None
    ) -> dict[str, list[Facet]]:
        """Count runs by the values of fields."""
        split = conditions.split(query.where, self._asker.dialect)
        by_sql = {name for name in names if _is_tag(name) or name in paging.TEXTS}
        others = names if split.rest is not None else [name for name in names if name not in by_sql]
        found: dict[str, list[Facet]] = {}
        if others:
            matching = paging.matching(self._rows(query, others), query)
            found = paging.facets(matching, others, least=least, most=most)
        counted = self._counted(
            [name for name in dict.fromkeys(names) if name not in found], split.condition, least
        )
        found |= {name: paging.ranked(values, least=least, most=most) for name, values in counted.items()}
        return {name: found[name] for name in names}

    def _counted(
        self, names: Sequence[str], condition: Condition, least: int
    ) -> dict[str, list[tuple[str, int]]]:
        """Count by columns: all runs by the index of each, some by what a first look at all of them leaves."""
        found: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
        mark = self._asker.dialect.mark
        if condition.is_any or not names:
            for name in names:
                sql = _counting(name, "listed", least, mark)
                found[name] = self._asker.ask(sql, _key(name), list[tuple[str, int]])
            return found
        columns = [f'listed."{conditions.named(name)}"' for name in names if not _is_tag(name)]
        first = f"""WITH found AS MATERIALIZED (SELECT {", ".join(["listed.run_id", *columns])}
            FROM listed WHERE {condition.sql})"""  # noqa: S608  # columns only
        parts = [
            f"SELECT {place}, f{place}.* FROM ({_counting(name, 'found', least, mark)}) AS f{place}"  # noqa: S608  # columns only
            for place, name in enumerate(names)
        ]
        sql = f"{first} {' UNION ALL '.join(parts)}"
        bound = (*condition.bound, *(key for name in names for key in _key(name)))
        for place, value, count in self._asker.ask(sql, bound, list[tuple[int, str, int]]):
            found[names[place]].append((value, count))
        return found

    def totals(self, query: RunQuery, names: Collection[str]) -> dict[str, Total]:
        """Add numbers up."""
        split = conditions.split(query.where, self._asker.dialect)
        if split.rest is not None or not all(name in paging.NUMBERS for name in names):
            return paging.totals(paging.matching(self._rows(query, names), query), names)
        if not names:
            return {}
        asked = ", ".join(
            f"count({column}), coalesce(sum({column} + 0.0), 0)" for column in map(conditions.column, names)
        )
        sql = f"SELECT {asked} FROM listed WHERE {split.condition.sql}"  # noqa: S608  # columns only
        (found,) = self._asker.ask(sql, split.condition.bound, list[tuple[int | float, ...]])
        pairs = zip(found[::2], found[1::2], strict=True)
        return {
            name: Total(int(count), float(total)) for name, (count, total) in zip(names, pairs, strict=True)
        }

    def values(self, query: RunQuery, names: Sequence[str]) -> list[tuple[object, ...]]:
        """Read some fields of a page of runs."""
        split = conditions.split(query.where, self._asker.dialect)
        order, asked = conditions.order(query), [conditions.column(name) for name in names]
        if split.rest is None and order is not None and None not in asked and asked:
            kind = list[tuple[str | int | float | None, ...]]
            found = self._select(", ".join(map(str, asked)), query, split.condition, order, kind)
            return list(found[: query.limit])
        ids = self._pages(query).ids
        known: dict[str, tuple[object, ...]] = {}
        for begin in range(0, len(ids), _BATCH_IDS):
            known |= self._fields_of(
                self._asker.among("listed.run_id", ids[begin : begin + _BATCH_IDS]), names
            )
        return [known[run_id] for run_id in ids if run_id in known]

    def _fields_of(self, part: Condition, names: Sequence[str]) -> dict[str, tuple[object, ...]]:
        found = self._documents(part, summaries=any(map(paging.is_summary_key, names)))
        return {row.run_id: tuple(row.known.get(name) for name in names) for row in found}

    def _rows(self, query: RunQuery, names: Collection[str]) -> Iterator[paging.Row]:
        """Read the runs that columns leave, newest first, as Python looks at them."""
        split = conditions.split(query.where, self._asker.dialect)
        asked = {*names, *paging.names_in(query.where)}
        return self._documents(split.condition, summaries=any(map(paging.is_summary_key, asked)))

    def _documents(self, condition: Condition, *, summaries: bool) -> Iterator[paging.Row]:
        brief = "run.brief" if summaries else "NULL"
        sql = f"""SELECT listed.run_id, listed.started_at, listed.cause, run.fields, {brief}
            FROM listed JOIN run ON run.run_id = listed.run_id WHERE {condition.sql}
            ORDER BY listed.started_at DESC NULLS LAST, listed.run_id DESC"""  # noqa: S608  # columns only
        for row in self._asker.ask(sql, condition.bound, list[_FieldsRow]):
            yield _row(*row)

    def _briefs(self, ids: Sequence[str]) -> dict[str, Run]:
        found: dict[str, Run] = {}
        for begin in range(0, len(ids), _BATCH_IDS):
            part = self._asker.among("run.run_id", ids[begin : begin + _BATCH_IDS])
            sql = f"SELECT run_id, brief FROM run WHERE {part.sql}"  # noqa: S608  # columns only
            for run_id, brief in self._asker.ask(sql, part.bound, list[tuple[str, bytes]]):
                found[run_id] = documents.decode_brief(brief)
        return found


def _is_tag(name: str) -> bool:
    """Tell tags, all of them or those of one key, from columns."""
    return name == TAGS or name.startswith(TAG)


def _key(name: str) -> tuple[str, ...]:
    """Give what counting by one key of tags binds."""
    return (name[len(TAG) :],) if name.startswith(TAG) else ()


def _counting(name: str, table: str, least: int, mark: str) -> str:
    """Count the runs of a table by one of its columns, or by their tags; the key of a tag is to be bound."""
    if not _is_tag(name):
        column = f'{table}."{conditions.named(name)}"'
        return f"""SELECT {column} AS value, count(*) AS runs FROM {table}
            WHERE {column} IS NOT NULL GROUP BY {column} HAVING count(*) >= {least}"""  # noqa: S608  # columns only
    chosen = "" if table == "listed" else f" JOIN {table} ON {table}.run_id = run_tag.run_id"
    if name != TAGS:
        return f"""SELECT run_tag.value AS value, count(*) AS runs FROM run_tag{chosen}
            WHERE run_tag.key = {mark} GROUP BY run_tag.value HAVING count(*) >= {least}"""  # noqa: S608  # tables only
    return f"""SELECT run_tag.key || '=' || run_tag.value AS value, count(*) AS runs FROM run_tag{chosen}
        GROUP BY run_tag.key, run_tag.value HAVING count(*) >= {least}"""  # noqa: S608  # tables only


def _row(
    run_id: str, started_at: float | None, cause: str | None, fields: bytes, brief: bytes | None
) -> paging.Row:
    known = documents.decode_mapping(fields)
    if cause is not None:
        known["cause"] = cause
    if brief is not None:
        known = paging.of_tools(documents.decode_summary(brief)) | known
    return paging.row(run_id, started_at, known)
