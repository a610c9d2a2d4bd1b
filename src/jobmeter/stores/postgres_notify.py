"""Short messages between the server processes of one PostgreSQL database, by its LISTEN and NOTIFY.

A message reaches whoever listens at that moment and nobody else. After the connection was lost, messages may have
been missed: the listener is told so, and reads what it needs instead. A process does not hear itself.
"""

import secrets
import threading
from collections.abc import Callable

import psycopg
from psycopg import sql

from jobmeter.errors import StoreError
from jobmeter.stores import documents, postgres_link

LONGEST_BYTES = 7_900
"""The server takes messages of less than 8,000 bytes, ours with the sender's name before them."""
_NOTIFY = "SELECT pg_notify(%s, %s)"
_LOOK_SECONDS = 1.0
_RETRY_SECONDS = (0.1, 0.5, 2.0, 5.0)


class Exchange:
    """One process's place in the exchange of messages."""

    def __init__(self, url: str) -> None:
        self._link = postgres_link.Link(url)
        self._link.open()
        self._sender = secrets.token_hex(8)
        self._listeners: list[Listener] = []

    def notify(self, channel: str, payload: str) -> None:
        """Send a message to every other process that listens; StoreError where it is too long, or cannot be sent."""
        text = documents.clean(payload)
        if len(text.encode()) > LONGEST_BYTES:
            raise StoreError(f"a message of {len(text)} letters is too long to be sent to other servers")
        with self._link.reading() as connection:
            connection.execute(_NOTIFY, (channel, f"{self._sender} {text}"))

    def listen(self, channel: str, heard: Callable[[str], None], missed: Callable[[], None]) -> "Listener":
        """Have messages of a channel handed over in a thread of its own; `missed` when some may have been lost."""
        listener = Listener(self._link, channel, heard=heard, missed=missed, sender=self._sender)
        self._listeners.append(listener)
        listener.start()
        return listener

    def close(self) -> None:
        """Stop all listeners and give the connections back."""
        for listener in self._listeners:
            listener.stop()
        self._link.close()


class Listener:
    """A thread with a connection of its own, made again whenever it breaks."""

    def __init__(
        self,
        link: postgres_link.Link,
        channel: str,
        *,
        heard: Callable[[str], None],
        missed: Callable[[], None],
        sender: str,
    ) -> None:
        self._link = link
        self._channel = channel
        self._heard = heard
        self._missed = missed
        self._sender = sender
        self._stopping = threading.Event()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"listen-{channel}", daemon=True)

    def start(self) -> None:
        """Begin to listen; what is sent after `is_listening` is heard."""
        self._thread.start()

    def is_listening(self, wait_seconds: float = 0.0) -> bool:
        """Tell whether the connection stands."""
        return self._listening.wait(wait_seconds)

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                self._listen(again=failures > 0)
            except (psycopg.Error, StoreError):
                # told by whoever reads or writes; here it is enough to come back
                failures = 1 if self._listening.is_set() else failures + 1
                self._listening.clear()
                self._stopping.wait(_RETRY_SECONDS[min(failures, len(_RETRY_SECONDS)) - 1])

    def _listen(self, *, again: bool) -> None:
        with self._link.connect() as connection:
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
            self._listening.set()
            if again:
                self._missed()
            while not self._stopping.is_set():
                for found in connection.notifies(timeout=_LOOK_SECONDS):
                    sender, _, payload = found.payload.partition(" ")
                    if sender != self._sender:
                        self._heard(payload)
