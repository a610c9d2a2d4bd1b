"""What pollers tell, and to whom."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from jobmeter.fleet.gpu import Gpu, GpuLook
from jobmeter.fleet.told import Told
from jobmeter.model.view import Event

Details = dict[str, object]


@dataclass(frozen=True, slots=True)
class Beat:
    """One look, on the monotonic clock."""

    due: float
    began: float
    ended: float
    answered: bool


class Listener(Protocol):
    """Who wants to know what was found."""

    def told(self, rank: int, new: Sequence[Told], wall: float) -> None:
        """Something new of a rank, each of it once."""

    def looked(self, endpoint: str, beat: Beat, wall: float) -> None:
        """A look at an endpoint ended."""

    def saw_gpus(self, endpoint: str, look: GpuLook, of_ranks: Mapping[int, Gpu]) -> None:
        """A host's GPUs answered."""

    def happened(self, kind: str, details: Details) -> None:
        """Something worth an event."""

    def log_said(self, rank: int, event: Event) -> None:
        """A rank's log tells of an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a poller needs of the world."""

    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    chance: Callable[[], float]
    """Random numbers from 0 to 1."""
