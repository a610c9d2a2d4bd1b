"""A foreign SQLite file, read without leaving a trace: no lock, no `-shm`, no checkpoint.

A file with a write-ahead log or a rollback journal beside it is in use, or was when its writer died. Its newest
rows are in there, so both are copied and read as a copy; a file alone is read in place as immutable.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from jobmeter.errors import UsageError

MAGIC = b"SQLite format 3\0"
_SIDECARS = ("-wal", "-journal")
_ATTEMPTS = 3

Row = tuple[int | float | str | bytes | None, ...]


class Database:
    """An open copy, or the file itself if nobody writes to it."""

    def __init__(self, path: Path, connection: object) -> None:
        self._path = path
        self._connection = connection

    def rows(self, statement: str, *values: str | int) -> list[Row]:
        """Run a query; a damaged file says so in one sentence."""
        import apsw

        try:
            return list(self._connection.execute(statement, values))  # type: ignore[attr-defined]  # apsw has no stubs here
        except apsw.Error as error:
            raise _damaged(self._path, error) from None

    def columns(self, table: str) -> frozenset[str]:
        """Name the columns of a table; empty where there is none."""
        return frozenset(str(row[0]) for row in self.rows("SELECT name FROM pragma_table_info(?)", table))


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """Open a file for reading."""
    with _quiet(path) as place:
        connection = _connect(path, place)
        try:
            yield Database(path, connection)
        finally:
            connection.close()  # type: ignore[attr-defined]  # apsw has no stubs here


def _connect(path: Path, place: Path) -> object:
    import apsw

    flags = apsw.SQLITE_OPEN_READONLY if place == path else apsw.SQLITE_OPEN_READWRITE
    options = "?immutable=1" if place == path else ""
    try:
        connection = apsw.Connection(
            f"file:{quote(str(place.absolute()))}{options}", flags=flags | apsw.SQLITE_OPEN_URI
        )
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.execute("PRAGMA query_only = 1")
    except apsw.Error as error:
        raise _damaged(path, error) from None
    return connection


def _damaged(path: Path, error: Exception) -> UsageError:
    reason = str(error).removeprefix("SQLITE_").split("\n")[0].lower()
    return UsageError(f"{path.name} cannot be read: {reason}", hint="restore it from a copy")


@contextmanager
def _quiet(path: Path) -> Iterator[Path]:
    """Give a place where the file stands still: itself, or a copy with what lies beside it."""
    if not _in_use(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="jobmeter-") as folder:
        copy = Path(folder, "copy.db")
        for _ in range(_ATTEMPTS):
            before = _versions(path)
            _copy(path, copy)
            if _versions(path) == before:
                break  # else a checkpoint moved pages meanwhile
        yield copy


def _in_use(path: Path) -> bool:
    return any(beside.stat().st_size for beside in _beside(path))


def _beside(path: Path) -> list[Path]:
    named = (path.with_name(path.name + ending) for ending in _SIDECARS)
    return [beside for beside in named if beside.is_file()]


def _versions(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _copy(path: Path, copy: Path) -> None:
    for ending in ("", *_SIDECARS):
        given, kept = path.with_name(path.name + ending), copy.with_name(copy.name + ending)
        kept.unlink(missing_ok=True)
        try:
            shutil.copyfile(given, kept)
        except FileNotFoundError:
            continue  # no such file beside it, or gone with the last writer
