"""Where the index of a home is kept: a local directory, one per home, that may be deleted at any time.

SQLite's write-ahead log needs a local file system. Home directories of clusters are often on a network,
so the kind of mount is looked up and `/var/tmp` taken instead where it is one.
"""

import os
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path

NETWORK = frozenset(
    (
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse.glusterfs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
        "virtiofs",
        "wekafs",
    )
)


def index_path(home: Path, environ: Mapping[str, str], mounts: Path = Path("/proc/self/mountinfo")) -> Path:
    """Choose the file of a home's index and make its directory; OSError where none can be made."""
    # the same home by another path is the same home
    whole = os.fsencode(os.path.realpath(home))
    name = f"{_readable(whole)}-{zlib.crc32(whole):08x}"
    base = _base(environ)
    if base is not None and file_system(base, mounts) not in NETWORK:
        try:
            return _private(base / name) / "index.db"
        except PermissionError:
            # left there by another user, as sudo does
            return _private(_shared_base() / name) / "index.db"
    return _private(_shared_base() / name) / "index.db"


def _shared_base() -> Path:
    """Name a local directory where everyone can write; what is made in it is checked."""
    return _private(Path("/var/tmp", f"jobmeter-{os.getuid()}"))  # noqa: S108  # owner and rights are checked


def _readable(path: bytes) -> str:
    """Make a directory name that still tells which home it is for; the checksum tells the rest apart."""
    text = path.decode("ascii", "replace").strip("/").replace("/", "-")
    return "".join(letter if letter.isalnum() or letter in "-._" else "_" for letter in text)[-80:].lstrip(
        "-."
    )


def _base(environ: Mapping[str, str]) -> Path | None:
    given = environ.get("XDG_CACHE_HOME", "")
    if given.startswith("/"):
        return Path(given, "jobmeter")
    user = environ.get("HOME", "")
    return Path(user, ".cache", "jobmeter") if user.startswith("/") else None


def _private(folder: Path) -> Path:
    """Make a directory of this user alone; one that another user laid out is refused."""
    # what has to be made above it is private as well: who may write there could put another folder in its place
    for missing in [parent for parent in reversed(folder.parents) if not parent.exists()]:
        missing.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError(f"{folder} is not a private directory of this user")
    return folder


def file_system(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str | None:
    """Name the kind of file system a path lies on; None where the system does not say."""
    try:
        text = mounts.read_bytes()
    except OSError:
        return None
    target = os.fsencode(os.path.realpath(path))
    best, kind = b"", None
    for line in text.splitlines():
        before, _, after = line.partition(b" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        point = _unescape(fields[4])
        inside = target == point or target.startswith(point.rstrip(b"/") + b"/")
        # of two mounts on one point the later one covers the earlier
        if inside and len(point) >= len(best):
            best, kind = point, after.split()[0].decode("ascii", "replace")
    return kind


def _unescape(point: bytes) -> bytes:
    """Undo the octal escapes of mountinfo: space, tab, newline, backslash."""
    for code in (b"040", b"011", b"012", b"134"):
        point = point.replace(b"\\" + code, bytes((int(code, 8),)))
    return point
