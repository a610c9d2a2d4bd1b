"""Who is told what happens while it happens: one bounded history that every live reader follows at its own pace.

Writers (the keeper's thread, alerts, another server process) publish bursts of events; each is encoded once, for
all readers. A reader has no queue of its own, only a place in the history: one that is slow, or stopped, costs
nothing, holds nobody up, and is told to catch up (`reset`) once the history has gone past its place.

What can mislead: ids are of this life of the server. An id of an earlier life, or of another process, is not an
error: the reader is told to catch up by reading, which is also what it does after `reset`.
"""

import asyncio
import json
import math
import secrets
import threading
import time
from bisect import bisect_left
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import msgspec

from jobmeter.errors import JobmeterError

HEARTBEAT_SECONDS = 15.0
RETRY_MILLISECONDS = 3_000
HISTORY_BYTES = 16 << 20
HISTORY_BURSTS = 8_192
BURST_BYTES = 256 << 10
"""The most that is handed to one connection at once: what a stopped reader can hold in memory."""
EVENT_BYTES = 64 << 10
"""A longer event is sent as the order to read it: a command line can have megabytes."""
READERS, READERS_OF_ONE = 1_000, 250
RETURN_SECONDS = 300.0
"""How long after the last reader left what happens is still kept for its return."""


class Kind(Enum):
    """What a live event is about."""

    RUN = "run"
    SAMPLE = "sample"
    STEP = "step"
    EVENT = "event"
    ALERT = "alert"
    LOG = "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEvent:
    """Something that happened to a run, as live readers are told it."""

    kind: Kind
    run_id: str
    data: Mapping[str, object]
    project: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """Which events a reader wants: those of some runs, or of some projects, or all."""

    runs: frozenset[str] | None = None
    projects: frozenset[str] | None = None

    def is_all(self) -> bool:
        """Tell whether everything is wanted."""
        return self.runs is None and self.projects is None


class TooManyReadersError(JobmeterError):
    """There are as many live readers as the server keeps, over all or of one owner."""

    def __init__(self, message: str, *, of_owner: bool) -> None:
        super().__init__(message, hint="close another stream, or try again later")
        self.of_owner = of_owner


class _Frame(NamedTuple):
    number: int
    project: str | None
    text: bytes


class _Burst:
    """Events that were published together, as they go over the wire."""

    __slots__ = ("first", "last", "of_runs", "text")

    def __init__(self, first: int, frames: Sequence[tuple[str, _Frame]]) -> None:
        self.first = first
        self.last = frames[-1][1].number
        self.text = b"".join(frame.text for _, frame in frames)
        self.of_runs: dict[str, list[_Frame]] = {}
        for run_id, frame in frames:
            self.of_runs.setdefault(run_id, []).append(frame)

    def chosen(self, interest: Interest, after: int) -> bytes:
        """Give what a reader wants of it, past the event it already has."""
        if interest.is_all() and after < self.first:
            return self.text
        wanted = self.of_runs if interest.runs is None else interest.runs & self.of_runs.keys()
        frames = [
            frame
            for run_id in wanted
            for frame in self.of_runs[run_id]
            if frame.number > after and (interest.projects is None or frame.project in interest.projects)
        ]
        return b"".join(frame.text for frame in sorted(frames))


class Hub:
    """Takes events from any thread and gives them to readers in event loops."""

    def __init__(
        self,
        *,
        history_bytes: int = HISTORY_BYTES,
        readers: int = READERS,
        readers_of_one: int = READERS_OF_ONE,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.epoch = secrets.token_hex(4)
        """Of this life: ids of another mean nothing here."""
        self.heartbeat_seconds = heartbeat_seconds
        self._history_bytes = history_bytes
        self._limits = (readers, readers_of_one)
        self._lock = threading.Lock()
        self._bursts: dict[int, _Burst] = {}
        self._oldest = self._next = 0
        self._held_bytes = 0
        self._published = 0
        self._closed = False
        self._left_at = -math.inf
        self._readers: set[Reader] = set()

    def publish(self, events: Iterable[LiveEvent]) -> None:
        """Tell all readers; from any thread, never waiting for one of them."""
        encoded = [(event, _encode(event)) for event in events]
        if not encoded:
            return
        with self._lock:
            if self._closed:
                return
            for burst in self._burst(encoded):
                self._keep(burst)
        self._wake()

    def subscribe(self, interest: Interest, *, last_event_id: str | None = None, owner: str = "") -> "Reader":
        """Follow from now, or from just past an event; call it in the event loop that will read."""
        with self._lock:
            most, most_of_one = self._limits
            if len(self._readers) >= most:
                raise TooManyReadersError(f"all {most} live streams are taken", of_owner=False)
            if sum(reader.owner == owner for reader in self._readers) >= most_of_one:
                raise TooManyReadersError(f"this token has {most_of_one} live streams already", of_owner=True)
            reader = Reader(self, interest, owner, self._place_after(last_event_id))
            self._readers.add(reader)
        return reader

    def is_wanted(self) -> bool:
        """Tell whether publishing is worth its work; if not, an id from before now means catch up."""
        with self._lock:
            if self._readers or time.monotonic() - self._left_at < RETURN_SECONDS:
                return True
            self._begin_anew()
            return False

    def lose(self) -> None:
        """Take note that events were missed: every reader, and who comes back, is told to catch up."""
        with self._lock:
            self._begin_anew()
        self._wake()

    def leave(self, reader: "Reader") -> None:
        """Forget a reader."""
        with self._lock:
            self._readers.discard(reader)
            self._left_at = time.monotonic()

    def close(self) -> None:
        """End every stream; a server calls it before it waits for its connections."""
        with self._lock:
            self._closed = True
        self._wake()

    @property
    def is_closed(self) -> bool:
        """Tell whether nothing more will come."""
        return self._closed

    @property
    def readers(self) -> int:
        """Count the streams that are open."""
        return len(self._readers)

    @property
    def held_bytes(self) -> int:
        """Say how much the history takes."""
        return self._held_bytes

    def greeting(self, place: "Place") -> bytes:
        """Say hello: how soon to come back, and from which event on."""
        told = msgspec.json.encode({"heartbeat_seconds": self.heartbeat_seconds})
        hello = b"retry: %d\n%bevent: hello\ndata: %b\n\n" % (RETRY_MILLISECONDS, self._id(place), told)
        return hello + (self.reset(place) if place.lost else b"")

    def reset(self, place: "Place") -> bytes:
        """Tell a reader that it missed events and goes on here: what it shows must be read again."""
        return self._id(place) + b'event: reset\ndata: {"reason":"missed"}\n\n'

    def heartbeat(self, place: "Place") -> bytes:
        """Say that the stream lives; the id keeps a reader of a quiet run from falling behind the history."""
        return b":\n" + self._id(place) + b"\n"

    def _id(self, place: "Place") -> bytes:
        return b"id: %b-%d\n" % (self.epoch.encode(), place.after)

    def take(self, place: "Place", interest: Interest) -> tuple[bytes, "Place"]:
        """Give what follows a place, at most about a burst's worth, and the place after it."""
        parts: list[bytes] = []
        size, at = 0, place.burst
        with self._lock:
            if at < self._oldest:
                return b"", Place(self._next, self._published, lost=True)
            after = place.after
            while at < self._next and size < BURST_BYTES:
                burst = self._bursts[at]
                parts.append(burst.chosen(interest, after))
                size += len(parts[-1])
                after = burst.last
                at += 1
        return b"".join(parts), Place(at, after)

    def _place_after(self, event_id: str | None) -> "Place":
        """Find where a reader that has this event goes on; at the end where that is not known any more."""
        end = Place(self._next, self._published)
        if event_id is None:
            return end
        number = self._number_of(event_id)
        held = range(self._oldest, self._next)
        first_held = self._bursts[self._oldest].first if held else self._published + 1
        if number is None or number + 1 < first_held:
            return end._replace(lost=True)
        place = bisect_left(held, number + 1, key=lambda one: self._bursts[one].last)
        return Place(self._oldest + place, number)

    def _number_of(self, event_id: str | None) -> int | None:
        """Read an id of this life; None for any other."""
        epoch, _, digits = (event_id or "").partition("-")
        if epoch != self.epoch or not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
            return None
        number = int(digits)
        return number if number <= self._published else None

    def _burst(self, encoded: Sequence[tuple[LiveEvent, bytes]]) -> Iterable[_Burst]:
        """Number events and pack them into bursts of bounded size."""
        frames: list[tuple[str, _Frame]] = []
        size = 0
        for event, text in encoded:
            self._published += 1
            line = self._id(Place(0, self._published)) + text
            frames.append((event.run_id, _Frame(self._published, event.project, line)))
            size += len(line)
            if size >= BURST_BYTES - EVENT_BYTES:
                yield _Burst(frames[0][1].number, frames)
                frames, size = [], 0
        if frames:
            yield _Burst(frames[0][1].number, frames)

    def _keep(self, burst: _Burst) -> None:
        self._bursts[self._next] = burst
        self._next += 1
        self._held_bytes += len(burst.text)
        while self._held_bytes > self._history_bytes or len(self._bursts) > HISTORY_BURSTS:
            self._held_bytes -= len(self._bursts.pop(self._oldest).text)
            self._oldest += 1

    def _begin_anew(self) -> None:
        """Leave a hole in the history that nobody gets over without being told."""
        self._published += 1
        self._next += 1
        self._oldest = self._next
        self._bursts.clear()
        self._held_bytes = 0

    def _wake(self) -> None:
        with self._lock:
            loops: dict[asyncio.AbstractEventLoop, list[Reader]] = {}
            for reader in self._readers:
                loops.setdefault(reader.loop, []).append(reader)
        for loop, readers in loops.items():
            try:
                loop.call_soon_threadsafe(_wake_all, readers, self._closed)
            except RuntimeError:
                # the loop was closed under its readers: nobody is there to be told
                for reader in readers:
                    self.leave(reader)


class Place(NamedTuple):
    """Where in the history a reader stands."""

    burst: int
    after: int
    """The event it already has."""
    lost: bool = False
    """What lies between its last event and here is not known any more."""


class Reader:
    """One live stream; iterate over it once, and `close` it."""

    def __init__(self, hub: Hub, interest: Interest, owner: str, place: Place) -> None:
        self.owner = owner
        self.loop = asyncio.get_running_loop()
        self.news = asyncio.Event()
        self.end = asyncio.Event()
        self._hub = hub
        self._interest = interest
        self._place = place

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield whole events as bytes of a server-sent event stream, a comment when nothing happens."""
        hub, place = self._hub, self._place
        yield hub.greeting(place)
        place = place._replace(lost=False)
        while not hub.is_closed:
            self.news.clear()
            chunk, place = hub.take(place, self._interest)
            if place.lost:
                yield hub.reset(place)
                place = place._replace(lost=False)
            elif chunk:
                yield chunk
            elif not await self._told_in_time():
                yield hub.heartbeat(place)

    async def ended(self, grace_seconds: float) -> None:
        """Wait for the end of the hub, and then a little for what is being sent."""
        await self.end.wait()
        await asyncio.sleep(grace_seconds)

    def close(self) -> None:
        """Leave the hub."""
        self._hub.leave(self)

    async def _told_in_time(self) -> bool:
        try:
            await asyncio.wait_for(self.news.wait(), self._hub.heartbeat_seconds)
        except TimeoutError:
            return False
        return True


def _wake_all(readers: Iterable[Reader], is_end: bool) -> None:
    for reader in readers:
        reader.news.set()
        if is_end:
            reader.end.set()


def _encode(event: LiveEvent) -> bytes:
    """Lay out all but the id of an event; JSON holds no bare line ends, which would cut it."""
    data = as_json(event.data)
    if len(data) > EVENT_BYTES:
        data = as_json({"run_id": event.run_id, "too_long": True})
    return b"event: %b\ndata: %b\n\n" % (event.kind.value.encode(), data)


def as_json(data: Mapping[str, object] | Sequence[object]) -> bytes:
    """Write JSON on one line, whatever text it holds."""
    try:
        return msgspec.json.encode(data)
    except UnicodeEncodeError:
        # a name that was no UTF-8: JSON can hold its halves of characters, msgspec will not
        return json.dumps(_finite(data)).encode()


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
