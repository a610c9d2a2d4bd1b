"""Filters as SQL over the columns of `listed`; what columns do not tell is left to Python.

A field that a run does not have makes a condition null, which finds nothing, and which `not` takes for false. Texts are
compared in lower case as Python makes it: databases disagree about letters, so that form is stored where it differs.
"""

from collections.abc import Iterable
from typing import NamedTuple

from jobmeter.model.query import SEARCHED, TAG, All, Compare, Either, Filter, Not, Op, RunQuery, Word
from jobmeter.stores import paging

Bound = str | float
ID, STARTED = "id", "started"
_TRUE, _FALSE = "1 = 1", "1 = 0"


class Dialect(NamedTuple):
    """How a database writes what differs."""

    mark: str
    """Where a value is bound."""
    contains: str
    """Whether `{text}` holds `{part}`."""


class Condition(NamedTuple):
    """Part of a WHERE clause and what is bound in it."""

    sql: str
    bound: tuple[Bound, ...] = ()

    @property
    def is_any(self) -> bool:
        """Tell whether it leaves nothing out."""
        return self.sql == _TRUE


class Split(NamedTuple):
    """A filter in two parts, both of which must hold."""

    condition: Condition
    rest: Filter | None
    """What SQL does not answer."""


def column(field: str) -> str | None:
    """Name the column of a field; None where it has none."""
    own = {ID: "listed.run_id", STARTED: "listed.started_at"}.get(field)
    if own is not None:
        return own
    return f'listed."{named(field)}"' if field in paging.TEXTS or field in paging.NUMBERS else None


def folded(field: str) -> str:
    """Write a field of text in lower case."""
    return "listed.id_folded" if field == ID else f'coalesce(listed."{named(field)}_folded", {column(field)})'


def named(field: str) -> str:
    """Make a name of columns of a field's."""
    return field.replace(".", "_")


def is_text(field: str) -> bool:
    """Tell columns of text from those of numbers."""
    return field == ID or field in paging.TEXTS


def split(where: Filter | None, dialect: Dialect) -> Split:
    """Say in SQL as much of a filter as can be."""
    cleaned = paging.cleaned(where)
    if cleaned is None:
        return Split(Condition(_TRUE), None)
    parts = cleaned.parts if isinstance(cleaned, All) else (cleaned,)
    made = [(part, _condition(part, dialect)) for part in parts]
    rest = tuple(part for part, condition in made if condition is None)
    known = [condition for _, condition in made if condition is not None]
    return Split(_joined(known, " AND ", _TRUE), All(rest) if rest else None)


def _joined(parts: Iterable[Condition], word: str, empty: str) -> Condition:
    known = list(parts)
    if not known:
        return Condition(empty)
    sql = word.join(f"({part.sql})" for part in known)
    return Condition(sql, tuple(value for part in known for value in part.bound))


def _condition(where: Filter, dialect: Dialect) -> Condition | None:
    match where:
        case Compare():
            return _compare(where, dialect)
        case Word():
            found = [_has(field, where.text, dialect) for field in SEARCHED]
            return _joined(found, " OR ", _FALSE)
        case Not():
            inner = _condition(where.part, dialect)
            return None if inner is None else Condition(f"({inner.sql}) IS NOT TRUE", inner.bound)
        case All():
            return _parts(where.parts, " AND ", _TRUE, dialect)
        case Either():
            return _among(where.parts, dialect) or _parts(where.parts, " OR ", _FALSE, dialect)


def _parts(parts: tuple[Filter, ...], word: str, empty: str, dialect: Dialect) -> Condition | None:
    made = [_condition(part, dialect) for part in parts]
    known = [part for part in made if part is not None]
    return _joined(known, word, empty) if len(known) == len(made) else None


def _among(parts: tuple[Filter, ...], dialect: Dialect) -> Condition | None:
    """Say that one text is any of several; None for any other choice."""
    known = [part for part in parts if isinstance(part, Compare) and part.op is Op.EQ]
    names = {part.field.name for part in known}
    if len(known) < len(parts) or len(names) != 1 or not is_text(known[0].field.name):
        return None
    marks = ", ".join([dialect.mark] * len(known))
    return Condition(f"{column(names.pop())} IN ({marks})", tuple(part.text for part in known))


def _compare(where: Compare, dialect: Dialect) -> Condition | None:
    name = where.field.name
    if name.startswith(TAG):
        return _tag(where, dialect)
    if is_text(name):
        return _text(where, dialect)
    return _number(where, dialect) if column(name) is not None else None


def _tag(where: Compare, dialect: Dialect) -> Condition | None:
    word = {Op.EQ: "=", Op.NE: "<>"}.get(where.op)
    if word is None:
        return None
    mark = dialect.mark
    sql = f"listed.run_id IN (SELECT run_id FROM run_tag WHERE key = {mark} AND value {word} {mark})"  # noqa: S608  # marks only
    return Condition(sql, (where.field.name.removeprefix(TAG), where.text))


def _text(where: Compare, dialect: Dialect) -> Condition | None:
    name, mark = where.field.name, dialect.mark
    match where.op:
        case Op.EQ:
            return Condition(f"{column(name)} = {mark}", (where.text,))
        case Op.NE:
            return Condition(f"{column(name)} <> {mark}", (where.text,))
        case Op.HAS:
            return _has(name, where.text, dialect)
        case Op.HAS_NOT:
            has = _has(name, where.text, dialect)
            return Condition(f"NOT ({has.sql})" if where.text else _FALSE, has.bound)
        case Op.LT | Op.LE | Op.GT | Op.GE:
            return None


def _has(name: str, text: str, dialect: Dialect) -> Condition:
    if not text:
        return Condition(f"{column(name)} IS NOT NULL")
    contains = dialect.contains.format(text=folded(name), part=dialect.mark)
    return Condition(contains, (text.lower(),))


def _number(where: Compare, dialect: Dialect) -> Condition | None:
    known, mark, span = column(where.field.name), dialect.mark, where.span
    if where.op in (Op.HAS, Op.HAS_NOT) or where.percent_of is not None:
        return None
    if span is None:
        return Condition(f"{known} IS NOT NULL" if where.op is Op.NE else _FALSE)
    bounds: dict[Op, tuple[str, tuple[Bound, ...]]] = {
        Op.EQ: (f"{known} BETWEEN {mark} AND {mark}", (span.first, span.last)),
        Op.NE: (f"{known} NOT BETWEEN {mark} AND {mark}", (span.first, span.last)),
        Op.LT: (f"{known} < {mark}", (span.first,)),
        Op.LE: (f"{known} <= {mark}", (span.last,)),
        Op.GT: (f"{known} > {mark}", (span.last,)),
        Op.GE: (f"{known} >= {mark}", (span.first,)),
    }
    sql, bound = bounds[where.op]
    return Condition(sql, bound)


def order(query: RunQuery) -> str | None:
    """Write the order of a query; None where its field is no column."""
    name = query.sort.name
    if column(name) is None:
        return None
    key = folded(name) if is_text(name) else column(name)
    downwards = query.reverse if is_text(name) else not query.reverse
    word = "DESC" if downwards else "ASC"
    if name == STARTED:
        return f"{key} {word} NULLS LAST, listed.run_id DESC"
    return f"{key} {word} NULLS LAST, listed.started_at DESC NULLS LAST, listed.run_id DESC"


def behind(query: RunQuery, dialect: Dialect) -> Condition:
    """Say in SQL what comes behind the place where a page ended."""
    after, name, mark = query.after, query.sort.name, dialect.mark
    if after is None:
        return Condition(_TRUE)
    older = _older(after.started_at, after.run_id, mark)
    text = is_text(name)
    key = folded(name) if text else column(name)
    value = after.value.lower() if isinstance(after.value, str) else after.value
    if value is None or isinstance(value, str) != text:
        # a place of another kind: of a number among texts all texts come later, of a text among numbers none
        later = _TRUE if value is not None and text else f"{key} IS NULL"
        return Condition(f"{later} AND ({older.sql})", older.bound) if value is None else Condition(later)
    sign = ">" if text != query.reverse else "<"
    sql = f"{key} {sign} {mark} OR ({key} = {mark} AND ({older.sql})) OR {key} IS NULL"
    return Condition(sql, (value, value, *older.bound))


def _older(started_at: float | None, run_id: str, mark: str) -> Condition:
    if started_at is None:
        return Condition(f"listed.started_at IS NULL AND listed.run_id < {mark}", (run_id,))
    sql = (
        f"listed.started_at IS NULL OR listed.started_at < {mark}"
        f" OR (listed.started_at = {mark} AND listed.run_id < {mark})"
    )
    return Condition(sql, (started_at, started_at, run_id))
