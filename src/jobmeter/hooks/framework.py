"""What the callbacks of every framework share: the run they write to, a clock for steps, the size of a batch.

A callback writes to the run the script opened. Where there is none it opens one and leaves it open:
frameworks evaluate and log on after their training "ended", so the run ends with the process.
"""

from time import perf_counter
from typing import TYPE_CHECKING, Any

from jobmeter import hooks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmeter.hooks.run import Run

_DEEP_ENOUGH = 4


def has_run(given: "Run | None") -> bool:
    """Tell whether there is a run already, which whoever opened it will end."""
    return given is not None or hooks.active_run() is not None


def open_run(given: "Run | None", *, config: "Mapping[str, object] | None" = None, **init: Any) -> "Run":
    """Give the run to write to: the one given, the active one, else a new one made with `init`."""
    run = given if given is not None else hooks.active_run()
    if run is None:
        return hooks.init(config=config, **init)
    if config:
        run.config.update(config)
    return run


def batch_length(batch: Any, depth: int = 0) -> int | None:
    """Count the samples of a batch by its first tensor, however the batch is nested."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return _first_length(shape)
    if depth == _DEEP_ENOUGH:
        return None
    if callable(getattr(batch, "values", None)):
        batch = batch.values()
    elif not isinstance(batch, list | tuple):
        return None
    lengths = (batch_length(part, depth + 1) for part in batch)
    return next((length for length in lengths if length is not None), None)


def _first_length(shape: Any) -> int | None:
    """Read the first length of a shape; of one that is none, or not known yet, nothing."""
    try:
        return int(shape[0])
    except (TypeError, ValueError, LookupError):
        return None


class StepClock:
    """Time steps by what lies between two step ends, less what the loop did on the side."""

    __slots__ = ("_data_seconds", "_mark")

    def __init__(self) -> None:
        self._mark = perf_counter()
        self._data_seconds: float | None = None

    def restart(self) -> None:
        """Begin a step now: what passed since the last one (an evaluation, a checkpoint) is no step's."""
        self._mark = perf_counter()
        self._data_seconds = None

    def data_ready(self) -> None:
        """Note that the step's first batch has arrived."""
        if self._data_seconds is None:
            self._data_seconds = perf_counter() - self._mark

    def lap(self) -> dict[str, object]:
        """End the step: its seconds, and those of them it waited for data."""
        now = perf_counter()
        seconds: dict[str, object] = {"step_seconds": round(now - self._mark, 6)}
        if self._data_seconds is not None:
            seconds["data_seconds"] = round(self._data_seconds, 6)
        self._mark = now
        self._data_seconds = None
        return seconds
