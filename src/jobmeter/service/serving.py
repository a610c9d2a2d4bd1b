"""A server of one home: the index it keeps up, and what every handler is given.

Exactly one thread writes the index (the keeper); handlers read through connections of their own.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from jobmeter import stores
from jobmeter.errors import StoreError
from jobmeter.service import (
    access,
    alert_server,
    forwarding,
    index,
    keeping,
    live_news,
    notices,
    outlets,
    relaying,
    scraping,
    syncing,
)
from jobmeter.service.server_settings import ServerSettings
from jobmeter.stores import Store, memory

Answer = TypeVar("Answer")


class Server:
    """What handlers are given as `request.app.state.server`."""

    def __init__(self, settings: ServerSettings, *, warn: notices.Warn = notices.to_stderr) -> None:
        self.settings = settings
        self.home = settings.home
        self.server_db = access.open_db(self.home)
        self.access = access.Access(self.server_db, access.local_token(self.home, settings.token))
        self.hub = relaying.hub_of(settings)
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
        try:
            self.access.flush(now=True)
        except StoreError as error:
            self._warn(f"when tokens were last used is not kept: {error}")
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
        except stores.DamagedError as error:
            self._keeper.mend(error)
            raise
        finally:
            self._readers.give_back(store)

    def health(self) -> keeping.Health:
        """Say how the keeper fares."""
        return self._keeper.health()

    def _kept(self) -> index.Index:
        return _Kept(self._readers.take(), self._keeper.mend, self._readers.give_back, home=Path(self.home))

    def _open_index(self) -> index.Index:
        return index.open_own(self.home, url=self.settings.database, warn=self._warn)

    def _open_store(self) -> Store:
        store = self._open_index().ask(lambda store: store)
        if isinstance(store, memory.MemoryStore):
            raise StoreError("no index can be kept on this machine", hint="see: jobmeter doctor")
        return store


class _Kept(index.KeptIndex):
    """A reader that reports an index it finds damaged to the one who can mend it."""

    def __init__(
        self,
        store: Store,
        mend: Callable[[stores.DamagedError], None],
        give_back: Callable[[Store], None],
        *,
        home: Path,
    ) -> None:
        super().__init__(home, store, give_back=give_back)
        self._mend = mend

    def ask(self, question: Callable[[Store], Answer]) -> Answer:
        try:
            return super().ask(question)
        except stores.DamagedError as error:
            self._mend(error)
            raise


class Readers:
    """Open stores that wait for the next question; as many as were ever needed at once."""

    def __init__(self, opener: Callable[[], Store]) -> None:
        self._open = opener
        self._lock = threading.Lock()
        self._idle: list[Store] = []
        self._lent: set[int] = set()
        self._era = 0
        """Counts how often the index was replaced."""

    def take(self) -> Store:
        """Lend a store that nobody else uses."""
        with self._lock:
            era = self._era
            if self._idle:
                store = self._idle.pop()
                self._lent.add(id(store))
                return store
        store = self._open()
        with self._lock:
            # one that was opened while the index was replaced may be the old one: it is not kept afterwards
            if era == self._era:
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
            self._era += 1
            old, self._idle = self._idle, []
            self._lent.clear()
        for store in old:
            store.close()

    close = renew
