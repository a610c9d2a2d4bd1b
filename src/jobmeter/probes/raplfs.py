"""Energy counters of processors and their memory in `/sys/class/powercap`, the kernel's RAPL interface.

Readable by root only since Linux 5.10. A counter wraps at `max_energy_range_uj`, on some machines within minutes.
Processors of several dies may show the counter of one socket under several names: those are left out. `psys`
(the whole board) and the MMIO copies of the packages would count the same energy again.
"""

import os

from jobmeter.probes import procfs

_MIRRORED_MICROJOULES = 1_000_000
"""Two sockets never agree to one joule; two names of one counter, read a moment apart, do."""


class Zone:
    """One counter that is added up without its wraps."""

    __slots__ = ("_last", "_path", "_range", "joules", "kind", "name")

    def __init__(self, folder: str, kind: str, name: str, first: int, range_microjoules: int) -> None:
        self._path = f"{folder}/energy_uj"
        self._last = first
        self._range = range_microjoules
        self.kind = kind
        self.name = name
        self.joules = 0.0

    def read(self) -> bool:
        """Add what was used since the last read; False where the counter could not be read."""
        now = read_number(self._path)
        if now is None:
            return False
        moved = now - self._last
        if moved < 0:
            moved += self._range
        if moved >= 0:  # a counter that fell without a range to wrap at tells nothing once
            self.joules += moved / 1e6
        self._last = now
        return True


def zones(sys: str) -> list[Zone]:
    """Find packages and their memory, each counter once."""
    found: list[Zone] = []
    firsts: list[tuple[str, int]] = []
    for folder in folders(sys):
        name = (procfs.read_file(f"{folder}/name") or b"").decode("ascii", "replace").strip()
        kind = name.partition("-")[0]
        first = read_number(f"{folder}/energy_uj")
        if kind not in ("package", "dram") or first is None:
            continue
        if any(kind == known and abs(first - other) < _MIRRORED_MICROJOULES for known, other in firsts):
            continue
        firsts.append((kind, first))
        owner = os.path.basename(folder).split(":")[1]
        wraps_at = read_number(f"{folder}/max_energy_range_uj") or 0
        found.append(Zone(folder, kind, f"{kind}-{owner}", first, wraps_at))
    return found


def folders(sys: str) -> list[str]:
    """List the folders of all RAPL counters, packages before what is inside them."""
    root = f"{sys}/class/powercap"
    try:
        names = os.listdir(root)
    except OSError:
        return []
    return [f"{root}/{name}" for name in sorted(names) if name.startswith("intel-rapl:")]


def read_number(path: str) -> int | None:
    """Read a file of one number."""
    text = (procfs.read_file(path) or b"").strip()
    return int(text) if text.isdigit() else None
