"""What clients send: never more memory than allowed, never deeper than allowed."""

import asyncio
import gzip
import tracemalloc
import zlib

import pytest
import zstandard
from litestar.types import HTTPReceiveMessage

from jobmeter.web import bodies

MIB = 1 << 20


def receiving(*parts: bytes, end: bool = True) -> "bodies.Receive":
    messages: list[HTTPReceiveMessage] = [
        {"type": "http.request", "body": part, "more_body": not end or number < len(parts) - 1}
        for number, part in enumerate(parts)
    ]

    async def receive() -> HTTPReceiveMessage:
        if messages:
            return messages.pop(0)
        return {"type": "http.disconnect"}

    return receive


def test_a_body_is_read_whole() -> None:
    assert asyncio.run(bodies.read(receiving(b"ab", b"", b"c"), None, 3, 1.0)) == b"abc"


def test_nothing_is_read_where_no_body_is_announced() -> None:
    assert asyncio.run(bodies.read(receiving(b"ab"), 0, 3, 1.0)) == b""


def test_a_body_that_grows_past_the_limit_is_refused_however_it_was_announced() -> None:
    with pytest.raises(bodies.BadBodyError, match="larger than 3 bytes") as caught:
        asyncio.run(bodies.read(receiving(b"ab", b"cd"), 2, 3, 1.0))
    assert caught.value.status == 413


def test_a_body_that_breaks_off_is_refused() -> None:
    with pytest.raises(bodies.BadBodyError, match="ended within the body"):
        asyncio.run(bodies.read(receiving(b"ab", end=False), None, 3, 1.0))


def test_a_body_that_does_not_come_is_refused() -> None:
    async def never() -> HTTPReceiveMessage:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(bodies.BadBodyError, match="took longer") as caught:
        asyncio.run(bodies.read(never, None, 3, 0.01))
    assert caught.value.status == 408


@pytest.mark.parametrize(
    "body", [b"[" * 32 + b"]" * 32, b'{"a":"' + b"[" * 99 + b'"}', b'["\\"[[[["]', b"1", b""]
)
def test_json_up_to_the_depth_is_taken_and_brackets_in_text_do_not_count(body: bytes) -> None:
    bodies.check_json(body, "application/json", 32)


@pytest.mark.parametrize(
    "body",
    [b"[" * 33, b'{"a":' * 33, b'"x"' + b"[{" * 17, b"[" * 100_000, b'"' + b"\\" * 8 + b'"' + b"[" * 40],
)
def test_json_past_the_depth_is_refused(body: bytes) -> None:
    with pytest.raises(bodies.BadBodyError, match="32 deep") as caught:
        bodies.check_json(body, "application/problem+json; charset=utf-8", 32)
    assert caught.value.status == 400


def test_long_json_is_refused() -> None:
    with pytest.raises(bodies.BadBodyError, match="1048576 bytes at most"):
        bodies.check_json(b" " * (MIB + 1), "application/json", 32)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/octet-stream", "application/x-www-form-urlencoded", "json"]
)
def test_what_is_called_something_else_is_refused(kind: str) -> None:
    with pytest.raises(bodies.BadBodyError, match="send application/json") as caught:
        bodies.check_json(b"{}", kind, 32)
    assert caught.value.status == 415


def test_what_is_not_called_anything_is_looked_at_as_json() -> None:
    bodies.check_json(b"{}", None, 32)
    with pytest.raises(bodies.BadBodyError, match="32 deep"):
        bodies.check_json(b"[" * 99, None, 32)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        (None, b"hello"),
        ("identity", b"hello"),
        ("gzip", gzip.compress(b"hello")),
        ("GZIP", gzip.compress(b"hello")),
        ("zstd", zstandard.compress(b"hello")),
    ],
)
def test_every_encoding_is_undone(encoding: str | None, body: bytes) -> None:
    assert bodies.decoded(body, encoding, 5) == b"hello"


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_refused_in_bounded_memory(encoding: str) -> None:
    plain = bytes(256 * MIB)
    bomb = gzip.compress(plain, 1) if encoding == "gzip" else zstandard.compress(plain)
    del plain
    tracemalloc.start()
    with pytest.raises(bodies.BadBodyError, match="unpacks to more than") as caught:
        bodies.decoded(bomb, encoding, 8 * MIB)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.status == 413
    assert peak < 32 * MIB


def test_a_window_that_would_take_much_memory_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    body = compressor.compress(b"x" * 100) + compressor.flush()
    with pytest.raises(bodies.BadBodyError, match="no zstd"):
        bodies.decoded(body, "zstd", MIB)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", b"hello"),
        ("gzip", b""),
        ("gzip", gzip.compress(b"hello")[:-3]),
        ("gzip", gzip.compress(b"hello") + b"more"),
        ("gzip", zlib.compress(b"hello")),
        ("zstd", b"hello"),
        ("zstd", b""),
        ("zstd", zstandard.compress(b"hello" * 100)[:-3]),
        ("zstd", zstandard.compress(b"hello") + b"more"),
    ],
)
def test_what_is_not_whole_or_not_that_is_refused(encoding: str, body: bytes) -> None:
    with pytest.raises(bodies.BadBodyError) as caught:
        bodies.decoded(body, encoding, 1000)
    assert caught.value.status == 400


def test_another_encoding_is_refused() -> None:
    with pytest.raises(bodies.BadBodyError, match="unknown content-encoding: br") as caught:
        bodies.decoded(b"", "br", 1)
    assert caught.value.status == 415
