"""Panels for any recorded keys: one per unit, rates for counters, the largest instances of many."""

import difflib
from collections.abc import Sequence
from dataclasses import replace

from jobmeter.errors import UsageError
from jobmeter.model.measurement import Kind, Scope, Unit
from jobmeter.model.panel import Line, Panel, Quantity, Role
from jobmeter.model.view import RunView, Series
from jobmeter.service import explain, plot_peaks, plot_series, plot_source, plot_steps, plot_who

INSTANCES, DEVICES = 6, 8
"""How many are drawn of what has many; a machine has eight GPUs."""
MOST_NAMED = 12
"""Keys that a hint names: a run records eighty."""

GAUGES: dict[Unit, Quantity] = {
    Unit.BYTES: Quantity.BYTES,
    Unit.BYTES_PER_SECOND: Quantity.BYTES_PER_SECOND,
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


def check(source: plot_source.Source, keys: tuple[str, ...]) -> None:
    """Refuse keys that cannot be drawn."""
    for key in keys:
        if not _is_metric(source, key):
            quantity_of(source.view, key, source.told.names)


def _is_metric(source: plot_source.Source, key: str) -> bool:
    """Tell what a training logged from what was measured; the measured comes first where one name is both."""
    measured = any(name == key for name, _ in source.view.series)
    return not measured and any(metric.quantity == key for metric in source.told.metrics)


def panels(source: plot_source.Source, keys: tuple[str, ...]) -> tuple[list[Panel], list[str]]:
    """Draw the keys asked for, those of one quantity together; also say what was left out."""
    lines: dict[Quantity, list[Line]] = {}
    notes: list[str] = []
    logged: list[Panel] = []
    for key in keys:
        if _is_metric(source, key):
            own = plot_steps.own_panel(source, key)
            logged += [] if own is None else [own]
            notes += [f"{key}: {plot_steps.WITHOUT_TIMES}"] if own is None else []
            continue
        quantity = quantity_of(source.view, key)
        instances = _largest(source, key)
        shown = instances[: DEVICES if _is_device(source, key) else INSTANCES]
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
    return [*logged, *made], notes


def quantity_of(view: RunView, key: str, metrics: Sequence[str] = ()) -> Quantity:
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
        raise UsageError(f"key not recorded in this run: {key}", hint=_hint(key, [*metrics, *recorded]))
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
    if near:
        return f"did you mean {' or '.join(near)}?"
    more = f" or {len(recorded) - MOST_NAMED} others" if len(recorded) > MOST_NAMED else ""
    return f"use one of {', '.join(recorded[:MOST_NAMED])}{more}"


def _is_device(source: plot_source.Source, key: str) -> bool:
    definition = source.view.run.definitions.get(key)
    return definition is not None and definition.scope is Scope.DEVICE


def _largest(source: plot_source.Source, key: str) -> list[Series]:
    """Find the instances of a key: the largest first, devices in the order of their numbers."""
    found = [series for (name, _), series in source.view.series.items() if name == key and series.times]
    if _is_device(source, key) and len(found) <= DEVICES:
        return sorted(found, key=lambda series: source.device_order(series.instance))
    return sorted(found, key=lambda series: (series.instance != "", -max(series.values), series.instance))


def _line(source: plot_source.Source, series: Series) -> Line:
    counter = source.is_counter(series.key) or series.spans is not None
    place = plot_series.rate_points if counter else plot_series.gauge_points
    line = plot_series.make_line(
        place(series, source.axis),
        source.axis,
        step=counter,
        label=_label(source, series),
        key=series.key,
        role=Role.OTHER,
    )
    return replace(line, instance=series.instance)


def _label(source: plot_source.Source, series: Series) -> str:
    """Call a process by its command, a device by its number."""
    if _is_device(source, series.key) and series.instance:
        return source.device_name(series.instance)
    commands = {p.instance: p.command for p in source.view.processes if p.command}
    named = commands.get(series.instance)
    if named is None:
        return series.instance
    return f"{plot_who.command_name(named)} {series.instance.partition('@')[0]}"
