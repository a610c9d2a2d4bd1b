"""The panels of GPUs: how busy each was, how full against what it has, how much power it drew.

Figures of a device are those of everyone on it. One tool is drawn, the most trusted that measured: the same GPU by
two tools would look like two GPUs.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from jobmeter.model import panel, units
from jobmeter.model.measurement import Scope
from jobmeter.model.panel import Line, Panel, Quantity, Role
from jobmeter.model.run import Run
from jobmeter.model.view import Series
from jobmeter.service import plot_peaks
from jobmeter.service.plot_source import Source

TOOLS = ("nvml", "nvsmi", "rocm", "dcgm", "apple", "tegra", "fleet")
BUSY = ("util",)
HELD = ("mem_used",)
OWN = "proc_mem_total"
DRAWN = ("power", "power_average", "power_instant")
LIMITS = ("mem_total", "power_limit")
MOST_COLOURS = 8
"""More devices than this cannot be told apart by colour: all but the first are pale."""


def keys_of(run: Run) -> set[str]:
    """Name the keys these panels may draw."""
    words = {*BUSY, *HELD, OWN, *DRAWN, *LIMITS}
    return {key for key in run.definitions if _tool(key) in TOOLS and key.partition("_")[2] in words}


def utilisation(source: Source) -> Panel | None:
    """Share of time in which each GPU was busy; the axis is always the whole."""
    found = _devices(source, BUSY)
    if not found:
        return None
    lines = [replace(line, figure=_mean(line)) for line in _lines(source, found)]
    made = _panel("gpu", "GPU", Quantity.PERCENT, lines)
    return replace(made, top=max(100.0, *plot_peaks.heights(made)))


def memory(source: Source) -> Panel | None:
    """Memory in use on each GPU, under what a GPU has where that is known."""
    found = _devices(source, HELD)
    if not found:
        return None
    lines = _lines(source, found)
    own = source.total(f"{_tool(found[0].key)}_{OWN}")
    if len(lines) == 1 and own is not None:
        lines.append(source.line(own, "of the job's processes", Role.OTHER))
    made = _panel("gpu_memory", "GPU memory", Quantity.BYTES, lines)
    limits = _limit(source, found[0].key, "mem_total", "all of a GPU")
    finished = plot_peaks.finish(replace(made, limits=limits))
    return replace(finished, top=max([finished.top, *(limit.value for limit in limits)]))


def power(source: Source) -> Panel | None:
    """Power each GPU drew."""
    found = _devices(source, DRAWN)
    if not found:
        return None
    made = _panel("gpu_power", "GPU power", Quantity.WATTS, _lines(source, found))
    return plot_peaks.finish(replace(made, limits=_limit(source, found[0].key, "power_limit", "limit")))


def _tool(key: str) -> str:
    return key.partition("_")[0]


def _devices(source: Source, quantities: Sequence[str]) -> list[Series]:
    """Find the series of every device by the most trusted tool, in the order of their names."""
    definitions = source.view.run.definitions
    for key in (f"{tool}_{quantity}" for tool in TOOLS for quantity in quantities):
        definition = definitions.get(key)
        if definition is None or definition.scope is not Scope.DEVICE or key == "tegra_power":
            continue
        found = [s for (name, instance), s in source.view.series.items() if name == key and instance]
        if found:
            return sorted(found, key=lambda series: source.device_order(series.instance))
    return []


def _lines(source: Source, found: Sequence[Series]) -> list[Line]:
    many = len(found) > MOST_COLOURS
    lines = []
    for number, series in enumerate(found):
        # read at every sample, as what belongs to the whole job is: not being read is a gap
        line = source.line(replace(series, instance=""), source.device_name(series.instance), Role.OTHER)
        role = Role.MAIN if number == 0 and (many or len(found) == 1) else Role.PEER if many else Role.OTHER
        lines.append(replace(line, instance=series.instance, role=role))
    return lines


def _panel(name: str, title: str, quantity: Quantity, lines: list[Line]) -> Panel:
    peers = [line for line in lines if line.role is Role.PEER]
    several = len(lines) > 1 and not peers and quantity is not Quantity.PERCENT
    drawn = plot_peaks.led_by_largest(lines) if several and lines[0].role is Role.OTHER else tuple(lines)
    words = f"{len(peers)} other GPUs" if peers else ""
    return Panel(name=name, title=title, quantity=quantity, lines=drawn, top=0.0, peers=words)


def _mean(line: Line) -> str:
    values = [value for value in line.values if value is not None]
    return f"mean {units.format_percent(sum(values) / len(values))}" if values else ""


def _limit(source: Source, key: str, quantity: str, label: str) -> tuple[panel.Limit, ...]:
    """Take the largest that any of the devices has."""
    name = f"{_tool(key)}_{quantity}"
    found = [s for (key, _), s in source.view.series.items() if key == name]
    largest = max((value for series in found for value in series.values if isfinite(value)), default=0.0)
    return (panel.Limit(label=label, value=largest),) if largest > 0 else ()
