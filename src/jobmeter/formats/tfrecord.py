"""TFRecord, the container of TensorBoard's event files: length, its checksum, bytes, their checksum.

Checksums are CRC-32C, masked. A record whose length is damaged ends the file, since nothing says where the next
begins; one whose bytes are damaged is passed over. A file that is still written ends in the middle of a record.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_HEADER, _CRC = struct.Struct("<QI"), struct.Struct("<I")
_POLYNOMIAL, _MASK = 0x82F63B78, 0xA282EAD8
_ALL = 0xFFFF_FFFF
LARGEST_BYTES = 64 << 10
"""A record beyond is a picture, a graph or a histogram of many: passed over unread."""


@dataclass(slots=True)
class Damage:
    """What reading a file ran into."""

    bad_records: int = 0
    cut_off: bool = False
    broken: bool = False
    """A length was damaged: what comes after was not read."""

    @property
    def dropped(self) -> dict[str, int]:
        """Say it as a run's provenance does."""
        return {"records": self.bad_records + self.broken, "end_of_file": int(self.cut_off)}


@cache
def _table() -> tuple[int, ...]:
    found = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        found.append(byte)
    return tuple(found)


def masked_crc(data: bytes) -> int:
    """Compute the checksum that a record carries."""
    table, crc = _table(), _ALL
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= _ALL
    return ((crc >> 15 | crc << 17) + _MASK) & _ALL


def starts(head: bytes) -> bool:
    """Tell whether a file begins with a record: its length agrees with the length's checksum."""
    if len(head) < _HEADER.size:
        return False
    _, crc = _HEADER.unpack_from(head)
    return bool(crc == masked_crc(head[:8]))


def records(path: Path, damage: Damage) -> Iterator[bytes]:
    """Walk the records of a file; what is damaged is noted, not raised."""
    size = path.stat().st_size
    with path.open("rb") as file:
        while header := file.read(_HEADER.size):
            if len(header) < _HEADER.size:
                damage.cut_off = True
                return
            length, crc = _HEADER.unpack(header)
            if crc != masked_crc(header[:8]):
                damage.broken = True
                return
            if file.tell() + length + _CRC.size > size:
                damage.cut_off = True
                return
            if length > LARGEST_BYTES:
                file.seek(length + _CRC.size, 1)
                continue
            data, check = file.read(length), file.read(_CRC.size)
            if len(check) < _CRC.size or _CRC.unpack(check)[0] != masked_crc(data):
                damage.bad_records += 1
                continue
            yield data
