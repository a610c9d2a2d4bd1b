"""Steps out of a text, as one feed gives them."""

from collections.abc import Callable

from jobmeter.formats import steplines
from jobmeter.model.view import Event, Step


def unknown(_offset: int) -> None:
    """Say that nobody knows when a byte arrived."""


def read(
    text: str | bytes, arrived_at: Callable[[int], float | None] = unknown
) -> tuple[list[Step], list[Event]]:
    """Feed a whole text at once."""
    reader = steplines.LogReader()
    reader.feed(text.encode() if isinstance(text, str) else text, arrived_at, 0, final=True)
    return reader.take()


def rows(text: str | bytes) -> list[tuple[str, int, dict[str, float]]]:
    """Give the family, the step and the metrics of each step."""
    return [(step.source.removeprefix("log:"), step.step, step.metrics) for step in read(text)[0]]
