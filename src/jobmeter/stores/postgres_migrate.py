"""Bring the tables in a PostgreSQL database up to the newest schema: one transaction, one server at a time."""

from pathlib import Path

from jobmeter.stores import ReadOnlyError, migrate
from jobmeter.stores.postgres_link import SCHEMA, Connection

FOLDER = Path(__file__).parent / "postgres_schema"
_LOCK = 0x6A6F626D
"""An advisory lock: whoever migrates holds it."""
# asked of the tables of the catalogue: the functions that look up a name may answer from before a lock was waited for
_KNOWN = f"SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = '{SCHEMA}' AND tablename = 'version')"  # noqa: S608  # a constant
# by its full name: who may not look into the schema is told so, and not that there is no such table
_VERSION = f"SELECT coalesce(max(number), 0) FROM {SCHEMA}.version"  # noqa: S608  # a constant
_SCHEMA_EXISTS = f"SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = '{SCHEMA}')"  # noqa: S608  # a constant
_BEGIN = f"CREATE SCHEMA {SCHEMA}"
_COUNT = "CREATE TABLE IF NOT EXISTS version (number integer PRIMARY KEY, applied_at timestamptz NOT NULL)"
_APPLIED = "INSERT INTO version (number, applied_at) VALUES (%s, now())"


def version(connection: Connection) -> int:
    """Read the number of the last schema change that was applied."""
    ((known,),) = connection.execute(_KNOWN)
    if not known:
        return 0
    ((number,),) = connection.execute(_VERSION)
    return int(number)


def upgrade(connection: Connection, folder: Path = FOLDER) -> int:
    """Apply what is missing, and say which version the tables are of; those of a newer jobmeter stay as they are."""
    found, steps = version(connection), migrate.steps(folder)
    if found >= steps[-1][0]:
        return found
    with connection.transaction():
        # a store that is open never looks for its tables again: a crash of the database must not take them back
        connection.execute("SET LOCAL synchronous_commit = on")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        # another server may have been first while this one waited for the lock
        found = version(connection)
        if found == 0:
            ((exists,),) = connection.execute(_SCHEMA_EXISTS)
            if not exists:
                connection.execute(_BEGIN)
            connection.execute(_COUNT)
        for number, path in steps:
            if number > found:
                connection.execute(path.read_bytes())
                connection.execute(_APPLIED, (number,))
    return version(connection)


def require_known(found: int, shown: str) -> None:
    """Refuse to write what a newer version would misread."""
    known = migrate.steps(FOLDER)[-1][0]
    if found > known:
        raise ReadOnlyError(
            f"{shown} has schema {found}, this jobmeter knows {known}: it is read as it is",
            hint="use the newer jobmeter, or a database of its own",
        )
