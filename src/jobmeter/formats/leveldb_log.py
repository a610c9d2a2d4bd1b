"""LevelDB's log format, the container of W&B's `.wandb` files: blocks of 32 KiB with checksummed fragments.

W&B puts a header of seven bytes in front (`:W&B`, 0xBEE1, version) that belongs to the first block, and sums with
plain CRC-32 instead of LevelDB's masked CRC-32C. A damaged fragment costs the rest of its block, as in LevelDB.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER = b":W&B\xe1\xbe"
_HEADER_BYTES = 7
_BLOCK_BYTES = 32 << 10
_FRAGMENT = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


@dataclass(slots=True)
class Damage:
    """What reading a file ran into."""

    bad_records: int = 0
    cut_off: bool = False

    @property
    def dropped(self) -> dict[str, int]:
        """Say it as a run's provenance does."""
        return {"records": self.bad_records, "end_of_file": int(self.cut_off)}


def records(path: Path, damage: Damage) -> Iterator[bytes]:
    """Walk the records of a file; what is damaged is noted, not raised."""
    parts: list[bytes] = []
    begun = False
    for kind, data in _fragments(path, damage):
        if kind in (_FULL, _FIRST):
            damage.bad_records += begun  # the one before never ended
            parts, begun = [data], kind == _FIRST
        elif begun:
            parts.append(data)
            begun = kind != _LAST
        else:
            continue  # its beginning was damaged, and counted there
        if kind in (_FULL, _LAST):
            yield b"".join(parts)
            parts = []
    damage.cut_off = damage.cut_off or begun


def _fragments(path: Path, damage: Damage) -> Iterator[tuple[int, bytes]]:
    at = _HEADER_BYTES
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield from _of_block(block, at, damage)
            at = 0


def _of_block(block: bytes, at: int, damage: Damage) -> Iterator[tuple[int, bytes]]:
    while at + _FRAGMENT.size <= len(block):
        crc, length, kind = _FRAGMENT.unpack_from(block, at)
        if kind == 0 and length == 0:
            return  # room set aside, never written
        data = block[at + _FRAGMENT.size : at + _FRAGMENT.size + length]
        if len(data) < length and len(block) < _BLOCK_BYTES:
            damage.cut_off = True
            return
        if (
            len(data) < length
            or not _FULL <= kind <= _LAST
            or crc != zlib.crc32(data, zlib.crc32(bytes((kind,))))
        ):
            damage.bad_records += 1
            return
        yield kind, data
        at += _FRAGMENT.size + length
    if at < len(block) < _BLOCK_BYTES:
        damage.cut_off = True
