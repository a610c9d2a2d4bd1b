"""Panels for any recorded keys: one per unit, rates for counters, the largest instances of many."""

import difflib
from dataclasses import replace

from jobmeter.errors import UsageError
from jobmeter.model.measurement import Kind, Unit
from jobmeter.model.panel import Line, Panel, Quantity, Role
from jobmeter.model.view import RunView, Series
from jobmeter.service import explain, plot_peaks, plot_series, plot_source, plot_who

INSTANCES = 6

GAUGES: dict[Unit, Quantity] = {
    Unit.BYTES: Quantity.BYTES,
    Unit.CELSIUS: Quantity.CELSIUS,
    Unit.COUNT: Quantity.COUNT,
    Unit.HERTZ: Quantity.HERTZ,
    Unit.JOULES: Quantity.JOULES,
    Unit.NONE: Quantity.PLAIN,
    Unit.PERCENT: Quantity.PERCENT,
    Unit.RATIO: Quantity.RATIO,
    Unit.SECONDS: Quantity.SECONDS,
    Unit.WATTS: Quantity.WATTS,
}

RATES: dict[Unit, Quantity] = {
    Unit.BYTES: Quantity.BYTES_PER_SECOND,
    Unit.COUNT: Quantity.COUNT_PER_SECOND,
    Unit.JOULES: Quantity.WATTS,
    Unit.SECONDS: Quantity.SECONDS_PER_SECOND,
}


def panels(source: plot_source.Source, keys: tuple[str, ...]) -> tuple[list[Panel], list[str]]:
    """Draw the keys asked for, those of one quantity together; also say what was left out."""
    lines: dict[Quantity, list[Line]] = {}
    notes: list[str] = []
    for key in keys:
        quantity = quantity_of(source.view, key)
        instances = _largest(source.view, key)
        shown = instances[:INSTANCES]
        if len(instances) > len(shown):
            notes.append(f"{key}: the largest {len(shown)} of {len(instances)} instances are shown")
        lines.setdefault(quantity, []).extend(_line(source, series) for series in shown)
    made = []
    for quantity, drawn in lines.items():
        drawn[0] = replace(drawn[0], role=Role.MAIN)
        title = ", ".join(dict.fromkeys(line.key for line in drawn))
        made.append(
            plot_peaks.finish(
                Panel(name=quantity.value, title=title, quantity=quantity, lines=tuple(drawn), top=0)
            )
        )
    return made, notes


def quantity_of(view: RunView, key: str) -> Quantity:
    """Find what a key counts from the run's own definitions; refuse what cannot be drawn."""
    numbers = {m.key for m in view.run.definitions.values() if m.kind in (Kind.GAUGE, Kind.COUNTER)}
    measured = {name for name, _ in view.series}
    recorded = sorted((numbers | measured) - {key})
    definition, _ = explain.definition_of(key, view.run.definitions)
    if definition is not None and definition.kind in (Kind.LABEL, Kind.CATEGORICAL):
        raise UsageError(
            f"{key} is a {definition.kind.value}, not a number over time",
            hint=f"use one of {', '.join(recorded)}" if recorded else "",
        )
    if key not in measured:
        raise UsageError(f"key not recorded in this run: {key}", hint=_hint(key, recorded))
    if definition is None:
        return Quantity.PLAIN
    if definition.kind is not Kind.COUNTER:
        return GAUGES[definition.unit]
    if "cputime" in key:
        return Quantity.CORES
    return RATES.get(definition.unit, Quantity.PLAIN_PER_SECOND)


def _hint(key: str, recorded: list[str]) -> str:
    if not recorded:
        return "this run recorded no series"
    near = difflib.get_close_matches(key, recorded, n=3)
    return f"did you mean {' or '.join(near)}?" if near else f"use one of {', '.join(recorded)}"


def _largest(view: RunView, key: str) -> list[Series]:
    found = [series for (name, _), series in view.series.items() if name == key and series.times]
    return sorted(found, key=lambda series: (series.instance != "", -max(series.values), series.instance))


def _line(source: plot_source.Source, series: Series) -> Line:
    commands = {p.instance: p.command for p in source.view.processes if p.command}
    named = commands.get(series.instance)
    label = (
        f"{plot_who.command_name(named)} {series.instance.partition('@')[0]}" if named else series.instance
    )
    counter = source.is_counter(series.key) or series.spans is not None
    place = plot_series.rate_points if counter else plot_series.gauge_points
    line = plot_series.make_line(
        place(series, source.axis), source.axis, step=counter, label=label, key=series.key, role=Role.OTHER
    )
    return replace(line, instance=series.instance)
