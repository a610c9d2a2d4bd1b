"""Push runs on request: those named, or all that a server does not have yet."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from jobmeter.config import receivers, tables
from jobmeter.delivery import push, sidecar, wire
from jobmeter.errors import UsageError
from jobmeter.model import sync
from jobmeter.runfolder import reader
from jobmeter.service import index, lifecycle, runs

PATIENCE_SECONDS = 30.0
"""How long one run may wait for a server that asks to come back later."""


class Became(Enum):
    """What became of a run that was to be pushed."""

    KEPT = "kept"
    """The server had all of it."""
    PUSHED = "pushed"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """One run and what became of it."""

    run_id: str
    became: Became
    sent_bytes: int = 0
    reason: str = ""
    """Why it, or some file of it, was not taken."""
    stuck: Mapping[str, str] = field(default_factory=dict)
    """Files of it that could not be sent, and why."""

    @property
    def is_whole(self) -> bool:
        """Say whether the server has all of it now."""
        return self.became in (Became.KEPT, Became.PUSHED) and not self.stuck


def target(url: str | None, environ: Mapping[str, str]) -> wire.Target:
    """Find the server: the one named, `JOBMETER_SERVER`, or `server` below `[push]` of the user's settings."""
    table = tables.read("push", environ)
    named = url or environ.get("JOBMETER_SERVER") or table.get("server")
    if not isinstance(named, str):
        raise UsageError(
            "no server to push to",
            hint="name it: jobmeter push --server https://jobs.example.org, or set JOBMETER_SERVER",
        )
    plain = table.get("allow_plain_http") is True or receivers.plain_allowed(environ)
    return wire.target(named, wire.find_token(environ), plain_allowed=plain)


def push_runs(
    home: str,
    refs: Sequence[str],
    server: wire.Target,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Pushed]:
    """Push runs, oldest first; when the server cannot be reached the rest is not tried."""
    lost = ""
    for folder in _named(home, refs) if refs else _waiting(home, server):
        if lost:
            yield Pushed(run_id=folder.name, became=Became.UNREACHABLE, reason=lost)
            continue
        done = _push(folder, server, sleep)
        lost = done.reason if done.became is Became.UNREACHABLE else ""
        yield done


def _named(home: str, refs: Sequence[str]) -> list[Path]:
    folders = [lifecycle.folder_of(runs.find(home, ref)) for ref in refs]
    return list(dict.fromkeys(folders))


def _waiting(home: str, server: wire.Target) -> list[Path]:
    """List the runs recorded here that a server does not have whole; all of them where it lost the latest."""
    folders = [
        month / name
        for name, month in sorted(index.list_folders(Path(home)).items())
        if index.is_run_id(name) and not (month / name / sync.MARKER).exists()
    ]
    waiting = [folder for folder in folders if needs_push(folder, server.url)]
    known = [folder for folder in folders if folder not in set(waiting) and reader.is_run(folder)]
    if known and _is_lost(known[-1], server):
        return sorted({*waiting, *known}, key=lambda folder: folder.name)
    return waiting


def _is_lost(folder: Path, server: wire.Target) -> bool:
    """Ask whether a server still has what it confirmed; one that does not answer is asked about every run anyway."""
    try:
        return push.push(folder, server, closed=True, ask_again=True).sent_bytes > 0
    except (push.LaterError, push.NotTakenError, OSError):
        return False


def needs_push(folder: Path, url: str) -> bool:
    """Tell whether a folder may hold more than a server confirmed, by sizes alone."""
    state = sidecar.load(folder, url)
    try:
        if not state.final:
            return reader.is_run(folder)
        names = os.listdir(folder)
        sizes = {name: os.stat(folder / name).st_size for name in names if sync.carried(name) is not None}
    except OSError:
        return False  # gone between listing and asking
    # a compressed file was whole when it was compressed
    return any(size > (state.files[name].read if name in state.files else 0) for name, size in sizes.items())


def _push(folder: Path, server: wire.Target, sleep: Callable[[float], None]) -> Pushed:
    try:
        closed = reader.read_run_and_finality(folder)[1]
        was_final = sidecar.load(folder, server.url).final
        done = _insist(folder, server, closed, sleep)
    except push.NotTakenError as error:
        return Pushed(run_id=folder.name, became=Became.REFUSED, reason=str(error))
    except push.LaterError as error:
        return Pushed(run_id=folder.name, became=Became.UNREACHABLE, reason=str(error))
    except OSError as error:
        return Pushed(run_id=folder.name, became=Became.REFUSED, reason=f"cannot be read: {error}")
    became = Became.PUSHED if done.sent_bytes or not was_final else Became.KEPT
    return Pushed(
        run_id=folder.name,
        became=became,
        sent_bytes=done.sent_bytes,
        reason="; ".join(done.stuck.values()),
        stuck=dict(done.stuck),
    )


def _insist(folder: Path, server: wire.Target, closed: bool, sleep: Callable[[float], None]) -> push.Pushed:
    """Come back as often as the server asks for, as long as there is patience."""
    backoff = wire.Backoff(1.0, 10.0)
    left = PATIENCE_SECONDS
    while True:
        try:
            return push.push(folder, server, closed=closed, ask_again=True)
        except push.LaterError as error:
            pause = backoff.failed(error.retry_after_seconds)
            left -= pause
            # who is not there at all will hardly be there in a moment
            if left < 0 or not error.is_answer:
                raise
        sleep(pause)
