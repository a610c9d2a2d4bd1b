"""Writers of containers that other tools write: TFRecord, LevelDB's log, protobuf messages.

They share no code with the readers under test: checksums are computed bit by bit, fields are put together by hand.
"""

import struct
import zlib


def varint(value: int) -> bytes:
    """Write a number of up to 64 bits, a negative one as two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def chunk(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def single(field: int, value: float) -> bytes:
    return varint(field << 3 | 5) + struct.pack("<f", value)


def masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord(data: bytes) -> bytes:
    """Put one record into TensorFlow's frame."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc32c(length)) + data + struct.pack("<I", masked_crc32c(data))


VERSION_EVENT = tfrecord(double(1, 1700000000.0) + chunk(3, "brain.Event:2"))


def scalar_event(wall_time: float, step: int, **values: float) -> bytes:
    """One event with scalars, as torch's SummaryWriter writes them."""
    summary = b"".join(chunk(1, chunk(1, tag) + single(2, value)) for tag, value in values.items())
    return tfrecord(double(1, wall_time) + number(2, step) + chunk(5, summary))


def tensor_event(wall_time: float, step: int, tag: str, tensor: bytes, metadata: bytes = b"") -> bytes:
    """One event with a tensor, as TensorFlow 2 writes scalars and texts."""
    value = chunk(1, tag) + chunk(8, tensor) + (chunk(9, metadata) if metadata else b"")
    return tfrecord(double(1, wall_time) + number(2, step) + chunk(5, chunk(1, value)))


def wandb_file(records: list[bytes]) -> bytes:
    """Put records into blocks of 32 KiB, the first of which begins with W&B's header."""
    out = bytearray(b":W&B" + struct.pack("<HB", 0xBEE1, 0))
    for record in records:
        rest, first = record, True
        while rest or first:
            room = 32768 - len(out) % 32768
            if room < 7:
                out += bytes(room)
                room = 32768
            piece, rest = rest[: room - 7], rest[room - 7 :]
            kind = {(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}[first, not rest]
            out += struct.pack("<IHB", zlib.crc32(bytes((kind,)) + piece), len(piece), kind) + piece
            first = False
    return bytes(out)


def wandb_items(field: int, **values: str) -> bytes:
    """Write a row of key and JSON pairs; a dot parts nested keys."""
    return b"".join(
        chunk(field, b"".join(chunk(2, part) for part in key.split(".")) + chunk(16, value))
        for key, value in values.items()
    )
