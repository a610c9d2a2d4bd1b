"""Bring an index up to the newest schema, one transaction per numbered file: a crash leaves a whole one."""

from pathlib import Path

import apsw

from jobmeter.stores import ReadOnlyError

FOLDER = Path(__file__).parent / "schema"


def steps(folder: Path = FOLDER) -> list[tuple[int, Path]]:
    """List the schema changes this version knows: number and file of SQL."""
    return sorted((int(path.name[:4]), path) for path in folder.glob("*.sql"))


def version(connection: apsw.Connection) -> int:
    """Read the number of the last schema change that was applied."""
    return int(connection.pragma("user_version"))


def upgrade(connection: apsw.Connection, folder: Path = FOLDER) -> None:
    """Apply what is missing; an index of a newer jobmeter is left as it is."""
    for number, path in steps(folder):
        if version(connection) >= number:
            continue
        connection.execute("BEGIN IMMEDIATE")
        outcome = "ROLLBACK"
        try:
            # another process may have been first while this one waited for the lock
            if version(connection) < number:
                connection.execute(path.read_text("utf-8"))
                connection.pragma("user_version", number)
            outcome = "COMMIT"
        finally:
            connection.execute(outcome)


def is_newer(connection: apsw.Connection) -> bool:
    """Tell whether a newer jobmeter changed this index."""
    return version(connection) > steps()[-1][0]


def require_known(connection: apsw.Connection, path: str) -> None:
    """Refuse to write what a newer version would misread."""
    if is_newer(connection):
        found, known = version(connection), steps()[-1][0]
        raise ReadOnlyError(
            f"the index {path} has schema {found}, this jobmeter knows {known}: it is read as it is",
            hint="use the newer jobmeter, or delete the index: it is rebuilt from the run folders",
        )
