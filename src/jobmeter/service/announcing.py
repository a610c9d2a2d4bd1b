"""Where the server of a home listens: `server.json` in the home, for those who want to open its page.

What can mislead: a server that was killed leaves the note behind, and another user of the machine may listen
on the same port since. So nobody is sent there with a token unless the socket belongs to this user.
"""

import json
import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from jobmeter.errors import UsageError
from jobmeter.service import binding

FILE = "server.json"
_LISTEN = "0A"
_START = "start one: jobmeter serve"
_CONNECT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Note:
    """What a server left in its home."""

    url: str
    pid: int
    auth: bool


def announce(home: str, url: str, *, auth: bool) -> Path:
    """Leave the note; of several servers of one home the first is found, as long as it lives."""
    path = Path(home, FILE)
    note = _read(home)
    if note is not None and note.pid != os.getpid() and _lives(note.pid):
        return path
    write_private(path, json.dumps({"url": url, "pid": os.getpid(), "auth": auth}) + "\n")
    return path


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    return True


def withdraw(home: str) -> None:
    """Take the note away, unless it is another server's by now."""
    note = _read(home)
    if note is not None and note.pid == os.getpid():
        Path(home, FILE).unlink(missing_ok=True)


def find(home: str, proc: str = "/proc") -> Note:
    """Find the server of a home that listens now, and is this user's."""
    note = _read(home)
    if note is None:
        raise UsageError(f"no server of {home} is known", hint=_START)
    if note.url.startswith("unix:"):
        raise UsageError(f"the server of {home} listens on a Unix socket", hint="no browser can open that")
    parts = urlsplit(note.url)
    host, port = parts.hostname or "", parts.port or 0
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError:
        raise UsageError(f"no server answers at {note.url}", hint=_START) from None
    if binding.is_loopback(host) and not _is_ours(port, proc):
        raise UsageError(
            f"another user listens at {note.url}: nothing was opened", hint="choose another --port"
        )
    return note


def _read(home: str) -> Note | None:
    try:
        found = json.loads(Path(home, FILE).read_text("utf-8"))
        return Note(str(found["url"]), int(found["pid"]), bool(found["auth"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none there, or not one of ours


def _is_ours(port: int, proc: str) -> bool:
    """Ask the kernel who listens on a port; where it does not say, nobody else is assumed."""
    owners: set[int] = set()
    for table in ("tcp", "tcp6"):
        try:
            rows = Path(proc, "net", table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue  # no such table on this system
        for row in rows:
            fields = row.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                owners.add(int(fields[7]))
    return owners <= {os.getuid(), 0}


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read, whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(draft, path)
