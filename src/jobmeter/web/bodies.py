"""What clients send, in bounded memory: read up to a size, unpacked up to a size, nested up to a depth."""

import asyncio
import re
import zlib

from litestar.types import Receive

_JSON = "application/json"
_JSON_BYTES = 1 << 20
"""No JSON that this server takes is longer."""
_NOT_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"?|[^][{}"]+', re.DOTALL)
_GZIP = 16 + zlib.MAX_WBITS
_ZSTD_SLICE = 512
"""Bytes that are unpacked before the size is looked at again: they cannot become more than 16 MiB."""


class BadBodyError(Exception):
    """A body that is not taken."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


async def read(receive: Receive, length: int | None, most: int, seconds: float) -> bytes:
    """Read a whole body; one that comes too slowly, or is too long, is refused."""
    if length == 0:
        return b""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise BadBodyError(400, "the connection ended within the body")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise BadBodyError(413, f"the body is larger than {most} bytes")
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise BadBodyError(408, f"the body took longer than {seconds:g} s") from None


def check_json(body: bytes, content_type: str | None, depth: int) -> None:
    """Refuse what is no JSON, too long or too deep, before anything parses it.

    The framework parses JSON whatever it is called, so what it is called does not excuse it.
    """
    if not body:
        return
    kind = (content_type or _JSON).partition(";")[0].strip().lower()
    if kind != _JSON and not kind.endswith("+json"):
        raise BadBodyError(415, f"send {_JSON}")
    if len(body) > _JSON_BYTES:
        raise BadBodyError(413, f"JSON may have {_JSON_BYTES} bytes at most")
    level = 0
    for bracket in _NOT_BRACKETS.sub(b"", body):
        level += 1 if bracket in b"[{" else -1
        if level > depth:
            raise BadBodyError(400, f"JSON may be nested {depth} deep at most")


def decoded(body: bytes, encoding: str | None, most: int) -> bytes:
    """Undo a Content-Encoding (gzip, zstd, identity), never past so many bytes."""
    match (encoding or "identity").strip().lower():
        case "identity":
            return body
        case "gzip" | "x-gzip":
            return _gunzip(body, most)
        case "zstd":
            return _unzstd(body, most)
        case other:
            raise BadBodyError(415, f"unknown content-encoding: {other[:40]}")


def _gunzip(body: bytes, most: int) -> bytes:
    unpacker = zlib.decompressobj(_GZIP)
    try:
        data = unpacker.decompress(body, most + 1)
    except zlib.error:
        raise BadBodyError(400, "the body is no gzip") from None
    if len(data) > most or unpacker.unconsumed_tail:
        raise BadBodyError(413, f"the body unpacks to more than {most} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise BadBodyError(400, "the body is no whole gzip")
    return data


def _unzstd(body: bytes, most: int) -> bytes:
    import zstandard

    # a window of 8 MiB is what every encoder's usual levels need; a larger one is memory for nothing
    unpacker = zstandard.ZstdDecompressor(max_window_size=8 << 20).decompressobj()
    parts: list[bytes] = []
    size = 0
    for start in range(0, len(body), _ZSTD_SLICE):
        if unpacker.eof:
            raise BadBodyError(400, "the body is no whole zstd")
        try:
            parts.append(unpacker.decompress(body[start : start + _ZSTD_SLICE]))
        except zstandard.ZstdError:
            raise BadBodyError(400, "the body is no zstd") from None
        size += len(parts[-1])
        if size > most:
            raise BadBodyError(413, f"the body unpacks to more than {most} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise BadBodyError(400, "the body is no whole zstd")
    return b"".join(parts)
