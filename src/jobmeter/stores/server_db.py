"""What only a server knows, in one small SQLite file in the home: tokens, silences, views, alert states.

It is not rebuilt from anything, so it does not lie with the index in a cache that may be deleted, and a copy
is kept before its schema changes. A home on a network file system has a rollback journal instead of a
write-ahead log, which does not work there.
"""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import apsw

from jobmeter.errors import StoreError
from jobmeter.stores import migrate

FILE = "server.db"
SCHEMA = Path(__file__).parent / "server_schema"
_BUSY_MS = 5000

_ADD = """INSERT INTO token (token_id, name, digest, scopes, created_at) SELECT ?, ?, ?, ?, ?
    WHERE NOT EXISTS (SELECT 1 FROM token WHERE name = ? AND revoked_at IS NULL)"""
_ALL = """SELECT token_id, name, digest, scopes, created_at, last_used_at, revoked_at
    FROM token ORDER BY created_at, token_id"""
_ONE = """SELECT token_id, name, digest, scopes, created_at, last_used_at, revoked_at
    FROM token WHERE token_id = ?"""
_REVOKE = "UPDATE token SET revoked_at = ? WHERE token_id = ? AND revoked_at IS NULL"
_USED = "UPDATE token SET last_used_at = ? WHERE token_id = ?"
_PUT = """INSERT INTO document (kind, name, body, changed_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (kind, name) DO UPDATE SET body = excluded.body, changed_at = excluded.changed_at"""
_DOCUMENTS = "SELECT name, body FROM document WHERE kind = ? ORDER BY name"
_DOCUMENT = "SELECT body FROM document WHERE kind = ? AND name = ?"
_DROP = "DELETE FROM document WHERE kind = ? AND name = ?"

_Row = tuple[str, str, bytes, str, float, float | None, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A token as it is kept: its digest, never itself."""

    token_id: str
    name: str
    digest: bytes
    scopes: tuple[str, ...]
    created_at: float
    last_used_at: float | None = None
    revoked_at: float | None = None


class ServerDb:
    """The open file; may be used from several threads, one statement at a time.

    Tokens are looked up through a connection of their own: every request asks, and must not wait for a disk.
    """

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._lock = threading.Lock()
        self._asked = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        self._asked.set_busy_timeout(_BUSY_MS)
        self._asking = threading.Lock()

    @classmethod
    def open(cls, home: Path, *, journal: str = "wal") -> Self:
        """Open the file in a home, made or brought up to date where needed."""
        path = home / FILE
        try:
            return cls(_connect(path, journal), path)
        except (apsw.Error, OSError) as error:
            raise StoreError(
                f"cannot use {path}: {error}", hint="look at it with: sqlite3 server.db"
            ) from error

    def close(self) -> None:
        """Give the file back."""
        with self._lock, self._asking:
            self._asked.close()
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add_token(self, row: TokenRow) -> bool:
        """Keep a new token; False where one of that name is in use."""
        values = (row.token_id, row.name, row.digest, ",".join(row.scopes), row.created_at)
        with self._guard():
            self._connection.execute(_ADD, (*values, row.name))
            return self._connection.changes() > 0

    def tokens(self) -> list[TokenRow]:
        """List all tokens, the oldest first, revoked ones too."""
        with self._guard():
            return [_token(row) for row in self._connection.execute(_ALL)]

    def token(self, token_id: str) -> TokenRow | None:
        """Read one token."""
        with self._guard(self._asking):
            return next((_token(row) for row in self._asked.execute(_ONE, (token_id,))), None)

    def revoke_token(self, token_id: str, now: float) -> None:
        """End a token for good."""
        with self._guard():
            self._connection.execute(_REVOKE, (now, token_id))

    def note_used(self, used: Mapping[str, float]) -> None:
        """Write down when tokens were last used."""
        with self._guard():
            self._connection.executemany(_USED, [(at, token_id) for token_id, at in used.items()])

    def put(self, kind: str, name: str, body: bytes) -> None:
        """Keep a JSON document of some kind (a silence, a view, an alert's state) under its name."""
        with self._guard():
            self._connection.execute(_PUT, (kind, name, body, time.time()))

    def documents(self, kind: str) -> dict[str, bytes]:
        """Read all documents of a kind, by name."""
        with self._guard():
            return dict(self._connection.execute(_DOCUMENTS, (kind,)))

    def document(self, kind: str, name: str) -> bytes | None:
        """Read one document."""
        with self._guard():
            return next((body for (body,) in self._connection.execute(_DOCUMENT, (kind, name))), None)

    def drop(self, kind: str, name: str) -> bool:
        """Delete a document; False where there was none."""
        with self._guard():
            self._connection.execute(_DROP, (kind, name))
            return self._connection.changes() > 0

    @contextmanager
    def _guard(self, lock: "threading.Lock | None" = None) -> Iterator[None]:
        with lock or self._lock:
            try:
                yield
            except apsw.Error as error:
                raise StoreError(f"cannot use {self._path}: {error}") from error


def _token(row: _Row) -> TokenRow:
    token_id, name, digest, scopes, created_at, last_used_at, revoked_at = row
    return TokenRow(
        token_id=token_id,
        name=name,
        digest=digest,
        scopes=tuple(word for word in scopes.split(",") if word),
        created_at=created_at,
        last_used_at=last_used_at,
        revoked_at=revoked_at,
    )


def _connect(path: Path, journal: str) -> apsw.Connection:
    # its journals get the rights of the file, which therefore exists first
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(_BUSY_MS)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.pragma("journal_mode", journal)
    connection.pragma("synchronous", "full")
    _upgrade(connection, path)
    return connection


def _upgrade(connection: apsw.Connection, path: Path) -> None:
    """Bring the schema up to date, a copy of the old file kept."""
    known, newest = migrate.version(connection), migrate.steps(SCHEMA)[-1][0]
    if known > newest:
        raise OSError(f"it was written by a newer jobmeter (schema {known}, this one knows {newest})")
    if 0 < known < newest:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        copy = path.with_name(f"{path.name}.bak-{stamp}")
        os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with apsw.Connection(str(copy)) as target, target.backup("main", connection, "main") as backup:
            backup.step()
    migrate.upgrade(connection, SCHEMA)
