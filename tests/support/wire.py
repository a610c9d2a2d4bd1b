"""Requests written byte by byte: what a client library would tidy up or refuse to send."""

import http.client
import io
import itertools
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

SECONDS = 20.0
_PER_ADDRESS = 50
"""Requests from one address of loopback, which are many: a stranger's are limited by address."""
_ADDRESSES = itertools.count()


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; headers by name in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)

    @property
    def kind(self) -> str:
        """Give the content type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0]


class Wire:
    """One connection after another to a server; answers are read whole, streams only to their head."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host = parts.netloc
        self._address = (parts.hostname or "", parts.port or 80)
        self._connection: socket.socket | None = None
        self._sent = 0
        self.per_address = _PER_ADDRESS

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(
        self, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        """Send a request as it is given, Host and length added where they are not."""
        named = {"Host": self.host, **(headers or {})}
        if body or method in ("POST", "PATCH", "PUT"):
            named.setdefault("Content-Length", str(len(body)))
        head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        return self.say(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + body, method)

    def say(self, text: bytes, method: str = "GET") -> Answer:
        """Send bytes and read one answer; a connection that the server had ended is opened anew."""
        fresh = self._connection is None
        try:
            return self._exchange(text, method)
        except (ConnectionError, http.client.BadStatusLine):
            self.close()
            if fresh:
                raise
            return self._exchange(text, method)

    def _exchange(self, text: bytes, method: str) -> Answer:
        self._sent += 1
        if self._sent % self.per_address == 0:
            self.close()
        if self._connection is None:
            number = next(_ADDRESSES)
            source = f"127.1.{number // 250 % 250}.{number % 250 + 1}"
            self._connection = socket.create_connection(self._address, SECONDS, (source, 0))
        self._connection.sendall(text)
        answer = http.client.HTTPResponse(self._connection, method=method)
        answer.begin()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        if headers.get("content-type", "").startswith("text/event-stream"):
            self.close()
            return Answer(answer.status, headers, b"")
        body = answer.read()
        if answer.will_close:
            self.close()
        return Answer(answer.status, headers, body)


def answers_to(url: str, text: bytes, quiet_seconds: float = 0.5) -> list[int]:
    """Send bytes on a connection of their own; give the status of every answer until it ends or nothing more comes."""
    parts = urlsplit(url)
    told = io.BytesIO()
    with socket.create_connection((parts.hostname or "", parts.port or 80), SECONDS) as connection:
        try:
            connection.sendall(text)
            while piece := connection.recv(1 << 16):
                told.write(piece)
                connection.settimeout(quiet_seconds)
        except (ConnectionError, TimeoutError):
            told.seek(0, io.SEEK_END)  # hung up on, or waited with: what was said till then counts
    return [int(line[:3]) for line in told.getvalue().split(b"HTTP/1.1 ")[1:]]
