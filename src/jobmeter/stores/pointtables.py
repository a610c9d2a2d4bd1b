"""What a back end must keep of a run's points, row by row; `points` says what they are for."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from jobmeter.stores import codec, columns

Stored = int | float | None
"""A number as a database keeps it: NaN may be null there."""


class Chunk(NamedTuple):
    """A stretch of one series to be stored; axes are named by their place among those stored with it."""

    name: columns.Name
    t0: float
    t1: float
    n: int
    measured: int
    low: codec.Number
    high: codec.Number
    total: codec.Number
    last: codec.Number
    times: int
    spans: int | None
    blob: bytes
    figures: bytes | None = None
    """Of a counter's rate, as `figures` packs them."""


class ChunkRow(NamedTuple):
    """A stretch of one series as it is read; axes are named by their keys."""

    key: str
    instance: str
    n: int
    times_id: int
    spans_id: int | None
    blob: bytes


class HeaderRow(NamedTuple):
    """What is known of a stretch of one series without unpacking it."""

    key: str
    instance: str
    measured: int
    low: Stored
    high: Stored
    total: Stored
    last: Stored


class FigureRow(NamedTuple):
    """All that is known of a stretch of one series without unpacking it."""

    key: str
    instance: str
    n: int
    t0: float
    t1: float
    measured: int
    low: Stored
    high: Stored
    total: Stored
    last: Stored
    spans_id: int | None
    figures: bytes | None


class PointTables(Protocol):
    """Where a back end keeps the points of one run; all writing is inside the caller's transaction."""

    def size(self, stream: str) -> tuple[int, int]:
        """Count the windows of a stream that wait, and give the last number of a row of them."""

    def waiting(self, stream: str) -> list[bytes]:
        """Read the windows of a stream that wait, in order."""

    def wait(self, stream: str, sequence: int, windows: int, blob: bytes) -> None:
        """Add windows that wait."""

    def drop(self, stream: str) -> None:
        """Drop the windows of a stream that wait."""

    def drop_young(self) -> None:
        """Drop what waits of processes that were hardly seen."""

    def old_enough(self) -> set[str]:
        """Name the processes that were seen often enough for series."""

    def young(self) -> set[str]:
        """Name the processes that were hardly seen."""

    def waiting_processes(self) -> set[str]:
        """Name the processes that wait in streams of their own."""

    def store(self, axes: Sequence[bytes], chunks: Sequence[Chunk]) -> None:
        """Add sealed stretches and the axes that they share."""

    def chunks(self, keys: Collection[str] | None, between: tuple[float, float]) -> list[ChunkRow]:
        """Read stretches that touch a span of time, by key and instance, each in the order it was written."""

    def figures(self, keys: Collection[str] | None, between: tuple[float, float]) -> list[FigureRow]:
        """Read the headers of the same stretches as `chunks`, in the same order."""

    def axes(self, wanted: Collection[int]) -> Mapping[int, bytes]:
        """Read axes by their keys."""

    def tail(self) -> list[bytes]:
        """Read all windows that wait, for every series oldest first."""

    def headers(self) -> list[HeaderRow]:
        """Read the headers of all stretches, for every series oldest first."""
