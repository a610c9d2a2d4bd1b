"""Who may do what: the local token of a home, and tokens made for agents and people.

A token is 256 random bits, so a plain digest of it can be kept: there is nothing to guess. What is stored
is never enough to log in. The local token is no row: it lies in the home, 0600, and may do everything.
"""

import hashlib
import hmac
import os
import secrets
import threading
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from jobmeter.errors import UsageError, reason_of
from jobmeter.service import cache
from jobmeter.stores.server_db import ServerDb, TokenRow

TOKEN_FILE = "token"  # noqa: S105  # a file name
VARIABLE = "JOBMETER_TOKEN"
_PREFIX = "jm"
_SHORTEST = 16
_FLUSH_SECONDS = 60.0


class Scope(Enum):
    """What a token is for; `admin` includes the others."""

    ADMIN = "admin"
    INGEST = "ingest"
    READ = "read"


ALL_SCOPES = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks."""

    name: str
    scopes: frozenset[Scope]

    def may(self, scope: Scope) -> bool:
        """Say whether a scope is among theirs."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


LOCAL = Principal("local", ALL_SCOPES)
NOBODY = Principal("nobody", frozenset())
"""Without a token: may see what is open to all."""


class Access:
    """Tells who sends a token."""

    def __init__(self, server_db: ServerDb, local: str) -> None:
        self._server_db = server_db
        self._local = _digest(local)
        self._used: dict[str, float] = {}
        self._flushed_at = time.monotonic()
        self._lock = threading.Lock()

    def principal(self, token: str) -> Principal | None:
        """Name the owner of a token; None where it is unknown or revoked."""
        if hmac.compare_digest(_digest(token), self._local):
            return LOCAL
        token_id = _id_of(token)
        row = None if token_id is None else self._server_db.token(token_id)
        # a digest is compared in any case, so that time does not tell which ids exist
        stored = b"" if row is None or row.revoked_at is not None else row.digest
        if not hmac.compare_digest(_digest(token), stored) or row is None:
            return None
        with self._lock:
            self._used[row.token_id] = time.time()
        return Principal(row.name, frozenset(Scope(word) for word in row.scopes))

    def flush(self, *, now: bool = False) -> None:
        """Write down when tokens were last used, once a minute unless it must be now."""
        if not now and time.monotonic() - self._flushed_at < _FLUSH_SECONDS:
            return
        self._flushed_at = time.monotonic()
        with self._lock:
            used, self._used = self._used, {}
        if used:
            self._server_db.note_used(used)


def open_db(home: str) -> ServerDb:
    """Open what only servers know; a write-ahead log does not work on network file systems."""
    os.makedirs(home, mode=0o700, exist_ok=True)
    network = cache.file_system(Path(home)) in cache.NETWORK
    return ServerDb.open(Path(home), journal="delete" if network else "wal")


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token as it is told once."""

    token_id: str
    token: str


def tokens(home: str) -> list[TokenRow]:
    """List the tokens of a home, revoked ones too."""
    with open_db(home) as server_db:
        return server_db.tokens()


def create(home: str, name: str, scopes: frozenset[Scope], *, now: float) -> NewToken:
    """Make a token; it can be shown only now."""
    if not name or len(name) > 200 or not name.isprintable():
        raise UsageError("a token needs a name of 1 to 200 printable characters")
    if not scopes:
        raise UsageError("a token needs a scope", hint="give --scope ingest, read or admin")
    token_id = secrets.token_hex(4)
    token = f"{_PREFIX}_{token_id}_{secrets.token_urlsafe(32)}"
    words = tuple(sorted(scope.value for scope in scopes))
    row = TokenRow(token_id=token_id, name=name, digest=_digest(token), scopes=words, created_at=now)
    with open_db(home) as server_db:
        if not server_db.add_token(row):
            raise UsageError(
                f"there is a token named {name}", hint="revoke it first: jobmeter token revoke NAME"
            )
    return NewToken(token_id, token)


def revoke(home: str, which: str, *, now: float) -> TokenRow:
    """End a token, by id or name; servers that run refuse it from the next request on."""
    with open_db(home) as server_db:
        for row in server_db.tokens():
            if which in (row.token_id, row.name) and row.revoked_at is None:
                server_db.revoke_token(row.token_id, now)
                return row
    raise UsageError(f"there is no token {which} in use", hint="see: jobmeter token list")


def local_token(home: str, given: str | None) -> str:
    """Read the token of a home, made where there is none; `JOBMETER_TOKEN` takes its place."""
    if given is not None:
        return _checked(given)
    path = Path(home, TOKEN_FILE)
    known = read_local(home)
    if known is not None:
        return known
    token = secrets.token_urlsafe(32)
    draft = path.with_name(f".{TOKEN_FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # never over a token that another server made meanwhile
    except FileExistsError:
        token = read_local(home) or token
    finally:
        os.unlink(draft)
    return token


def read_local(home: str) -> str | None:
    """Read the token of a home; None where no server made one. One that others can read is refused."""
    path = Path(home, TOKEN_FILE)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from None
    with os.fdopen(fd) as file:
        status = os.fstat(file.fileno())
        text = file.read(1000).strip()
    if status.st_mode & 0o077 or status.st_uid not in (os.getuid(), 0):
        raise UsageError(f"{path} can be read by others", hint=f"delete it, and a new one is made: rm {path}")
    return _checked(text)


def _checked(token: str) -> str:
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"the token must be at least {_SHORTEST} printable characters without spaces",
            hint="make one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    return token


def _id_of(token: str) -> str | None:
    parts = token.split("_", 2)
    return parts[1] if len(parts) == 3 and parts[0] == _PREFIX and parts[1].isalnum() else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
