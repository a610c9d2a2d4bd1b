"""A checksum on every page of the index, so that a flipped bit is found before it becomes an answer.

SQLite's own `cksumvfs` does it; apsw's wheels bring it. A build without it still finds what breaks the
structure of the file, but not what changes a number.
"""

from pathlib import Path

import apsw

_NAME = "cksmvfs"
RESERVED_BYTES = 8
"""Where a page keeps its checksum; a database without this room is not checked."""


def vfs() -> str | None:
    """Name the file layer that checks pages; None where this build has none."""
    if _NAME in apsw.vfs_names():
        return _NAME
    found = sorted((Path(apsw.__file__).parent / "sqlite_extra_binaries").glob("cksumvfs.*"))
    if not found:
        return None
    loader = apsw.Connection(":memory:")
    loader.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1)
    loader.load_extension(str(found[0]))
    loader.close()
    return _NAME
