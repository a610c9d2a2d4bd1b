"""Readers of a live stream over plain sockets: as many as are asked for in one process, and one that never reads."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import httpx

ALL_RUNS = "/api/v1/stream"


@dataclass(frozen=True, slots=True)
class Heard:
    """One event as a reader got it."""

    kind: str
    event_id: str
    data: dict[str, object]
    at: float
    """Wall clock when it came."""


@dataclass(slots=True)
class Ear:
    """What one reader heard so far, as it came: two hundred in one process have no time to understand it at once."""

    pieces: list[tuple[float, bytes]] = field(default_factory=list)

    def has(self, text: bytes) -> bool:
        """Tell whether something was said."""
        return any(text in piece for _, piece in self.pieces)

    def heard(self) -> list[Heard]:
        """Understand it all."""
        rest, found = b"", []
        for at, piece in self.pieces:
            *blocks, rest = (rest + piece).split(b"\n\n")
            found += [heard for block in blocks if (heard := _event(block, at)) is not None]
        return found


def request(url: str, token: str, path: str = ALL_RUNS, last: str | None = None) -> bytes:
    """Write the request of a stream."""
    resume = f"Last-Event-ID: {last}\r\n" if last is not None else ""
    head = f"GET {path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nAuthorization: Bearer {token}\r\n{resume}\r\n"
    return head.encode()


async def _pieces(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Read pieces off a connection until the server ends it."""
    await reader.readuntil(b"\r\n\r\n")
    while size := int(await reader.readuntil(b"\r\n"), 16):
        yield (await reader.readexactly(size + 2))[:-2]


def _event(block: bytes, at: float) -> Heard | None:
    lines = dict(line.partition(": ")[::2] for line in block.decode().split("\n") if line[:1] != ":")
    if "data" not in lines:
        return None
    return Heard(lines["event"], lines["id"], json.loads(lines["data"]), at)


async def listen(url: str, token: str, ear: Ear, ready: Callable[[], None]) -> None:
    """Follow all runs until cancelled or the server ends."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(request(url, token))
    try:
        async for piece in _pieces(reader):
            if not ear.pieces:
                ready()
            ear.pieces.append((time.time(), piece))
    except (asyncio.IncompleteReadError, ConnectionError):
        return  # the server was stopped
    finally:
        writer.close()


@contextmanager
def following(client: httpx.Client, path: str = ALL_RUNS, **options: object) -> Iterator[Iterator[Heard]]:
    """Follow a stream with an ordinary HTTP client."""
    with client.stream("GET", path, **options) as answer:  # type: ignore[arg-type]
        if answer.status_code != 200:
            answer.read()
        answer.raise_for_status()
        yield _blocks(answer)


def _blocks(answer: httpx.Response) -> Iterator[Heard]:
    rest = b""
    for piece in answer.iter_raw():
        *blocks, rest = (rest + piece).split(b"\n\n")
        for block in blocks:
            heard = _event(block, time.time())
            if heard is not None:
                yield heard


def delays(usage: Path, heard: list[Heard]) -> list[float]:
    """Say for every sample of a run how many seconds after it was taken the reader knew of it."""
    taken = [_seconds(json.loads(line)["timestamp"]) for line in usage.read_text().splitlines()]
    samples = [one for one in heard if one.kind == "sample" and one.data["run_id"] == usage.parent.name]
    told = [(_seconds(str(one.data["timestamp"])), one.at) for one in samples]
    return [min(at for stamp, at in told if stamp >= moment) - moment for moment in taken]


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
