"""What `nvidia-smi` says of a host's GPUs, and which of them a rank uses.

A rank's GPU is the one its target names; else the only one of the host; else, where a host has as many GPUs as
ranks, the one at the rank's place, as every launcher puts them. Otherwise nobody knows, and no rank is given one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobmeter.fleet.endpoint import GPU_COLUMNS
from jobmeter.fleet.told import Number
from jobmeter.probes import nvsmitext

_GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU at one moment; only what it tells."""

    index: str
    uuid: str
    values: dict[str, Number]
    """By the quantity of our key: `util`, `mem_used`, in base units."""

    def fields(self) -> dict[str, Number]:
        """Give the two fields a sample of training has."""
        found: dict[str, Number] = {}
        if "util" in self.values:
            found["gpu_util"] = self.values["util"]
        if "mem_used" in self.values:
            found["gpu_mem_used_gb"] = self.values["mem_used"] / _GIB
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLook:
    """The GPUs of one host, asked once."""

    gpus: tuple[Gpu, ...]
    began: float
    """Monotonic."""
    ended: float
    wall: float


def parse(text: str) -> tuple[Gpu, ...]:
    """Read the rows; one that does not name its GPU is left out ("No devices were found")."""
    found = []
    for row in nvsmitext.parse_csv(text, GPU_COLUMNS):
        values = {
            nvsmitext.QUANTITIES[name][0]: value
            for name, cell in row.items()
            if name in nvsmitext.QUANTITIES and (value := nvsmitext.value(name, cell)) is not None
        }
        index = row.get("index", "")
        if index.isdecimal():
            found.append(Gpu(index=index, uuid=row.get("uuid", index), values=values))
    return tuple(found)


def of_ranks(gpus: Sequence[Gpu], named: Mapping[int, int | str | None]) -> dict[int, Gpu]:
    """Give each rank of a host its GPU, as far as that is known."""
    found: dict[int, Gpu] = {}
    in_order = len(gpus) == len(named) or len(gpus) == 1
    for place, (rank, name) in enumerate(sorted(named.items())):
        if name is not None:
            chosen = [gpu for gpu in gpus if str(name) in (gpu.uuid, gpu.index)]
        elif in_order:
            chosen = [gpus[min(place, len(gpus) - 1)]]
        else:
            chosen = []
        if chosen:
            found[rank] = chosen[0]
    return found
