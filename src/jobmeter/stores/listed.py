"""The narrow rows of a SQLite index: what lists are found by; see `lists`."""

from collections.abc import Sequence

import apsw

from jobmeter.stores import Batch, documents, lists, rows
from jobmeter.stores.conditions import Bound, Condition, Dialect

_PUT = f"""INSERT INTO listed ({", ".join(lists.COLUMNS)}) VALUES ({", ".join("?" * len(lists.COLUMNS))})
    ON CONFLICT (run_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in lists.COLUMNS[1:])}"""  # noqa: S608  # names of our own
_CAUSE_PUT = "UPDATE listed SET cause = ?2 WHERE run_id = ?1"
_TAGS_DROP = "DELETE FROM run_tag WHERE run_id = ?"
_TAGS_READ = "SELECT key, value FROM run_tag WHERE run_id = ? ORDER BY key"
_TAG_ADD = "INSERT INTO run_tag (key, value, run_id) VALUES (?, ?, ?)"
FORGET = (_TAGS_DROP, "DELETE FROM listed WHERE run_id = ?")


def put(connection: apsw.Connection, batch: Batch, fields: dict[str, object]) -> None:
    """Write the narrow row of a run, and its tags."""
    run_id = documents.clean(batch.run.run_id)
    connection.execute(_PUT, lists.row(run_id, batch.run.started_at, fields))
    tags = lists.tags(fields)
    if tags != rows.select(connection, _TAGS_READ, (run_id,), list[tuple[str, str]]):
        connection.execute(_TAGS_DROP, (run_id,))
        connection.executemany(_TAG_ADD, [(key, value, run_id) for key, value in tags])


def put_cause(connection: apsw.Connection, run_id: str, cause: str) -> None:
    """Note what analysis gives as the cause of a run's end."""
    connection.execute(_CAUSE_PUT, (run_id, documents.clean(cause) or None))


class SqliteAsker:
    """SQLite as `lists` asks it."""

    dialect = Dialect("?", "instr({text}, {part}) > 0")

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def ask(self, sql: str, bound: Sequence[Bound], kind: type[rows.Rows]) -> rows.Rows:
        return rows.select(self._connection, sql, bound, kind)

    def among(self, column: str, ids: Sequence[str]) -> Condition:
        sql = f"{column} IN (SELECT value FROM json_each(?))"  # noqa: S608  # a column
        return Condition(sql, (documents.encode(ids).decode(),))
