"""The application in a real server process: sockets, signals, and an orderly end."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import uvicorn
from litestar.concurrency import set_asyncio_executor

from jobmeter.service import announcing, binding
from jobmeter.service.server_settings import ServerSettings
from jobmeter.service.serving import Server
from jobmeter.web import app, connections

_LEAVE_SECONDS = 10
"""How long requests that are being answered may take to end when the server stops."""


class _Uvicorn(uvicorn.Server):
    """Ends live streams before it waits for connections, and says when it can be asked."""

    def __init__(self, config: uvicorn.Config, server: Server, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._server = server
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._server.hub.close()
        await super().shutdown(sockets)


def serve(settings: ServerSettings, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is called with the URL once requests are answered."""
    logging.basicConfig(format="jobmeter: %(message)s", level=logging.WARNING)
    # whoever sends garbage must not be able to fill the log
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    listener = binding.listen(settings)
    with listener, ThreadPoolExecutor(settings.threads, "jobmeter-request") as workers:
        set_asyncio_executor(workers)
        server = Server(settings)
        server.require_store()
        config = uvicorn.Config(
            app.build(server),
            access_log=False,
            http=connections.ImpatientProtocol,
            h11_max_incomplete_event_size=64 << 10,
            limit_concurrency=connections.room(),
            log_config=None,
            loop="asyncio",
            proxy_headers=False,
            server_header=False,
            ssl_certfile=settings.tls_cert,
            ssl_keyfile=settings.tls_key,
            timeout_graceful_shutdown=_LEAVE_SECONDS,
            ws="none",
        )
        url = _url(settings, listener)
        announcing.announce(settings.home, _url_from_here(settings, url), auth=settings.auth)
        # what ends a server is raised again when it has ended, for whoever started it: that is us
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            asyncio.run(_Uvicorn(config, server, lambda: ready(url)).serve([listener]))
        except KeyboardInterrupt:
            return
        finally:
            announcing.withdraw(settings.home)
            binding.leave(settings)


def _url(settings: ServerSettings, listener: socket.socket) -> str:
    if settings.unix_socket is not None:
        return f"unix:{settings.unix_socket}"
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'http' if settings.tls_cert is None else 'https'}://{shown}:{port}/"


def _url_from_here(settings: ServerSettings, url: str) -> str:
    """Name an address that a browser of this machine can open: all addresses together are none."""
    for wildcard, loopback in (("//0.0.0.0:", "//127.0.0.1:"), ("//[::]:", "//[::1]:")):
        if wildcard in url:
            name = settings.allowed_hosts[0] if settings.allowed_hosts and settings.tls_cert else None
            return url.replace(wildcard, loopback if name is None else f"//{name}:")
    return url
