"""Rows out of SQLite with the types they must have: anything else is damage, found where it is read."""

from collections.abc import Sequence
from typing import TypeVar

import apsw
import msgspec

Rows = TypeVar("Rows")
Bound = None | int | float | bytes | str


def select(connection: apsw.Connection, sql: str, bindings: Sequence[Bound], kind: type[Rows]) -> Rows:
    """Read every row of a query as `kind`, a list of tuples; ValueError when a value is of another type."""
    return msgspec.convert(connection.execute(sql, bindings).fetchall(), kind)
