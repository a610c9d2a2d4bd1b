"""Send the runs of a server on to another (`[upstream]`): many clusters, one view.

What a run's files have in common with those of an agent: they only grow. So a server forwards as an agent pushes,
with the same notes beside the files, and the server above it makes no difference between the two.
"""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from jobmeter.config import receivers, tables
from jobmeter.delivery import push, wire
from jobmeter.errors import UsageError
from jobmeter.runfolder import reader
from jobmeter.service import index, notices, pushing
from jobmeter.service.keeping import Changed
from jobmeter.stores import Store

INTERVAL_SECONDS = 10.0
_STOP_SECONDS = 10.0
_KNOWN = ("allow_plain_http", "interval", "server", "token_file")


class Forwarder:
    """Pushes what changed in a home, in a thread of its own; one that was not asked for does nothing."""

    def __init__(
        self, home: str, environ: Mapping[str, str], *, warn: notices.Warn = notices.to_stderr
    ) -> None:
        self._home = Path(home)
        self._warn = warn
        table = tables.read("upstream", environ)
        self._server = _server(table, environ)
        self._interval_seconds = _interval(table.get("interval"))
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._forward, name="jobmeter-upstream", daemon=True)
        self._backoff = wire.Backoff(self._interval_seconds, 300.0)
        self._told: str | None = None

    def observe(self, store: Store, changes: Sequence[Changed]) -> None:
        """Take note of runs that changed."""
        del store
        if self._server is None:
            return
        with self._lock:
            self._changed.update(change.run_id for change in changes)

    def start(self) -> None:
        """Begin to send."""
        if self._server is not None:
            self._thread.start()

    def stop(self) -> None:
        """End after the request that is under way; the rest is sent after the next start."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)

    def _forward(self) -> None:
        server = self._server
        if server is None:
            return
        folders = index.list_folders(self._home)
        waiting = [name for name, month in folders.items() if pushing.needs_push(month / name, server.url)]
        with self._lock:
            self._changed.update(waiting)
        pause = 0.0
        while not self._stopping.wait(pause):
            begun = time.monotonic()
            pause = self._turn(server)
            pause = max(0.0, pause - (time.monotonic() - begun))

    def _turn(self, server: wire.Target) -> float:
        """Push each run that changed; gives the seconds until the next turn."""
        with self._lock:
            waiting, self._changed = sorted(self._changed), set()
        for at, run_id in enumerate(waiting):
            if self._stopping.is_set():
                break
            try:
                self._push(run_id, server)
            except push.LaterError as error:
                with self._lock:
                    self._changed.update(waiting[at:])
                self._tell(f"cannot forward runs to {server.url}: {error}; trying again")
                return self._backoff.failed(error.retry_after_seconds)
        self._backoff.succeeded()
        return self._interval_seconds

    def _push(self, run_id: str, server: wire.Target) -> None:
        folder = index.folder_of(self._home, run_id)
        try:
            closed = reader.read_run_and_finality(folder)[1]
            push.push(folder, server, closed=closed)
        except push.NotTakenError as error:
            self._tell(f"{server.url} does not take run {run_id}: {error}")
        except OSError:
            return  # moved or thrown away since

    def _tell(self, sentence: str) -> None:
        if sentence != self._told:
            self._warn(sentence)
        self._told = sentence


def _server(table: Mapping[str, object], environ: Mapping[str, str]) -> wire.Target | None:
    """Read `[upstream]`; None where there is none."""
    unknown = sorted(set(table) - set(_KNOWN))
    if unknown:
        raise UsageError(
            f"unknown setting {unknown[0]} in [upstream]", hint=f"use one of {', '.join(_KNOWN)}"
        )
    url, file = table.get("server"), table.get("token_file")
    if not isinstance(url, str):
        return None
    # JOBMETER_TOKEN is what this server asks for itself
    others = {"XDG_CONFIG_HOME": os.devnull} | (
        {"JOBMETER_TOKEN_FILE": file} if isinstance(file, str) else {}
    )
    token = environ.get("JOBMETER_UPSTREAM_TOKEN") or wire.find_token(others)
    plain = table.get("allow_plain_http") is True or receivers.plain_allowed(environ)
    return wire.target(url, token, plain_allowed=plain)


def _interval(value: object) -> float:
    if value is None:
        return INTERVAL_SECONDS
    if not isinstance(value, int | float) or not 0.1 <= value < 86400:
        raise UsageError("interval in [upstream] is no number of seconds", hint="as in interval = 10")
    return float(value)
