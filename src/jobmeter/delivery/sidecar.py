"""`push.json` beside a run's files: how much of each file which server has confirmed.

A cache, not a record: without it, or with an old one, more is sent than needed, and the server skips what it has.
"""

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from jobmeter.model import sync


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """How far one file has come."""

    read: int = 0
    """Up to which byte of the file here."""
    sent: int = 0
    """Up to which byte of the server's copy."""
    crc32: int = 0
    """Of the server's copy up to there."""
    key_lines: int = 0
    """Lines that may belong to a private key which began before."""


@dataclass(slots=True)
class State:
    """What one server has of a run."""

    files: dict[str, Sent] = field(default_factory=dict)
    final: bool = False
    """The server was told that nothing more comes."""
    problem: str = ""
    """Why the server will not take it."""


def load(folder: Path, server: str) -> State:
    """Read what a server has confirmed; nothing where that is not known."""
    found = _servers(folder).get(server)
    if not isinstance(found, dict):
        return State()
    files = found.get("files")
    entries = files.items() if isinstance(files, dict) else ()
    return State(
        files={str(name): sent for name, raw in entries if (sent := _sent(raw)) is not None},
        final=found.get("final") is True,
        problem=str(found.get("problem") or ""),
    )


def save(folder: Path, server: str, state: State) -> None:
    """Write it down, whole or not at all; where that cannot be, more is sent next time."""
    servers = _servers(folder)
    servers[server] = {
        "files": {name: asdict(sent) for name, sent in state.files.items()},
        "final": state.final,
        **({"problem": state.problem} if state.problem else {}),
    }
    path = folder / sync.SIDECAR
    partial = folder / f".{sync.SIDECAR}.{os.getpid()}.part"
    try:
        fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w") as file:
            json.dump({"servers": servers}, file)
        partial.rename(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink()


def _servers(folder: Path) -> dict[str, object]:
    try:
        found = json.loads((folder / sync.SIDECAR).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    servers = found.get("servers") if isinstance(found, dict) else None
    return dict(servers) if isinstance(servers, dict) else {}


def _sent(raw: object) -> Sent | None:
    if not isinstance(raw, Mapping):
        return None
    numbers = {name: raw.get(name) for name in ("read", "sent", "crc32", "key_lines")}
    whole = {
        name: value for name, value in numbers.items() if isinstance(value, int) and 0 <= value < 1 << 53
    }
    return Sent(**whole) if len(whole) == len(numbers) else None
