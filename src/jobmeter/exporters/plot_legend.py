"""The words of a panel in order: its name, its lines with their keys, its limits, its peaks."""

from dataclasses import dataclass
from enum import Enum

from jobmeter.exporters import plot_ticks
from jobmeter.model.panel import Line, Panel, Role


class Sign(Enum):
    """What stands before the words."""

    TITLE = "title"
    LINE = "line"
    FAINT = "faint"
    LIMIT = "limit"
    PEAK = "peak"
    BETWEEN = "between"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of a legend."""

    sign: Sign
    words: str
    line: int | None = None
    """The number of the line it names."""


def items(made: Panel) -> list[Item]:
    """List what a legend says, the name of the panel first."""
    found = [Item(Sign.TITLE, plot_ticks.heading(made))]
    for number, line in enumerate(made.lines):
        found.append(Item(Sign.FAINT if line.role is Role.FAINT else Sign.LINE, line_name(line), number))
    found += peak_items(made)
    for limit in made.limits:
        source = f" ({limit.source})" if limit.source else ""
        words = f"{limit.label} {plot_ticks.tick(made.quantity, limit.value)}{source}"
        in_sight = limit.value <= made.top
        found.append(Item(Sign.LIMIT, words) if in_sight else Item(Sign.NONE, f"far below the {words}"))
    return found


def peak_items(made: Panel) -> list[Item]:
    """Say each peak of a panel, in its order."""
    found = []
    for peak in made.peaks:
        value = plot_ticks.tick(made.quantity, peak.value)
        when = f" at {plot_ticks.moment(peak.seconds)}" if peak.seconds is not None else ""
        if peak.sampled:
            found.append(Item(Sign.PEAK, f"{peak.label} {value}{when}"))
        else:
            found.append(Item(Sign.BETWEEN, f"{value} {peak.label}{when}"))
    return found


def line_name(line: Line) -> str:
    """Name a line by what it is and how it was measured; a layer of a stack by its command."""
    if line.role is Role.STACKED:
        return line.label
    return f"{line.label} ({line.key})" if line.label else line.key
