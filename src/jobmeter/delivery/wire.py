"""One request to a server and its answer, by the standard library alone, within a time that is bounded.

TLS is verified against the system's authorities (`SSL_CERT_FILE` names others). Redirects are not followed, proxies not
used, an answer is read as far as an answer of a server of ours is long: whoever is at the other end can cost this
process a minute, no more.
"""

import http.client
import json
import os
import random
import socket
import stat
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from jobmeter.errors import UsageError, reason_of

SILENCE_SECONDS = 20.0
"""How long to wait for the next byte of a server."""
LONGEST_SECONDS = 60.0
"""How long one request may take in all."""
_LONGEST_ANSWER_BYTES = 1 << 20
_LONGEST_RETRY_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server and the word that opens it."""

    scheme: str
    host: str
    port: int
    path: str
    token: str | None

    @property
    def url(self) -> str:
        """Name the server, without what is secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said."""

    status: int
    body: bytes
    retry_after_seconds: float | None = None

    def document(self) -> Mapping[str, object]:
        """Read the body as a JSON object; empty where it is none."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


class UnreachableError(Exception):
    """No whole answer came: the network, or a server that died or lies."""


def target(url: str, token: str | None, *, plain_allowed: bool = False) -> Target:
    """Read the address of a server."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad_url(url) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise _bad_url(url)
    if parts.username is not None or parts.password is not None:
        raise UsageError("the server's address holds a password", hint="give the token as JOBMETER_TOKEN")
    if parts.scheme == "http" and not (plain_allowed or _is_loopback(parts.hostname)):
        raise UsageError(
            f"{parts.hostname} would get the token and the run unencrypted",
            hint="use https://, or set JOBMETER_ALLOW_PLAIN_HTTP=1 where the network is trusted",
        )
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageError("the token holds characters that no token has", hint="check JOBMETER_TOKEN")
    default = 443 if parts.scheme == "https" else 80
    return Target(
        scheme=parts.scheme,
        host=parts.hostname,
        port=default if port is None else port,
        path=parts.path.rstrip("/"),
        token=token,
    )


def _bad_url(url: str) -> UsageError:
    return UsageError(f"not a server's address: {url[:200]!r}", hint="as in https://jobs.example.org:8765")


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdecimal())


def find_token(environ: Mapping[str, str]) -> str | None:
    """Take the token from `JOBMETER_TOKEN`, else from a file that only its owner can read."""
    given = environ.get("JOBMETER_TOKEN")
    if given:
        return given
    folder = environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    path = environ.get("JOBMETER_TOKEN_FILE") or os.path.join(folder, "jobmeter", "token")
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read the token in {path}: {reason_of(error)}") from None
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077:
            raise UsageError(f"the token in {path} can be read by others", hint=f"chmod 600 {path}")
        return file.read(4096).decode("ascii", "replace").strip() or None


class Wire:
    """A connection to a server, opened when needed and kept for the next request."""

    def __init__(
        self,
        server: Target,
        *,
        longest_seconds: float = LONGEST_SECONDS,
        longest_bytes: int = _LONGEST_ANSWER_BYTES,
    ) -> None:
        self._server = server
        self._longest_seconds = longest_seconds
        self._longest_bytes = longest_bytes
        self._connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def get(self, path: str) -> Answer:
        """Ask for a document."""
        return self._insist("GET", path, None, {})

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send a body and wait for the answer."""
        return self._insist("POST", path, body, headers)

    def _insist(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        reused = self._connection is not None
        try:
            return self._ask(method, path, body, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            if not reused:
                raise UnreachableError(f"the server hung up: {error}"[:200]) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise UnreachableError(_reason(error)) from None
        # an idle connection that the server closed meanwhile says nothing about the server
        return self._insist(method, path, body, headers)

    def _ask(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        connection = self._connection or self._connect()
        self._connection = connection
        begun = time.monotonic()
        if connection.sock is None:
            connection.connect()
        watchdog = threading.Timer(
            max(0.0, self._longest_seconds - (time.monotonic() - begun)), _hang_up, (connection.sock,)
        )
        watchdog.daemon = True
        watchdog.start()
        try:
            connection.request(method, self._server.path + path, body, self._headers(headers))
            reply = connection.getresponse()
            text = reply.read(self._longest_bytes + 1)
        finally:
            watchdog.cancel()
        if reply.length and len(text) <= self._longest_bytes:
            raise http.client.IncompleteRead(text, reply.length)
        if len(text) > self._longest_bytes or reply.will_close:
            self.close()
        return Answer(reply.status, text, _retry_after(reply.getheader("Retry-After")))

    def _connect(self) -> http.client.HTTPConnection:
        if self._server.scheme == "http":
            return http.client.HTTPConnection(self._server.host, self._server.port, timeout=SILENCE_SECONDS)
        import ssl

        return http.client.HTTPSConnection(
            self._server.host,
            self._server.port,
            timeout=SILENCE_SECONDS,
            context=ssl.create_default_context(),
        )

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        bearer = {} if self._server.token is None else {"Authorization": f"Bearer {self._server.token}"}
        return {"User-Agent": "jobmeter", **bearer, **more}


def _hang_up(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it was over in that moment


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "the server does not answer"
    if "WRONG_VERSION_NUMBER" in str(error):
        return "the server does not speak TLS: its address may begin with http://"
    return (reason_of(error) if isinstance(error, OSError) else str(error) or type(error).__name__)[:200]


def _retry_after(text: str | None) -> float | None:
    """Read `Retry-After`: seconds, or a date."""
    if not text:
        return None
    if text.strip().isdecimal():
        return min(float(text), _LONGEST_RETRY_SECONDS)
    from email.utils import parsedate_to_datetime

    try:
        seconds = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, seconds), _LONGEST_RETRY_SECONDS)


class Backoff:
    """How long to wait after a failure: twice as long each time, never all clients at once."""

    def __init__(
        self, first_seconds: float, longest_seconds: float, chance: Callable[[], float] = random.random
    ) -> None:
        self._first_seconds = first_seconds
        self._longest_seconds = longest_seconds
        self._chance = chance
        self._failures = 0

    def succeeded(self) -> None:
        """Begin anew."""
        self._failures = 0

    def failed(self, retry_after_seconds: float | None = None) -> float:
        """Say how long to wait; at least as long as the server asked for."""
        waiting = min(self._longest_seconds, self._first_seconds * 2.0 ** min(self._failures, 30))
        self._failures += 1
        spread = waiting * (0.5 + self._chance() / 2)
        return spread if retry_after_seconds is None else retry_after_seconds + spread * 0.5
