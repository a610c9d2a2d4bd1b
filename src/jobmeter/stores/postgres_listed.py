"""The narrow rows of a PostgreSQL index: what lists are found by; see `lists`."""

from collections.abc import Sequence
from typing import cast

from jobmeter.stores import documents, lists, paging, rows
from jobmeter.stores.conditions import Bound, Condition, Dialect
from jobmeter.stores.postgres_link import Session
from jobmeter.stores.postgres_types import numeric

_MARKS = ", ".join(["%s"] * len(lists.COLUMNS))
PUT = f"""INSERT INTO listed ({", ".join(lists.COLUMNS)}) VALUES ({_MARKS})
    ON CONFLICT (run_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in lists.COLUMNS[1:])}"""  # noqa: S608  # names of our own
TAGS_READ = "SELECT key, value FROM run_tag WHERE run_id = %s ORDER BY key"
_TAGS_DROP = "DELETE FROM run_tag WHERE run_id = %s"
_TAGS_ADD = """INSERT INTO run_tag (run_id, key, value)
    SELECT %s, * FROM unnest(%s::text[], %s::text[])"""
_CAUSE_PUT = "UPDATE listed SET cause = %s WHERE run_id = %s"
FORGET = (_TAGS_DROP, "DELETE FROM listed WHERE run_id = %s")
_FIRST_NUMBER = len(lists.COLUMNS) - len(lists.NUMBER_COLUMNS)


def row(run_id: str, started_at: float | None, fields: dict[str, object]) -> tuple[object, ...]:
    """Make what `PUT` binds."""
    found = lists.row(run_id, started_at, fields)
    numbers = (numeric(value) if isinstance(value, int | float) else None for value in found[_FIRST_NUMBER:])
    return (*found[:_FIRST_NUMBER], *numbers)


def put_tags(session: Session, run_id: str, tags: Sequence[tuple[str, str]]) -> None:
    """Write a run's tags in place of those it had."""
    session.execute(_TAGS_DROP, (run_id,))
    session.execute(_TAGS_ADD, (run_id, [key for key, _ in tags], [value for _, value in tags]))


def put_cause(session: Session, run_id: str, cause: str) -> None:
    """Note what analysis gives as the cause of a run's end."""
    session.execute(_CAUSE_PUT, (paging.short(documents.clean(cause)) or None, run_id))


class PostgresAsker:
    """PostgreSQL as `lists` asks it."""

    dialect = Dialect("%s", "strpos({text}, {part}) > 0")

    def __init__(self, session: Session) -> None:
        self._session = session

    def ask(self, sql: str, bound: Sequence[Bound], kind: type[rows.Rows]) -> rows.Rows:
        del kind  # the columns have types of their own
        return cast("rows.Rows", self._session.execute(sql, bound).fetchall())

    def among(self, column: str, ids: Sequence[str]) -> Condition:
        sql = f"{column} IN (SELECT json_array_elements_text(%s::json))"  # a column
        return Condition(sql, (documents.encode(ids).decode(),))
