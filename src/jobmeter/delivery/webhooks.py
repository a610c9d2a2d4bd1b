"""Signed webhooks: one POST to an address that was checked, and what came of it.

A URL in a config can name any machine. The name is resolved once, the addresses are checked, the connection is
made to the address that passed, and the peer of the open socket is checked again before a byte is sent: a name
that answers differently the second time gains nothing. Redirects are not followed, proxies of the environment are
not used, and no more than `_MOST_BYTES` of an answer is read. A receiver that drips bytes is cut off at the deadline.

The receiver checks `X-Jobmeter-Signature`: `sha256=` and the HMAC-SHA256, in hex, of the timestamp header, a dot and
the body. `Idempotency-Key` is the same for every attempt at one message.
"""

import hashlib
import hmac
import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from jobmeter.errors import UsageError, reason_of

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

TIMEOUT_SECONDS = 10.0
_MOST_BYTES = 64 << 10
_TO_BE_TRIED_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504))
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one attempt."""

    is_delivered: bool
    sentence: str
    may_retry: bool = False
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Where to post, and with what key to sign."""

    url: str
    secret: str | None = None
    allowed: tuple[Network, ...] = ()
    """Ranges that are not on the open Internet and may be posted to all the same."""
    timeout_seconds: float = TIMEOUT_SECONDS


class _RefusedError(Exception):
    """The target may not be connected to."""


def check_url(url: str) -> SplitResult:
    """Refuse what cannot be posted to whatever it resolves to."""
    # the URL itself is not repeated: paths of webhooks are secrets
    try:
        parts = urlsplit(url)
        port_is_wrong = parts.port == 0
        # a name that no resolver takes must not be found out when something is to be told
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise UsageError("the URL of a webhook cannot be read", hint="as in https://host/path") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port_is_wrong:
        raise UsageError("a webhook needs a URL of http or https", hint="as in https://host/path")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the URL of a webhook may not hold a password", hint="sign with secret or secret_file instead"
        )
    if any(not "!" <= letter <= "~" for letter in url):
        raise UsageError(
            "the URL of a webhook holds blanks or letters outside ASCII", hint="encode them as %20"
        )
    return parts


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Compute the signature header of a body."""
    made = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"sha256={made.hexdigest()}"


def post(target: Webhook, body: bytes, *, message_id: str, now: float) -> Outcome:
    """Try once to deliver a body; never raises for what the network does."""
    parts = check_url(target.url)
    timestamp = str(int(now))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "jobmeter",
        "Idempotency-Key": message_id,
        "X-Jobmeter-Timestamp": timestamp,
        "Connection": "close",
    }
    if target.secret is not None:
        headers["X-Jobmeter-Signature"] = sign(target.secret, timestamp, body)
    try:
        opened = _connect(parts, target)
    except _RefusedError as error:
        return Outcome(is_delivered=False, sentence=str(error))
    except ssl.SSLError as error:
        return Outcome(
            is_delivered=False,
            sentence=f"TLS failed: {error.reason or 'no secure connection'}",
            may_retry=True,
        )
    except OSError as error:
        return Outcome(is_delivered=False, sentence=f"cannot connect: {_why(error)}", may_retry=True)
    return _exchange(opened, parts, headers, body, target.timeout_seconds)


def is_allowed(address: Address, allowed: Sequence[Network]) -> bool:
    """Tell an address of the open Internet, or one that the config allows, from all others."""
    inner = _inside(address)
    if any(
        one in network for one in (address, inner) for network in allowed if network.version == one.version
    ):
        return True
    return all(one.is_global and not one.is_multicast for one in (address, inner))


def _inside(address: Address) -> Address:
    """Take an IPv4 address out of the IPv6 one that leads to it."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _connect(parts: SplitResult, target: Webhook) -> socket.socket:
    """Open a connection to an address that may be posted to."""
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    good = [one for one in found if is_allowed(_address(one[4]), target.allowed)]
    if not good:
        raise _RefusedError(
            "the address is not on the open Internet: name its range in allow, where that is meant"
        )
    opened = _open_first(good, target.timeout_seconds)
    try:
        if not is_allowed(_address(opened.getpeername()), target.allowed):
            raise _RefusedError("the connected peer is not on the open Internet")
        if parts.scheme == "https":
            return ssl.create_default_context().wrap_socket(opened, server_hostname=host)
    except (_RefusedError, OSError):
        opened.close()
        raise
    return opened


def _open_first(
    found: Sequence[
        tuple[
            socket.AddressFamily,
            socket.SocketKind,
            int,
            str,
            tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes],
        ]
    ],
    timeout: float,
) -> socket.socket:
    error: OSError = OSError("the name has no address")
    for family, kind, protocol, _, address in found[:4]:
        opened = socket.socket(family, kind, protocol)
        opened.settimeout(timeout)
        try:
            opened.connect(address)
        except OSError as failed:
            opened.close()
            error = failed
            continue
        return opened
    raise error


def _address(sockaddr: object) -> Address:
    # (host, port) or (host, port, flow, scope); a scope after % is no part of the address
    text = str(sockaddr[0]) if isinstance(sockaddr, tuple) else str(sockaddr)
    return ipaddress.ip_address(text.partition("%")[0])


def _exchange(
    opened: socket.socket, parts: SplitResult, headers: dict[str, str], body: bytes, timeout: float
) -> Outcome:
    """Send the request and read the answer within the time there is."""
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    connection.sock = opened
    # a receiver that sends a byte now and then never times out: whatever it does, the socket is shut at the deadline
    is_late = threading.Event()
    guard = threading.Timer(timeout, _shut, (opened, is_late))
    guard.daemon = True
    guard.start()
    path = parts.path or "/"
    try:
        connection.request(
            "POST", f"{path}?{parts.query}" if parts.query else path, body, _with_host(headers, parts)
        )
        answer = connection.getresponse()
        answer.read(_MOST_BYTES)
    except (OSError, http.client.HTTPException) as error:
        return Outcome(is_delivered=False, sentence=f"no answer: {_why(error)}", may_retry=True)
    finally:
        guard.cancel()
        connection.close()
    if is_late.is_set():
        return Outcome(is_delivered=False, sentence="no answer: it took too long", may_retry=True)
    return _judge(answer.status, answer.getheader("Retry-After"))


def _with_host(headers: dict[str, str], parts: SplitResult) -> dict[str, str]:
    return {"Host": parts.netloc, **headers}


def _shut(opened: socket.socket, is_late: threading.Event) -> None:
    is_late.set()
    try:
        opened.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is closed already


def _judge(status: int, retry_after: str | None) -> Outcome:
    if 200 <= status < 300:
        return Outcome(is_delivered=True, sentence=f"accepted with {status}")
    if 300 <= status < 400:
        return Outcome(is_delivered=False, sentence=f"answered {status}: redirects are not followed")
    again = status in _TO_BE_TRIED_AGAIN
    seconds = (
        float(retry_after)
        if retry_after is not None and retry_after.isdecimal() and len(retry_after) < 7
        else None
    )
    return Outcome(
        is_delivered=False, sentence=f"answered {status}", may_retry=again, retry_after_seconds=seconds
    )


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, OSError):
        return reason_of(error)
    return type(error).__name__
