"""The files of an index in SQLite: the database, its log and the writer's lock, all of this user alone."""

import fcntl
import os
import time
from pathlib import Path

import apsw

from jobmeter.stores import BusyError, checksums, migrate

BUSY_MS = 5000
"""How long a reader waits for those who lock the file for a moment."""


def connect(path: Path) -> apsw.Connection:
    """Open the database, made or brought up to date where needed."""
    # SQLite gives the -wal and -shm files the rights of the database, which therefore exists first
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = apsw.Connection(str(path), vfs=checksums.vfs())
    connection.reserve_bytes(reserve=checksums.RESERVED_BYTES)
    connection.set_busy_timeout(BUSY_MS)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "normal")
    connection.wal_autocheckpoint(0)
    migrate.upgrade(connection)
    return connection


def lock(path: Path, wait_seconds: float) -> int:
    """Take the writer's lock, which the kernel gives back when this process dies."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < deadline:
                time.sleep(0.02)
                continue
            os.close(fd)
            raise BusyError("another process is updating the index") from None
        return fd
