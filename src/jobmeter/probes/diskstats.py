"""`/proc/diskstats`: sectors read and written per block device since it appeared.

The same byte shows up several times: at a partition, at its disk, and at every device stacked on it. Only
devices at the bottom are returned. A sector here is always 512 bytes, whatever the hardware's is.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

SECTOR_BYTES = 512

_STACKED = (b"loop", b"ram", b"zram", b"dm-", b"md", b"bcache", b"drbd", b"zd")
"""Backed by memory, or by another device that counts the same bytes again."""

_DIGITS = b"0123456789"


def parse(text: bytes) -> dict[str, tuple[int, int]]:
    """Map each whole device to its bytes read and written."""
    columns: dict[bytes, bytes] = {}
    for line in text.splitlines():
        words = line.split(None, 3)
        if len(words) > 3 and not words[2].startswith(_STACKED):
            columns[words[2]] = words[3]
    found: dict[str, tuple[int, int]] = {}
    for name, rest in columns.items():
        words = rest.split(None, 7)
        if len(words) < 7 or not (words[2].isdigit() and words[6].isdigit()) or _is_part(name, columns):
            continue
        found[name.decode("ascii", "replace")] = int(words[2]) * SECTOR_BYTES, int(words[6]) * SECTOR_BYTES
    return found


def _is_part(name: bytes, names: "Container[bytes]") -> bool:
    # nvme0c1n1 is one path to nvme0n1, which counts the bytes of all its paths
    if name.startswith(b"nvme") and b"c" in name:
        return True
    disk = name.rstrip(_DIGITS)
    if disk == name:
        return False
    # the kernel puts a `p` between name and number where the disk's own name ends in a digit (nvme0n1p2)
    if disk.endswith(b"p") and disk[-2:-1].isdigit():
        disk = disk[:-1]
    return disk in names
