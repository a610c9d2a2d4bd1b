"""Where a server listens, and under which names: checked before it starts, and for every request.

Loopback is no wall: others on the machine can connect to it, and a web page can have its own name resolve to
it. So a token is asked for there too, and Host is parsed as an address or compared as a whole name.
"""

import ipaddress
import os
import socket
import ssl
import stat
from typing import TYPE_CHECKING

from jobmeter.errors import UsageError, reason_of

if TYPE_CHECKING:
    from jobmeter.service.server_settings import ServerSettings

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_BACKLOG = 512
_STALLED_MS = 120_000


def check(settings: "ServerSettings") -> None:
    """Refuse settings that would let others in."""
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise UsageError("--tls-cert and --tls-key go together")
    for path in (settings.tls_cert, settings.tls_key):
        if path is not None and not os.access(path, os.R_OK):
            raise UsageError(f"cannot read {path}")
    if settings.tls_cert is not None:
        _check_pair(settings.tls_cert, settings.tls_key)
    if not 0 <= settings.port <= 65535:
        raise UsageError(f"there is no port {settings.port}", hint="use one from 1 to 65535, or 0 for any")
    if settings.unix_socket is not None or is_loopback(settings.host):
        return
    if not settings.auth:
        raise UsageError(
            f"--no-auth on {settings.host} would let the whole network in",
            hint="use it on 127.0.0.1 or with --unix-socket only",
        )
    if settings.metrics_open:
        raise UsageError(f"--metrics-open is for loopback only, not {settings.host}")
    if settings.tls_cert is None and not settings.allow_plain_http:
        raise UsageError(
            f"tokens would cross the network to {settings.host} in plain text",
            hint="give --tls-cert and --tls-key, or --allow-plain-http behind a proxy that has them",
        )


def _check_pair(cert: str, key: str | None) -> None:
    """Refuse a certificate and a key that cannot be served with; a pass phrase would be asked for at every start."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password=b"")
    except OSError:
        raise UsageError(
            f"{cert} and {key} are no certificate and its key, or the key has a pass phrase",
            hint="both are PEM files; see them with: openssl x509 -in FILE -text",
        ) from None


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def is_allowed_host(header: str, settings: "ServerSettings") -> bool:
    """Tell whether a Host header names this server: an address it can have, or a whole name."""
    host = host_of(header)
    if host is None:
        return False
    if host == "localhost" or host in settings.allowed_hosts or host == settings.host.lower():
        return True
    address = _address(host)
    if address is None:
        return False
    bound = _address(settings.host)
    # no name can be made to resolve to this literal, so it is safe; but only wildcards have many addresses
    return address.is_loopback or (bound is not None and (bound.is_unspecified or bound == address))


def host_of(header: str) -> str | None:
    """Take the host out of a Host header, in lower case, without brackets; None where it is malformed."""
    if header.startswith("["):
        host, bracket, port = header[1:].partition("]")
        if not bracket or not isinstance(_address(host), ipaddress.IPv6Address):
            return None
        port = port.removeprefix(":") if port.startswith(":") or not port else "?"
    else:
        host, _, port = header.partition(":")
    # a number of thousands of digits is no int to Python but an error
    if port and not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65535):
        return None
    return host.lower() or None


def _address(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def listen(settings: "ServerSettings") -> socket.socket:
    """Open the socket, before anything else is begun."""
    if settings.unix_socket is not None:
        return _listen_unix(settings.unix_socket)
    try:
        found = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise UsageError(f"cannot find {settings.host}: {reason_of(error)}") from None
    family, _, _, _, address = found[0]
    # named, or asyncio does not know it as TCP and leaves Nagle's algorithm on: 40 ms on every answer
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # what is accepted inherits these: who vanished, or takes nothing of an answer, is hung up on by the kernel
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STALLED_MS)
    try:
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"cannot listen on {settings.host}:{settings.port}: {reason_of(error)}",
            hint="choose another with --port, or stop the server that has it",
        ) from None
    return listener


def _listen_unix(path: str) -> socket.socket:
    """Bind a Unix socket that only this user can open, from its first moment on."""
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    except OSError as error:
        listener.close()
        raise UsageError(f"cannot listen on {path}: {reason_of(error)}") from None
    finally:
        os.umask(before)
    listener.listen(_BACKLOG)
    return listener


def leave(settings: "ServerSettings") -> None:
    """Take the Unix socket away again."""
    if settings.unix_socket is None:
        return
    try:
        os.unlink(settings.unix_socket)
    except FileNotFoundError:
        return  # somebody tidied up before us


def _remove_stale(path: str) -> None:
    """Take away what a server left that was killed; one that answers is left alone."""
    try:
        status = os.lstat(path)
    except OSError:
        return  # nothing is there, or binding will say why not
    if not stat.S_ISSOCK(status.st_mode):
        raise UsageError(f"{path} is there already and is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        try:
            trial.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except OSError as error:
            raise UsageError(f"cannot use {path}: {reason_of(error)}") from None
    raise UsageError(f"another server listens on {path}")
