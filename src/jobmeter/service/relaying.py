"""Live events between the server processes of one database: what one of them sees, readers of all are told.

A server tells the others only while one of them has readers, who say so every few seconds. Sending is a thread's own:
neither the keeper nor a reader waits for the database. Where messages may have been lost, readers are told to catch
up by reading, as they are when they were too slow.
"""

import json
import os
import queue
import threading
import time
from collections.abc import Iterable, Sequence

import msgspec

from jobmeter.errors import StoreError
from jobmeter.service import database, live
from jobmeter.service.live import Kind, LiveEvent
from jobmeter.service.server_settings import ServerSettings

CHANNEL = "jobmeter_live"
PULSE_SECONDS = 5.0
"""How often a server says that it has readers."""
_INTEREST_SECONDS = 3 * PULSE_SECONDS
_WANTED, _LOST = "wanted", "lost"
_MOST_WAITING = 1_000
_LONGEST_BYTES = 7_900


class _Sent(msgspec.Struct, array_like=True):
    kind: Kind
    run_id: str
    project: str | None
    data: dict[str, object]


def hub_of(settings: ServerSettings) -> live.Hub:
    """Make the hub of a server: one that other servers hear, where the index is in a database that they share."""
    url = settings.database or database.chosen(os.environ)
    if url is None:
        return live.Hub()
    database.back_end(url)  # says in its own words what is no such database
    return RelayedHub(url)


class RelayedHub(live.Hub):
    """A hub whose events the other servers of a database hear, and that hears theirs."""

    def __init__(self, url: str, *, pulse_seconds: float = PULSE_SECONDS) -> None:
        from jobmeter.stores import postgres_notify

        super().__init__()
        self._pulse_seconds = pulse_seconds
        self._wanted_at = -_INTEREST_SECONDS
        self._outbox: queue.Queue[str | None] = queue.Queue(_MOST_WAITING)
        self._exchange = postgres_notify.Exchange(url)
        self._sender = threading.Thread(target=self._send, name="relay", daemon=True)
        self.listener = self._exchange.listen(CHANNEL, self._heard, self._missed)
        self._sender.start()

    def publish(self, events: Iterable[LiveEvent]) -> None:
        """Tell all readers, here and at the other servers."""
        known = list(events)
        super().publish(known)
        if self.is_wanted_elsewhere():
            for message in _messages(known):
                self._post(message)

    def is_wanted(self) -> bool:
        """Tell whether anybody reads, here or at another server."""
        return super().is_wanted() or self.is_wanted_elsewhere()

    def is_wanted_elsewhere(self) -> bool:
        """Tell whether another server said lately that it has readers."""
        return time.monotonic() - self._wanted_at < _INTEREST_SECONDS

    def subscribe(
        self, interest: live.Interest, *, last_event_id: str | None = None, owner: str = ""
    ) -> live.Reader:
        """Follow; the other servers are told that somebody does."""
        reader = super().subscribe(interest, last_event_id=last_event_id, owner=owner)
        self._post(_WANTED)
        return reader

    def close(self) -> None:
        """End every stream, and the exchange with other servers."""
        super().close()
        self._post(None)
        self._sender.join()
        self._exchange.close()

    def _post(self, message: str | None) -> None:
        try:
            self._outbox.put_nowait(message)
        except queue.Full:
            # the database is away, and the newest matters most; readers elsewhere will be told that some are missing
            self._outbox.get_nowait()
            self._outbox.put_nowait(_LOST if message is not None else None)

    def _send(self) -> None:
        while True:
            try:
                message = self._outbox.get(timeout=self._pulse_seconds)
            except queue.Empty:
                message = _WANTED if self.readers else ""
            if message is None:
                return
            try:
                if message:
                    self._exchange.notify(CHANNEL, message)
            except StoreError:
                continue  # the others hear nothing while the database is away, and know that they missed something

    def _heard(self, message: str) -> None:
        if message == _WANTED:
            self._wanted_at = time.monotonic()
        elif message == _LOST:
            self._missed()
        else:
            super().publish(_events(message))

    def _missed(self) -> None:
        """Have every reader read again; and say that there are readers, for those who came meanwhile."""
        self.lose()
        if self.readers:
            self._post(_WANTED)


def _messages(events: Sequence[LiveEvent]) -> Iterable[str]:
    """Pack events into messages that the database takes; of one that is too long only that it was."""
    waiting: list[bytes] = []
    size = 2
    for event in events:
        text = _packed(event, event.data)
        if len(text) > _LONGEST_BYTES - 2:
            text = _packed(event, {"run_id": event.run_id, "too_long": True})
        if waiting and size + len(text) + 1 > _LONGEST_BYTES:
            yield _joined(waiting)
            waiting, size = [], 2
        waiting.append(text)
        size += len(text) + 1
    if waiting:
        yield _joined(waiting)


def _packed(event: LiveEvent, data: object) -> bytes:
    return live.as_json([event.kind.value, event.run_id, event.project, data])


def _joined(parts: Sequence[bytes]) -> str:
    return f"[{b','.join(parts).decode()}]"


def _events(message: str) -> list[LiveEvent]:
    try:
        # by the standard library, which takes the halves of characters that names may hold
        found = msgspec.convert(json.loads(message), list[_Sent])
    except ValueError:
        return []  # of a newer jobmeter
    return [LiveEvent(kind=one.kind, run_id=one.run_id, data=one.data, project=one.project) for one in found]
