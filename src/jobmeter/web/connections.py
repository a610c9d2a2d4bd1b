"""Connections of clients that do not get to the point: who has not sent a whole head in time is hung up on.

uvicorn waits for the head of a request without end, so that anybody on the machine could use up every
descriptor of the server by connecting and saying nothing.
"""

import asyncio
import resource

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

HEAD_SECONDS = 20.0
_MOST_FILES = 16_384
_KEPT_FILES = 256
"""Descriptors that are not for clients: run folders, the index, webhooks."""
_MOST_CONNECTIONS = 4096


class ImpatientProtocol(H11Protocol):
    """One connection, with a limit on how long the head of a request may take."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._begin_to_wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._begin_to_wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _begin_to_wait(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _hang_up(self) -> None:
        self._patience = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


def room() -> int:
    """Allow as many descriptors as the system lets us, and say how many connections that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return (
        _MOST_CONNECTIONS
        if soft == resource.RLIM_INFINITY
        else max(16, min(_MOST_CONNECTIONS, soft - _KEPT_FILES))
    )
