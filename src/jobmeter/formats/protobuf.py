"""The wire format of Protocol Buffers, as far as reading other tools' logs needs it.

A message is a row of (field number, value); what a number means is the caller's to know. A message that ends in
the middle raises `DamagedError`: its container has checksums, so that is rare and worth a count.
"""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime

Value = int | bytes

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_DOUBLE, _FLOAT = struct.Struct("<d"), struct.Struct("<f")


class DamagedError(ValueError):
    """The bytes are no message."""


def fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Walk the fields in order: whole numbers for varints, raw bytes for everything else."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        kind, number = tag & 7, tag >> 3
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise DamagedError(f"no wire type {kind}")
        if at + size > end:
            raise DamagedError("cut off")
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = place = 0
    try:
        # most tags and lengths are one byte
        while (byte := message[at]) > 0x7F and place < _LONGEST_VARINT:
            value |= (byte & 0x7F) << 7 * place
            at, place = at + 1, place + 1
    except IndexError:
        raise DamagedError("cut off") from None
    if place == _LONGEST_VARINT:
        raise DamagedError("an endless number")
    return value | byte << 7 * place, at + 1


def chunks(message: bytes, wanted: int) -> Iterator[bytes]:
    """Walk the values of one field that are messages, texts or fixed numbers."""
    return (value for number, value in fields(message) if number == wanted and isinstance(value, bytes))


def chunk(message: bytes, wanted: int) -> bytes:
    """Give the last value of such a field; empty where it is absent, as the format has it."""
    found = list(chunks(message, wanted))
    return found[-1] if found else b""


def text(message: bytes, wanted: int) -> str:
    """Give a text field; empty where it is absent."""
    return chunk(message, wanted).decode("utf-8", "replace")


def whole(message: bytes, wanted: int) -> int:
    """Give a signed number field; 0 where it is absent, as the format has it."""
    found = [value for number, value in fields(message) if number == wanted and isinstance(value, int)]
    return signed(found[-1]) if found else 0


def signed(value: int) -> int:
    """Read a varint as two's complement of 64 bits."""
    low = value & 0xFFFF_FFFF_FFFF_FFFF
    return low - (1 << 64) if low >> 63 else low


def double(raw: bytes) -> float:
    """Read eight bytes as a float."""
    if len(raw) != _DOUBLE.size:
        raise DamagedError("no double")
    return float(_DOUBLE.unpack(raw)[0])


def single(raw: bytes) -> float:
    """Read four bytes as a float."""
    if len(raw) != _FLOAT.size:
        raise DamagedError("no float")
    return float(_FLOAT.unpack(raw)[0])


def moment(message: bytes) -> float | None:
    """Read a `google.protobuf.Timestamp` as seconds since the epoch; None where it is empty."""
    seconds, nanos = whole(message, 1), whole(message, 2)
    if not seconds:
        return None
    try:
        # through a date: a plain sum would smear the microseconds
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=nanos // 1000).timestamp()
    except (OverflowError, OSError, ValueError):
        return None
