"""The hub: every reader at its own pace, none able to hold up another or to make memory grow."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine

import pytest

from jobmeter.service import live
from jobmeter.service.live import Hub, Interest, Kind, LiveEvent

ALL = Interest()


def event(run_id: str = "r1", project: str | None = None, **data: object) -> LiveEvent:
    return LiveEvent(kind=Kind.SAMPLE, run_id=run_id, data={"run_id": run_id, **data}, project=project)


def parse(chunk: bytes) -> list[dict[str, str]]:
    """Read a piece of a stream as a browser does."""
    found = []
    for block in chunk.decode().split("\n\n"):
        lines = [line.partition(": ") for line in block.split("\n") if line and not line.startswith(":")]
        if lines:
            found.append({name: value for name, _, value in lines})
    return found


def numbers(chunk: bytes) -> list[int]:
    return [json.loads(one["data"])["n"] for one in parse(chunk)]


async def within(step: Coroutine[object, object, bytes]) -> bytes:
    return await asyncio.wait_for(step, 20)


def reading(hub: Hub, interest: Interest = ALL, last: str | None = None) -> AsyncIterator[bytes]:
    return hub.subscribe(interest, last_event_id=last).chunks()


def played(scene: Callable[[Hub], Coroutine[object, object, None]], **settings: float) -> Hub:
    hub = Hub(**settings)  # type: ignore[arg-type]  # counts are whole numbers, seconds are not
    asyncio.run(scene(hub))
    return hub


def test_a_reader_is_greeted_and_then_told_what_is_published() -> None:
    async def scene(hub: Hub) -> None:
        stream = reading(hub)
        [hello] = parse(await within(anext(stream)))
        assert hello["event"] == "hello"
        assert hello["retry"] == "3000"
        assert hello["id"] == f"{hub.epoch}-0"
        hub.publish([event(n=1), event(n=2)])
        first, second = parse(await within(anext(stream)))
        assert first == {"id": f"{hub.epoch}-1", "event": "sample", "data": '{"run_id":"r1","n":1}'}
        assert second["id"] == f"{hub.epoch}-2"

    played(scene)


def test_what_another_thread_publishes_wakes_a_waiting_reader() -> None:
    async def scene(hub: Hub) -> None:
        stream = reading(hub)
        await within(anext(stream))
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        threading.Thread(target=hub.publish, args=([event(n=7)],)).start()
        assert numbers(await asyncio.wait_for(waiting, 20)) == [7]

    played(scene)


def test_a_reader_that_comes_back_gets_what_it_missed_and_nothing_twice() -> None:
    async def scene(hub: Hub) -> None:
        hub.publish([event(n=1), event(n=2), event(n=3)])
        hub.publish([event(n=4)])
        stream = reading(hub, last=f"{hub.epoch}-2")
        await within(anext(stream))
        assert numbers(await within(anext(stream))) == [3, 4]
        hub.publish([event(n=5)])
        assert numbers(await within(anext(stream))) == [5]

    played(scene)


def test_a_reader_that_has_the_latest_event_misses_nothing() -> None:
    async def scene(hub: Hub) -> None:
        hub.publish([event(n=1)])
        stream = reading(hub, last=f"{hub.epoch}-1")
        assert [one["event"] for one in parse(await within(anext(stream)))] == ["hello"]
        hub.publish([event(n=2)])
        assert numbers(await within(anext(stream))) == [2]

    played(scene)


@pytest.mark.parametrize(
    "last", ["", "0badcafe-1", "-1", "x", "{epoch}-99", "{epoch}--1", "{epoch}-٣", "{epoch}-" + "9" * 30]
)
def test_an_id_of_another_life_means_catch_up(last: str) -> None:
    async def scene(hub: Hub) -> None:
        hub.publish([event(n=1)])
        stream = reading(hub, last=last.format(epoch=hub.epoch))
        hello, reset = parse(await within(anext(stream)))
        assert (hello["event"], reset["event"]) == ("hello", "reset")
        assert reset["id"] == f"{hub.epoch}-1"
        hub.publish([event(n=2)])
        assert numbers(await within(anext(stream))) == [2]

    played(scene)


def test_an_id_the_history_has_gone_past_means_catch_up() -> None:
    async def scene(hub: Hub) -> None:
        for n in range(50):
            hub.publish([event(n=n)])
        [hello, reset] = parse(await within(anext(reading(hub, last=f"{hub.epoch}-3"))))
        assert reset["event"] == "reset"
        assert hello["id"] == f"{hub.epoch}-50"

    played(scene, history_bytes=500)


def test_a_slow_reader_is_told_to_catch_up_and_then_goes_on() -> None:
    async def scene(hub: Hub) -> None:
        slow, quick = reading(hub), reading(hub)
        await within(anext(slow))
        await within(anext(quick))
        for n in range(100):
            hub.publish([event(n=n)])
            assert numbers(await within(anext(quick))) == [n]
        [reset] = parse(await within(anext(slow)))
        assert (reset["event"], reset["id"]) == ("reset", f"{hub.epoch}-100")
        hub.publish([event(n=100)])
        assert numbers(await within(anext(slow))) == [100]
        assert numbers(await within(anext(quick))) == [100]

    hub = played(scene, history_bytes=1_000)
    assert hub.held_bytes <= 1_000


def test_after_a_loss_readers_and_those_who_come_back_must_catch_up() -> None:
    async def scene(hub: Hub) -> None:
        stays = reading(hub)
        await within(anext(stays))
        hub.publish([event(n=1)])
        await within(anext(stays))
        hub.lose()
        assert b"event: reset" in await within(anext(stays))
        assert b"event: reset" in await within(anext(reading(hub, last=f"{hub.epoch}-1")))
        hub.publish([event(n=2)])
        assert numbers(await within(anext(stays))) == [2]

    played(scene)


def test_only_the_runs_and_projects_asked_for_are_told() -> None:
    async def scene(hub: Hub) -> None:
        of_run = reading(hub, Interest(runs=frozenset(["r2"])))
        of_project = reading(hub, Interest(projects=frozenset(["vision"])))
        of_both = reading(hub, Interest(runs=frozenset(["r2"]), projects=frozenset(["vision"])))
        for stream in (of_run, of_project, of_both):
            await within(anext(stream))
        hub.publish([event("r1", "vision", n=1), event("r2", "speech", n=2), event("r3", "vision", n=3)])
        hub.publish([event("r2", "vision", n=4)])
        assert numbers(await within(anext(of_run))) == [2, 4]
        assert numbers(await within(anext(of_project))) == [1, 3, 4]
        assert numbers(await within(anext(of_both))) == [4]

    played(scene)


def test_a_quiet_stream_has_heartbeats_that_move_its_id_on() -> None:
    async def scene(hub: Hub) -> None:
        stream = reading(hub, Interest(runs=frozenset(["quiet"])))
        await within(anext(stream))
        hub.publish([event("busy", n=1)])
        beat = await within(anext(stream))
        assert beat == f":\nid: {hub.epoch}-1\n\n".encode()

    played(scene, heartbeat_seconds=0.01)


def test_closing_the_hub_ends_every_stream() -> None:
    async def scene(hub: Hub) -> None:
        streams = [reading(hub) for _ in range(3)]
        for stream in streams:
            await within(anext(stream))
        ends = [asyncio.ensure_future(anext(stream, b"end")) for stream in streams]
        await asyncio.sleep(0)
        hub.close()
        assert await asyncio.wait_for(asyncio.gather(*ends), 20) == [b"end"] * 3
        hub.publish([event(n=1)])
        assert hub.held_bytes == 0

    played(scene)


def test_streams_are_limited_over_all_and_for_each_owner() -> None:
    async def scene(hub: Hub) -> None:
        mine = [hub.subscribe(ALL, owner="ada") for _ in range(2)]
        with pytest.raises(live.TooManyReadersError) as refused:
            hub.subscribe(ALL, owner="ada")
        assert refused.value.of_owner
        hub.subscribe(ALL, owner="bob")
        with pytest.raises(live.TooManyReadersError) as full:
            hub.subscribe(ALL, owner="eve")
        assert not full.value.of_owner
        mine[0].close()
        hub.subscribe(ALL, owner="ada")
        assert hub.readers == 3

    played(scene, readers=3, readers_of_one=2)


def test_an_event_that_is_too_long_is_the_order_to_read_it() -> None:
    async def scene(hub: Hub) -> None:
        stream = reading(hub)
        await within(anext(stream))
        hub.publish([event(command="x" * (live.EVENT_BYTES + 1))])
        [told] = parse(await within(anext(stream)))
        assert json.loads(told["data"]) == {"run_id": "r1", "too_long": True}

    played(scene)


def test_a_large_burst_is_handed_over_in_pieces() -> None:
    async def scene(hub: Hub) -> None:
        stream = reading(hub)
        await within(anext(stream))
        hub.publish([event(f"r{n}", n=n, text="x" * 10_000) for n in range(200)])
        seen: list[int] = []
        while len(seen) < 200:
            piece = await within(anext(stream))
            assert len(piece) <= 2 * live.BURST_BYTES
            seen += numbers(piece)
        assert seen == list(range(200))

    played(scene)


def test_names_with_line_ends_and_broken_bytes_stay_inside_their_event() -> None:
    async def scene(hub: Hub) -> None:
        stream = reading(hub)
        await within(anext(stream))
        hub.publish([event(name="a\n\nevent: alert\r\ndata: x", n=float("nan"))])
        hub.publish([event(name="caf\udce9\n\nid: 9", n=float("inf"), more=[1.5, float("nan")])])
        first, second = parse(await within(anext(stream)))
        assert json.loads(first["data"])["name"] == "a\n\nevent: alert\r\ndata: x"
        assert json.loads(second["data"]) == {
            "run_id": "r1",
            "name": "caf\udce9\n\nid: 9",
            "n": None,
            "more": [1.5, None],
        }
        assert second["id"] == f"{hub.epoch}-2"

    played(scene)


def test_readers_of_a_loop_that_is_gone_are_forgotten() -> None:
    async def scene(hub: Hub) -> None:
        hub.subscribe(ALL)

    hub = played(scene)
    assert hub.readers == 1
    hub.publish([event(n=1)])
    assert hub.readers == 0


def test_publishing_nothing_is_nothing() -> None:
    hub = Hub()
    hub.publish([])
    assert hub.held_bytes == 0
