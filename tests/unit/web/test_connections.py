"""Clients that connect and say nothing, or never come to an end."""

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope

from jobmeter.web import connections


async def answer(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok", "more_body": False})


@asynccontextmanager
async def listening() -> AsyncIterator[int]:
    config = uvicorn.Config(
        answer, http=connections.ImpatientProtocol, port=0, lifespan="off", log_config=None, ws="none"
    )
    server = uvicorn.Server(config)
    server.capture_signals = _leave_signals_alone  # type: ignore[method-assign]
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


class _leave_signals_alone:  # noqa: N801  # stands in for a function
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


async def told(*parts: bytes) -> bytes:
    """Send parts, then listen until the server hangs up."""
    async with listening() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.02)
        found = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        return found


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)


@pytest.mark.parametrize("parts", [(), (b"GET / HT",), (b"GET / HTTP/1.1\r\n", b"host: x\r\n", b"a: b\r\n")])
def test_who_does_not_get_to_the_point_is_hung_up_on(parts: tuple[bytes, ...]) -> None:
    assert asyncio.run(told(*parts)) == b""


def test_a_second_request_that_does_not_end_is_hung_up_on_too() -> None:
    found = asyncio.run(told(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", b"GET / HT"))
    assert found.count(b"HTTP/1.1 200 OK") == 1


def test_a_whole_request_is_answered_however_long_ago_the_connection_was_made() -> None:
    found = asyncio.run(told(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
    assert found.endswith(b"ok")


def test_there_is_room_for_many_connections_as_far_as_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, before[1]))
        assert connections.room() >= 16
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
