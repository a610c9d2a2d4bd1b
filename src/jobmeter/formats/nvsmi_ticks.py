"""Which rows of an nvidia-smi CSV were taken together, and which GPU each is of."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

Row = Sequence[str]
_MOST_GPUS = 16
"""More rows than this under one stamp are samples of one GPU, taken faster than the stamp tells."""
BY_ORDER = "the file names no GPU: they are told by their order within a tick"


@dataclass(frozen=True, slots=True)
class Tick:
    """Rows that were taken together, with the GPU each is of."""

    seconds: float
    rows: list[tuple[str, Row]]


@dataclass(frozen=True, slots=True)
class Ticks:
    """How rows group into ticks."""

    device: int | None
    """The column that tells GPUs apart; None where none does."""
    process: int | None
    """The column that tells processes apart: many rows of one GPU in one tick."""
    gap_seconds: float
    """Rows further apart than this were not taken together."""
    notes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, devices: Sequence[int], rows: Sequence[Row], times: Sequence[float | None], process: int | None
    ) -> "Ticks":
        """Look at the first rows: which column tells GPUs apart, and how far ticks lie apart."""
        for place in devices:
            if process is not None or _tells_apart(place, rows, times):
                same = [at for row, at in zip(rows, times, strict=True) if row[place] == rows[0][place]]
                return cls(place, process, _half_period(same) if process is None else 0.0)
        gap = _half_period(times)
        sizes = _sizes(times, gap)
        if not sizes or max(sizes) > _MOST_GPUS or len(set(sizes[:-1] or sizes)) > 1:
            return cls(None, process, -1.0)
        return cls(None, process, gap, {"devices": BY_ORDER} if max(sizes) > 1 else {})

    def group(
        self, rows: Iterable[Row | None], seconds: Callable[[Row], float | None], *, clocked: bool
    ) -> Iterator[Tick | None]:
        """Yield ticks in order; None for each line that is no row."""
        number, tick, taken = 0, Tick(0.0, []), set[tuple[str, str]]()
        for row in rows:
            at = None if row is None else seconds(row) if clocked else float(number)
            if row is None or at is None:
                yield None
                continue
            who = self._who(row, len(tick.rows))
            if tick.rows and (who in taken or at - tick.seconds > self.gap_seconds):
                yield tick
                number += 1
                tick, taken = Tick(at if clocked else float(number), []), set()
                who = self._who(row, 0)
            elif not tick.rows:
                tick = Tick(at, [])
            taken.add(who)
            tick.rows.append((who[0], row))
        if tick.rows:
            yield tick

    def _who(self, row: Row, order: int) -> tuple[str, str]:
        process = "" if self.process is None else row[self.process]
        return (str(order) if self.device is None else row[self.device]), process


def _tells_apart(place: int, rows: Sequence[Row], times: Sequence[float | None]) -> bool:
    """A column tells GPUs apart unless two rows of one moment say the same there."""
    seen: set[tuple[float, str]] = set()
    for row, at in zip(rows, times, strict=True):
        if at is not None and (at, row[place]) in seen:
            return False
        if at is not None:
            seen.add((at, row[place]))
    return True


def _half_period(times: Sequence[float | None]) -> float:
    """Half the usual distance of ticks: gaps far below the largest ones are those within a tick."""
    known = [at for at in times if at is not None]
    gaps = [later - earlier for earlier, later in pairwise(known) if later > earlier]
    if not gaps:
        return float("inf")
    usual = sorted(gaps)[int(len(gaps) * 0.95)]
    return median(gap for gap in gaps if gap > usual / 4) / 2


def _sizes(times: Sequence[float | None], gap: float) -> list[int]:
    sizes: list[int] = []
    first = float("-inf")
    for at in (at for at in times if at is not None):
        if at - first > gap or not sizes:
            first = at
            sizes.append(0)
        sizes[-1] += 1
    return sizes
