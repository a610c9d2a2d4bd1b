"""Events with the measurements of their moment: an event that a job told itself brings none of its own.

The nearest window before it counts, if it is not older than a minute. Of a counter of CPU time its rate is
given, as percent of one core: `cgroup_cputime` becomes `cgroup_pdcpu`. Of several devices each has its own
value: `nvml_util[GPU-1]`.
"""

import dataclasses
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from jobmeter.model.measurement import Kind, Measurement, Scope, Unit
from jobmeter.model.run import Run, Value
from jobmeter.model.view import Event, Series
from jobmeter.stores import Store

OLDEST_SECONDS = 60.0
_HOST_KEYS = frozenset(("host_mem_available",))
_CPU_TIME = "cputime"


def filled(store: Store, run: Run) -> tuple[Event, ...]:
    """Read a run's events in order of time, each with what was measured then."""
    events = sorted(store.events(run.run_id), key=lambda event: event.timestamp)
    bare = [event.timestamp for event in events if not event.measurements]
    keys = [key for key, definition in run.definitions.items() if _tells(definition)]
    if not bare or not keys:
        return tuple(events)
    counters = [key for key in keys if run.definitions[key].kind is Kind.COUNTER]
    between = (bare[0] - OLDEST_SECONDS, bare[-1])
    found = store.series(run.run_id, keys, counters=counters, between=between)
    return tuple(_filled(event, found) for event in events)


def _tells(definition: Measurement) -> bool:
    """Choose memory, CPU and what devices do; of the host only the memory that is left."""
    if definition.key in _HOST_KEYS:
        return True
    if definition.scope not in (Scope.JOB, Scope.DEVICE):
        return False
    if definition.kind is Kind.COUNTER:
        return definition.scope is Scope.JOB and definition.key.endswith(f"_{_CPU_TIME}")
    return definition.kind is Kind.GAUGE and definition.unit in (Unit.BYTES, Unit.PERCENT)


def _filled(event: Event, found: Sequence[Series]) -> Event:
    if event.measurements:
        return event
    return dataclasses.replace(event, measurements=dict(_at(event.timestamp, found)))


def _at(moment: float, found: Sequence[Series]) -> Iterable[tuple[str, Value]]:
    several = {one.key for one in found if one.instance and _others(one, found)}
    for one in found:
        place = bisect_right(one.times, moment) - 1
        if place < 0 or one.times[place] < moment - OLDEST_SECONDS:
            continue
        name = f"{one.key}[{one.instance}]" if one.key in several else one.key
        if one.spans is None:
            if not name.endswith(f"_{_CPU_TIME}"):
                yield name, one.values[place]
        elif one.spans[place] > 0:
            percent = round(100 * one.values[place] / one.spans[place], 3)
            yield f"{name.removesuffix(_CPU_TIME)}pdcpu", percent


def _others(one: Series, found: Sequence[Series]) -> bool:
    return any(other.key == one.key and other.instance != one.instance for other in found)
