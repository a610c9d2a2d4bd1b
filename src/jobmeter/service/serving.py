"""A server of one home: its settings, the index it keeps up, and what every handler is given.

Exactly one thread writes the index (the keeper); handlers read through connections of their own.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from jobmeter.errors import StoreError
from jobmeter.service import (
    access,
    alert_server,
    cache,
    database,
    forwarding,
    index,
    keeping,
    live,
    live_news,
    notices,
    outlets,
    scraping,
    syncing,
)
from jobmeter.stores import Store, memory

DEFAULT_PORT = 8765


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one client may cost; beyond it requests are refused, never queued without end."""

    body_bytes: int = 16 << 20
    decoded_bytes: int = 64 << 20
    """A body after its gzip or zstd is undone."""
    depth: int = 32
    """How deep JSON may be nested."""
    pending_bytes: int = 96 << 20
    """Bodies of all requests that are being answered, together."""
    requests_per_second: float = 500.0
    """Of one token; four seconds' worth may come at once."""
    strangers_per_second: float = 20.0
    """Of one address without a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How a server was asked to be; checked by `service/binding.py`."""

    home: str
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    database: str | None = None
    auth: bool = True
    unix_socket: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    allow_plain_http: bool = False
    allowed_hosts: tuple[str, ...] = ()
    metrics_open: bool = False
    """`/metrics` without a token, on loopback only."""
    token: str | None = None
    """Takes the place of the token in the home: `JOBMETER_TOKEN`."""
    threads: int = 8
    """How many requests are worked on at once."""
    limits: Limits = Limits()

    def database_shown(self) -> str:
        """Say where the index is kept, without what would let others in."""
        url = self.database or database.chosen(os.environ)
        return str(cache.index_path(Path(self.home), os.environ)) if url is None else database.shown(url)


class Server:
    """What handlers are given as `request.app.state.server`."""

    def __init__(self, settings: ServerSettings, *, warn: notices.Warn = notices.to_stderr) -> None:
        self.settings = settings
        self.home = settings.home
        self.server_db = access.open_db(self.home)
        self.access = access.Access(self.server_db, access.local_token(self.home, settings.token))
        self.hub = live.Hub()
        self.receiver = syncing.Receiver(settings.home)
        self._warn = warn
        self._readers = Readers(self._open_store)
        self.scraper = scraping.Scraper(self.read)
        self.outlets = outlets.Outlets(self.home, self.read, os.environ, warn=warn)
        self.alerts = alert_server.ServerAlerts(
            self.home, self.server_db, self.read, touch=self.touch, hub=self.hub, warn=warn
        )
        self.forwarder = forwarding.Forwarder(self.home, os.environ, warn=warn)
        self.observers: list[keeping.Observer] = [
            live_news.News(self.hub),
            self.scraper.observe,
            self.outlets.observe,
            self.forwarder.observe,
            self.alerts.observe,
        ]
        """Who is told by the keeper of runs that changed; more may be added before `start`."""
        self.chores: list[keeping.Chore] = [self.access.flush]
        """What the keeper does after every look; more may be added before `start`."""
        self._keeper = keeping.Keeper(
            Path(self.home),
            self._open_index,
            observers=self.observers,
            chores=self.chores,
            replaced=self._readers.renew,
            warn=warn,
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to keep the index up; every service function of this process then reads what is kept."""
        index.KEPT[os.path.realpath(self.home)] = self._kept
        self._keeper.start()
        self.outlets.start()
        self.forwarder.start()
        self.alerts.start()

    def stop(self) -> None:
        """End the keeper after what it is doing, and give files and connections back."""
        self.hub.close()
        self._keeper.stop()
        self.alerts.stop()
        self.outlets.stop()
        self.forwarder.stop()
        index.KEPT.pop(os.path.realpath(self.home), None)
        self.access.flush(now=True)
        self._readers.close()
        self.server_db.close()

    def require_store(self) -> None:
        """Refuse to start where the index cannot be kept, or its database does not answer."""
        self._readers.give_back(self._readers.take())

    def touch(self, run_id: str, *, pushed: bool = False) -> None:
        """Have a run whose folder was changed here indexed next; `pushed` when all its bytes come this way."""
        self._keeper.touch(run_id, pushed=pushed)

    @contextmanager
    def read(self) -> Iterator[Store]:
        """Lend a reader of the index."""
        store = self._readers.take()
        try:
            yield store
        finally:
            self._readers.give_back(store)

    def health(self) -> keeping.Health:
        """Say how the keeper fares."""
        return self._keeper.health()

    def _kept(self) -> index.Index:
        return index.KeptIndex(Path(self.home), self._readers.take(), give_back=self._readers.give_back)

    def _open_index(self) -> index.Index:
        return index.open_own(self.home, url=self.settings.database, warn=self._warn)

    def _open_store(self) -> Store:
        store = self._open_index().ask(lambda store: store)
        if isinstance(store, memory.MemoryStore):
            raise StoreError("no index can be kept on this machine", hint="see: jobmeter doctor")
        return store


class Readers:
    """Open stores that wait for the next question; as many as were ever needed at once."""

    def __init__(self, opener: Callable[[], Store]) -> None:
        self._open = opener
        self._lock = threading.Lock()
        self._idle: list[Store] = []
        self._lent: set[int] = set()

    def take(self) -> Store:
        """Lend a store that nobody else uses."""
        with self._lock:
            store = self._idle.pop() if self._idle else None
        store = self._open() if store is None else store
        with self._lock:
            self._lent.add(id(store))
        return store

    def give_back(self, store: Store) -> None:
        """Take a store back; one that was opened before the index was replaced is closed."""
        with self._lock:
            known = id(store) in self._lent
            self._lent.discard(id(store))
            if known:
                self._idle.append(store)
        if not known:
            store.close()

    def renew(self) -> None:
        """Forget what is open: the file under it is another now."""
        with self._lock:
            old, self._idle = self._idle, []
            self._lent.clear()
        for store in old:
            store.close()

    close = renew
