"""`/proc/PID/fdinfo/FD` of a GPU's descriptor: what one client of a graphics driver holds and how long it ran.

Several descriptors may belong to one client (`drm-client-id`): its memory counts once. The keys are the kernel's own
for all drivers (drm-usage-stats); older amdgpu has `vram mem` instead. Untested on hardware.
"""

import os

from jobmeter.probes import procfs

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "kB": 1 << 10, "MiB": 1 << 20}
_DEVICES = "/dev/dri/"
_MOST_DESCRIPTORS = 512


class Client:
    """One client of one device."""

    __slots__ = ("busy_ns", "client", "device", "vram_bytes")

    def __init__(self, device: str, client: str, vram_bytes: int | None, busy_ns: int | None) -> None:
        self.device = device
        self.client = client
        self.vram_bytes = vram_bytes
        self.busy_ns = busy_ns


def parse(text: bytes) -> Client | None:
    """Read one descriptor; None where it is not a GPU's."""
    fields: dict[str, str] = {}
    for line in text.decode("ascii", "replace").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields[name.strip()] = value.strip()
    if "drm-driver" not in fields and "drm-pdev" not in fields:
        return None
    memory = fields.get("drm-memory-vram", fields.get("drm-total-vram0", fields.get("vram mem", "")))
    engines = [
        value for name, value in fields.items() if name.startswith("drm-engine-") and value.endswith("ns")
    ]
    busy = [int(value.split()[0]) for value in engines if value.split()[0].isdigit()]
    return Client(
        fields.get("drm-pdev", ""),
        fields.get("drm-client-id", ""),
        _bytes(memory),
        sum(busy) if busy else None,
    )


def _bytes(text: str) -> int | None:
    number, _, unit = text.partition(" ")
    scale = _UNITS.get(unit.strip())
    return int(number) * scale if number.isdigit() and scale is not None else None


def of_process(proc: str, pid: int) -> list[Client]:
    """List a process's clients, each once; empty where it has none or is not ours to read."""
    try:
        descriptors = os.listdir(f"{proc}/{pid}/fd")[:_MOST_DESCRIPTORS]
    except OSError:
        return []
    found: dict[tuple[str, str], Client] = {}
    for descriptor in descriptors:
        try:
            if not os.readlink(f"{proc}/{pid}/fd/{descriptor}").startswith(_DEVICES):
                continue
        except OSError:
            continue  # closed meanwhile
        client = parse(procfs.read_file(f"{proc}/{pid}/fdinfo/{descriptor}") or b"")
        if client is not None:
            found[client.device, client.client or descriptor] = client
    return list(found.values())
