"""How a server is asked to be; light, because the command line knows of it before anything is served."""

import os
from dataclasses import dataclass
from pathlib import Path

from jobmeter.service import cache, database

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
    pending_requests: int = 1024
    """Requests whose answer has not begun."""
    requests_per_second: float = 500.0
    """Of one token; four seconds' worth may come at once."""
    strangers_per_second: float = 20.0
    """Of one address without a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """One server; checked by `service/binding.py`."""

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
