"""Whether what is measured can be kept and read back: Python, SQLite, home, disk, the cache's file system."""

import os
import sys
import tempfile
from pathlib import Path

from jobmeter.errors import reason_of
from jobmeter.model import units
from jobmeter.service import cache
from jobmeter.service.doctor import Finding, Place, fail, ok, warn

LEAST_PYTHON = (3, 11)
LEAST_SQLITE = (3, 51, 3)
LEAST_FREE_BYTES = 1 << 30


def check_python(_: Place) -> Finding:
    """Compare the interpreter's version."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < LEAST_PYTHON:
        return fail(f"Python {version} is too old", "install Python 3.11 or newer")
    return ok(f"Python {version}")


def check_sqlite(_: Place) -> Finding:
    """Compare the SQLite that comes with apsw."""
    try:
        import apsw
    except ImportError as error:
        return fail(f"apsw cannot be imported: {error}", f"{sys.executable} -m pip install apsw")
    version: str = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")[:3]) < LEAST_SQLITE:
        return fail(
            f"SQLite {version} can corrupt an index that two processes write (fixed in 3.51.3)",
            f"{sys.executable} -m pip install --upgrade apsw",
        )
    return ok(f"SQLite {version}")


def check_home(place: Place) -> Finding:
    """Write a file where runs are kept."""
    folder = _existing(place.home)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"jobmeter doctor\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return fail(
            f"cannot write in {place.home}: {reason_of(error)}", "choose another with --home or JOBMETER_HOME"
        )
    return ok(f"{place.home} can be written" if folder == place.home else f"{place.home} can be made")


def check_disk(place: Place) -> Finding:
    """Look at the room left where runs are kept."""
    folder = _existing(place.home)
    try:
        status = os.statvfs(folder)
    except OSError as error:
        return fail(f"cannot look at the disk of {place.home}: {reason_of(error)}")
    free_bytes = status.f_bavail * status.f_frsize
    if status.f_files and status.f_favail == 0:
        return fail("no inodes are left: no run can be recorded", "jobmeter gc --keep 30d")
    if free_bytes < LEAST_FREE_BYTES:
        return warn(f"only {units.format_bytes(free_bytes)} are free", "jobmeter gc --keep 30d")
    return ok(f"{units.format_bytes(free_bytes)} are free")


def check_cache(place: Place) -> Finding:
    """See that the index lies on a local file system: SQLite's log needs shared memory."""
    try:
        folder = cache.index_path(Path(place.home), os.environ).parent
    except OSError as error:
        return warn(f"no index can be kept: {error}", "set XDG_CACHE_HOME to a local directory of yours")
    kind = cache.file_system(folder, Path(place.paths.proc, "self", "mountinfo"))
    if kind in cache.NETWORK:
        return warn(
            f"the index lies on {kind}, where SQLite can be damaged",
            "set XDG_CACHE_HOME to a local directory",
        )
    return ok(f"the index lies in {folder} ({kind or 'file system unknown'})")


def _existing(path: str) -> str:
    """Go up to the first directory that is there."""
    folder = os.path.abspath(path)
    while not os.path.isdir(folder) and folder != "/":
        folder = os.path.dirname(folder)
    return folder
