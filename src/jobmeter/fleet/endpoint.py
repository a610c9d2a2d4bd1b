"""What every way to reach ranks offers: read pieces of files in one round trip, ask for the GPUs, let go."""

from collections.abc import Sequence
from typing import Protocol

from jobmeter.fleet.tail import Got, TargetError, Wanted

GPU_COLUMNS = (
    "index",
    "uuid",
    "utilization.gpu",
    "utilization.memory",
    "memory.used",
    "memory.total",
    "power.draw",
    "temperature.gpu",
)
GPU_COMMAND = ("nvidia-smi", f"--query-gpu={','.join(GPU_COLUMNS)}", "--format=csv,noheader,nounits")


class NoGpusError(TargetError):
    """There is nothing to ask for GPUs at this endpoint, and there will not be."""


class NotConnectedError(TargetError):
    """There is no connection to ask over; the next look at the ranks makes one."""


class Endpoint(Protocol):
    """One connection, whatever it is made of, that the ranks of one host share."""

    @property
    def name(self) -> str:
        """Name it as people write it."""

    async def read(self, wanted: Sequence[Wanted]) -> list[Got]:
        """Read all pieces at once, answers in the same order; raise TargetError where that is not possible."""

    async def gpus(self) -> str:
        """Give what `nvidia-smi` prints for `GPU_COLUMNS`; raise NoGpusError where there is none."""

    async def close(self) -> None:
        """Let go of the connection."""
