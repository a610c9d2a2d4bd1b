"""Servers of one database tell each other what their readers must know."""

import asyncio
import math
import time
from collections.abc import Iterator

import pytest

from jobmeter.service import live, relaying
from jobmeter.service.live import Interest, Kind, LiveEvent
from jobmeter.service.relaying import RelayedHub
from jobmeter.service.server_settings import ServerSettings
from support import postgres

EVERYTHING = Interest()


@pytest.fixture
def hubs() -> Iterator[tuple[RelayedHub, RelayedHub]]:
    with postgres.database() as url:
        made = RelayedHub(url, pulse_seconds=0.1), RelayedHub(url, pulse_seconds=0.1)
        assert all(hub.listener.is_listening(10) for hub in made)
        yield made
        for hub in made:
            hub.close()


def event(text: str, **more: object) -> LiveEvent:
    return LiveEvent(kind=Kind.EVENT, run_id="a", data={"text": text, **more}, project="p")


async def wanted(hub: RelayedHub) -> None:
    deadline = time.monotonic() + 10
    while not hub.is_wanted_elsewhere():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def heard_until(reader: live.Reader, last: bytes) -> bytes:
    """Read until something was said."""
    told = b""
    async with asyncio.timeout(20):
        async for chunk in reader.chunks():
            told += chunk
            if last in told:
                return told
    raise AssertionError(told)


def test_a_reader_of_one_server_is_told_what_another_sees(hubs: tuple[RelayedHub, RelayedHub]) -> None:
    one, other = hubs

    async def follow() -> bytes:
        assert not one.is_wanted()
        reader = other.subscribe(EVERYTHING)
        await wanted(one)
        one.publish([event(str(number)) for number in range(500)])
        return await heard_until(reader, b'{"text":"499"}')

    told = asyncio.run(follow())
    assert [f'data: {{"text":"{number}"}}\n'.encode() in told for number in range(500)] == [True] * 500
    assert told.count(b"event: event\n") == 500


def test_a_reader_is_told_once_of_what_its_own_server_sees(hubs: tuple[RelayedHub, RelayedHub]) -> None:
    one, other = hubs

    async def follow() -> bytes:
        reader, elsewhere = one.subscribe(EVERYTHING), other.subscribe(EVERYTHING)
        await wanted(one)
        await wanted(other)
        one.publish([event("mine")])
        await heard_until(elsewhere, b"mine")
        other.publish([event("theirs")])
        return await heard_until(reader, b"theirs")

    told = asyncio.run(follow())
    assert (told.count(b"mine"), told.count(b"theirs")) == (1, 1)


def test_nobody_is_told_while_nobody_reads(hubs: tuple[RelayedHub, RelayedHub]) -> None:
    one, other = hubs
    one.publish([event("unheard")])
    assert not one.is_wanted()
    assert not other.is_wanted()
    assert other.held_bytes == 0


def test_an_event_that_is_too_long_becomes_the_order_to_read_it(hubs: tuple[RelayedHub, RelayedHub]) -> None:
    one, other = hubs

    async def follow() -> bytes:
        reader = other.subscribe(EVERYTHING)
        await wanted(one)
        one.publish([event("x" * 9000), event("odd \ud800\0", loss=math.nan)])
        return await heard_until(reader, b"odd")

    told = asyncio.run(follow())
    assert b'{"run_id":"a","too_long":true}' in told
    assert b'"loss": null' in told


def test_readers_catch_up_after_the_exchange_was_interrupted(hubs: tuple[RelayedHub, RelayedHub]) -> None:
    one, other = hubs

    async def follow() -> bytes:
        reader = other.subscribe(EVERYTHING)
        await wanted(one)
        postgres.server().execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
            " AND pid <> pg_backend_pid()"
        )
        await heard_until(reader, b"event: reset\n")
        assert await asyncio.to_thread(one.listener.is_listening, 10)
        await wanted(one)
        one.publish([event("again")])
        return await heard_until(reader, b"again")

    assert b"again" in asyncio.run(follow())


def test_a_server_without_a_database_has_a_hub_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOBMETER_DATABASE", raising=False)
    assert type(relaying.hub_of(ServerSettings(home="/nowhere"))) is live.Hub
