"""Connections to a PostgreSQL database: pooled, bounded in time, made again after the server was away.

What can mislead: a URL may hold a password. It is never part of a message, and what the client library says of a
URL that it cannot read is thrown away, because it repeats the URL.
"""

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import psycopg_pool
from psycopg import conninfo, errors, pq

from jobmeter.errors import StoreError, UsageError
from jobmeter.stores import BusyError, codec, documents, postgres_types

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]
SCHEMA = "jobmeter"
"""All tables are in a schema of their own, so that the database may serve others too."""
CONNECT_SECONDS = 5
STATEMENT_SECONDS = 30
LOCK_SECONDS = 10
"""How long a batch waits for another server that adds to the same run."""
_MOST_CONNECTIONS = 10
_SETTINGS = {
    "search_path": SCHEMA,
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "idle_in_transaction_session_timeout": "5min",
    "jit": "off",
    # a batch that a crash of the database takes back is found again by the next look at its folder
    "synchronous_commit": "off",
}
"""Of every session, unless the URL's own options say otherwise."""
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_UNFINISHED = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)
_AWAY = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
)


class Session:
    """One connection of which statements are asked; where it writes, none waits for the one before."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pipelines = ExitStack()

    def execute(self, sql: str, bound: Sequence[object] | Mapping[str, object] = ()) -> Cursor:
        """Send a statement; asking for its rows waits for them."""
        return self._connection.execute(sql, bound)

    def execute_numbered(self, sql: str, bound: Sequence[object]) -> psycopg.RawCursor[tuple[Any, ...]]:
        """Send a statement whose values are named $1, $2, ...: a long one is not taken apart every time."""
        return psycopg.RawCursor(self._connection).execute(sql, bound)

    def execute_many(self, sql: str, bound: Sequence[Sequence[object]]) -> None:
        """Send a statement for every row."""
        self._connection.cursor().executemany(sql, bound)

    def copy(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Send rows by COPY, which waits for all that was sent before."""
        self._pipelines.close()
        with self._connection.cursor().copy(sql) as copy:
            for row in rows:
                copy.write_row(row)
        self._pipelines.enter_context(self._connection.pipeline())

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write all that is sent meanwhile, or nothing."""
        try:
            with self._pipelines:
                self._pipelines.enter_context(self._connection.pipeline())
                self._connection.execute("BEGIN")
                yield
                self._connection.execute("COMMIT")
        finally:
            if self._connection.info.transaction_status in _UNFINISHED:
                self._connection.rollback()


class Link:
    """A database that is reached through a few connections, shared by all threads."""

    def __init__(self, url: str) -> None:
        self._conninfo = read_url(url)
        self.shown = shown(self._conninfo)
        self._held = threading.local()
        self._pool: psycopg_pool.ConnectionPool[Connection] = psycopg_pool.ConnectionPool(
            self._conninfo,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=_MOST_CONNECTIONS,
            timeout=CONNECT_SECONDS,
            max_idle=60.0,
            reconnect_timeout=CONNECT_SECONDS,
            num_workers=1,
            configure=_configure,
            # the server may have been restarted since a connection was last used
            check=psycopg_pool.ConnectionPool.check_connection,
            open=False,
        )

    def connect(self) -> Connection:
        """Open a connection beside the pool; whatever speaks against it is told at once."""
        try:
            connection: Connection = psycopg.connect(self._conninfo, autocommit=True)
        except psycopg.OperationalError as error:
            raise self._refused(str(error)) from None
        _configure(connection)
        return connection

    def open(self) -> None:
        """Begin to keep connections."""
        # what it says of every failed attempt is told once, by whoever needed the connection
        logger = logging.getLogger("psycopg")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
            logger.propagate = False
        self._pool.open()

    def close(self) -> None:
        """Give all connections back."""
        self._pool.close()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection: the one that this thread holds, or one of the pool."""
        held: Connection | None = getattr(self._held, "connection", None)
        if held is not None and not held.closed:
            yield held
            return
        with self._pool.connection() as lent:
            yield lent

    @contextmanager
    def hold(self) -> Iterator[Connection]:
        """Keep one connection for all that this thread does meanwhile."""
        with self.connection() as connection:
            before = getattr(self._held, "connection", None)
            self._held.connection = connection
            try:
                yield connection
            finally:
                self._held.connection = before

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a connection for one statement."""
        with self.guard(), self.connection() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        """Lend a session that sees one moment over several statements."""
        with self.guard(), self.connection() as connection:
            connection.execute(_SNAPSHOT)
            try:
                yield Session(connection)
            finally:
                if not connection.closed:
                    connection.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Lend a session inside a transaction: all that is written, or nothing."""
        with self.guard(), self.connection() as connection:
            session = Session(connection)
            with session.writing():
                yield session

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Say in the store's own words what PostgreSQL, or a document in it, complains of."""
        try:
            yield
        except errors.LockNotAvailable:
            raise BusyError(f"{self.shown} is locked by another process") from None
        except errors.QueryCanceled:
            raise StoreError(f"{self.shown} took too long for an answer and was stopped") from None
        except psycopg_pool.PoolTimeout:
            raise self._unreachable() from None
        except psycopg_pool.PoolClosed:
            raise StoreError(f"{self.shown} was closed") from None
        except _AWAY:
            raise self._lost() from None
        except psycopg.OperationalError as error:
            raise (self._lost() if error.sqlstate is None else self._failed(error)) from None
        except psycopg.Error as error:
            raise self._failed(error) from error
        except (codec.DamagedBlobError, documents.DamagedDocumentError) as error:
            raise StoreError(
                f"{self.shown} is damaged: {error}", hint="drop its tables: they are rebuilt"
            ) from error

    def _unreachable(self) -> StoreError:
        """Ask once more, for the reason."""
        try:
            self.connect().close()
        except StoreError as error:
            return error
        return StoreError(
            f"all {_MOST_CONNECTIONS} connections to {self.shown} are in use", hint="ask again in a moment"
        )

    def _lost(self) -> StoreError:
        return StoreError(f"the connection to {self.shown} was lost", hint="ask again when it is back")

    def _failed(self, error: psycopg.Error) -> StoreError:
        if isinstance(error, errors.InsufficientPrivilege):
            return StoreError(
                f"not allowed in {self.shown}: {_sentence(error)}",
                hint=f"let this user own the schema {SCHEMA}, or create it: GRANT CREATE ON DATABASE ... TO ...",
            )
        return StoreError(f"{self.shown} cannot be used: {_sentence(error)}")

    def _refused(self, message: str) -> StoreError:
        # a line that is set in is the library's advice
        lines = [line for line in message.splitlines() if line.strip() and not line.startswith("\t")]
        last = (
            lines[-1].rpartition("FATAL:")[2].rpartition("failed: ")[2].strip()
            if lines
            else "no reason given"
        )
        reason = last[:1].lower() + last[1:]
        known = next((kind for kind in _REFUSALS if kind in message), None)
        if known is None:
            return StoreError(f"cannot connect to {self.shown}: {reason}", hint=_REACHABLE)
        sentence, hint = _REFUSALS[known]
        return StoreError(sentence.format(self.shown), hint=hint)


_REACHABLE = "is it running, and reachable from here?"
_REFUSALS = {
    "password authentication failed": (
        "wrong user or password for {}",
        "mend JOBMETER_DATABASE, or ~/.pgpass, which keeps the password out of sight",
    ),
    "no password supplied": (
        "{} asks for a password",
        "put it into ~/.pgpass, or into the URL in JOBMETER_DATABASE",
    ),
    "timeout expired": (
        f"{{}} did not answer within {CONNECT_SECONDS} s",
        _REACHABLE,
    ),
    "too many clients": ("{} has no connection left", "raise max_connections, or ask again in a moment"),
}
"""By the words of the client or the server: what is wrong, and what mends it."""


def read_url(url: str) -> str:
    """Turn a URL into what the client library wants, with a limit to how long connecting may take."""
    try:
        given = conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        given = None
    if given is None:
        # not even as a cause: the library's words repeat the URL, password and all
        raise UsageError(
            "the URL of the database cannot be read",
            hint="write it as postgresql://user@host:5432/name, with % codes for odd letters",
        )
    given.setdefault("connect_timeout", CONNECT_SECONDS)
    given.setdefault("application_name", "jobmeter")
    # a server that vanished without a word is noticed within half a minute
    given.setdefault("keepalives_idle", 15)
    given.setdefault("keepalives_interval", 5)
    given.setdefault("keepalives_count", 3)
    given["client_encoding"] = "UTF8"
    settings = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
    given["options"] = f"{settings} {given.get('options') or ''}".rstrip()
    return conninfo.make_conninfo("", **given)


def shown(info: str) -> str:
    """Name a database without the user's name and password."""
    given = conninfo.conninfo_to_dict(info)
    name = given.get("dbname") or given.get("user") or "default"
    host = str(given.get("host") or "")
    port = f":{given['port']}" if given.get("port") and host and not host.startswith("/") else ""
    return (
        f"the database {name}" if not host or host.startswith("/") else f"the database {name} at {host}{port}"
    )


def numbered(sql: str) -> str:
    """Name the values of a statement by their numbers."""
    first, *parts = sql.split("%s")
    return first + "".join(f"${number}{part}" for number, part in enumerate(parts, 1))


def _configure(connection: Connection) -> None:
    postgres_types.register(connection.adapters)


def _sentence(error: psycopg.Error) -> str:
    """Take the first line of what the server says: the others quote statements."""
    return (error.diag.message_primary or str(error)).splitlines()[0]
