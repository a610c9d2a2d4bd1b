"""The words of a panel in order: its name, its lines with their keys, its limits, its peaks."""

from dataclasses import dataclass
from enum import Enum

from jobmeter.exporters import plot_ticks
from jobmeter.model.panel import Chart, Line, Panel, Quantity, Role


class Sign(Enum):
    """What stands before the words."""

    TITLE = "title"
    LINE = "line"
    FAINT = "faint"
    PEERS = "peers"
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


def items(made: Panel, chart: Chart) -> list[Item]:
    """List what a legend says, the name of the panel first."""
    found = [Item(Sign.TITLE, plot_ticks.heading(made))]
    for number, line in enumerate(made.lines):
        if line.role is Role.PEER:
            continue
        sign = Sign.FAINT if line.role is Role.FAINT else Sign.LINE
        found.append(Item(sign, ", ".join(filter(None, (name_in(made, number), line.figure))), number))
    peer = first_peer(made)
    if peer is not None:
        found.append(Item(Sign.PEERS, made.peers, peer))
    found += peak_items(made, chart)
    for limit in made.limits:
        source = f" ({limit.source})" if limit.source else ""
        words = f"{limit.label} {plot_ticks.tick(made.quantity, limit.value)}{source}"
        in_sight = limit.value <= made.top
        found.append(Item(Sign.LIMIT, words) if in_sight else Item(Sign.NONE, f"far below the {words}"))
    return found


def first_peer(made: Panel) -> int | None:
    """Find the first of the lines that are named together."""
    return next((number for number, line in enumerate(made.lines) if line.role is Role.PEER), None)


def peak_items(made: Panel, chart: Chart) -> list[Item]:
    """Say each peak of a panel, in its order."""
    found = []
    for peak in made.peaks:
        metric = made.quantity is Quantity.METRIC
        value = (plot_ticks.show if metric else plot_ticks.tick)(made.quantity, peak.value)
        when = f" at {plot_ticks.where(chart, peak.seconds)}" if peak.seconds is not None else ""
        if peak.sampled:
            found.append(Item(Sign.PEAK, f"{peak.label} {value}{when}"))
        else:
            found.append(Item(Sign.BETWEEN, f"{value} {peak.label}{when}"))
    return found


def name_in(made: Panel, number: int) -> str:
    """Name a line of a panel; a device after another of the same key is named without it."""
    line = made.lines[number]
    before = made.lines[number - 1] if number else None
    if before is not None and line.instance and line.label and before.key == line.key and not line.source:
        return line.label
    return line_name(line)


def line_name(line: Line) -> str:
    """Name a line by what it is and how it was measured; a layer of a stack by its command."""
    if line.role is Role.STACKED:
        return line.label
    if line.source:
        return f"{line.label} {line.key} ({line.source})".lstrip()
    return f"{line.label} ({line.key})" if line.label else line.key
