"""What `intel_gpu_top -J` prints: JSON objects one after another, in a list that may never be closed.

What misleads: there is no clock, only how long each period was; percentages of an engine class with two engines
go up to 200; numbers of clients are texts.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from jobmeter.formats import loose_json, monitorlog, quantity
from jobmeter.formats.monitorlog import gauge
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Scope, Stat, Unit
from jobmeter.model.view import Window

ORIGIN = "intel_gpu_top"
_MHZ = 1_000_000
_MEAN_PEAK = (Stat.MEAN, Stat.PEAK)
DEFINITIONS = monitorlog.table(
    (
        gauge("intel_busy", Unit.PERCENT, "use of one engine", stats=(Stat.PEAK,)),
        gauge("intel_clock", Unit.HERTZ, "clock the GPU ran at", Scope.HOST, _MEAN_PEAK),
        gauge("intel_clock_requested", Unit.HERTZ, "clock the driver asked for", Scope.HOST, _MEAN_PEAK),
        gauge("intel_rc6", Unit.PERCENT, "share of time the GPU slept", Scope.HOST, _MEAN_PEAK),
        gauge("intel_interrupts", Unit.COUNT, "interrupts a second", Scope.HOST, _MEAN_PEAK),
        gauge("intel_power", Unit.WATTS, "power of the GPU or the package", stats=(Stat.PEAK,)),
        gauge("intel_proc_busy", Unit.PERCENT, "use of all engines by a process", Scope.PROCESS, _MEAN_PEAK),
        monitorlog.label("intel_proc_name", "program of a process on the GPU", Scope.PROCESS),
    )
)
_MILLISECONDS = 1e-3


def sniff(head: bytes, _name: str) -> float:
    """Claim JSON with a period and engines."""
    start = head.lstrip(b"\xef\xbb\xbf[ \t\r\n")
    marked = b'"period"' in start and b'"engines"' in start
    return 0.95 if start.startswith(b"{") and marked and b'"rc6"' in start else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per period."""
    facts = monitorlog.Facts(
        missing={"started_at": "intel_gpu_top prints no time: periods follow one another from 1970 on"}
    )
    windows = list(_windows(path))
    return [monitorlog.imported(path, format=ORIGIN, definitions=DEFINITIONS, windows=windows, facts=facts)]


def _windows(path: Path) -> Iterator[Window | None]:
    ended = 0.0
    for record in _objects(path.read_text(encoding="utf-8-sig", errors="replace")):
        period = loose_json.mapping(record.get("period"))
        length = (loose_json.number(period.get("duration")) or 0) * _MILLISECONDS
        values = _values(record)
        ended = round(ended + length, 9)
        yield Window(timestamp=ended, num_samples=1, clock={}, values=values) if values else None


def _objects(text: str) -> Iterator[dict[str, object]]:
    """Decode one object after another; what separates them, and a torn last one, is passed over."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            found, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        if isinstance(found, dict):
            yield found
        place = text.find("{", end)


def _values(record: dict[str, object]) -> monitorlog.Values:
    frequency, power = loose_json.mapping(record.get("frequency")), loose_json.mapping(record.get("power"))
    single = {
        "intel_clock": _scaled(frequency.get("actual"), _MHZ),
        "intel_clock_requested": _scaled(frequency.get("requested"), _MHZ),
        "intel_rc6": _figure(loose_json.mapping(record.get("rc6")).get("value")),
        "intel_interrupts": _figure(loose_json.mapping(record.get("interrupts")).get("count")),
    }
    values: monitorlog.Values = {(key, ""): value for key, value in single.items() if value is not None}
    for domain in ("GPU", "Package"):
        watts = _figure(power.get(domain))
        if watts is not None:
            values["intel_power", domain] = watts
    for engine, told in loose_json.mapping(record.get("engines")).items():
        busy = _figure(loose_json.mapping(told).get("busy"))
        if busy is not None:
            values["intel_busy", engine] = busy
    return values | _clients(record)


def _clients(record: dict[str, object]) -> monitorlog.Values:
    values: monitorlog.Values = {}
    for told in loose_json.mapping(record.get("clients")).values():
        client = loose_json.mapping(told)
        pid, name = str(client.get("pid", "")), loose_json.text(client.get("name"))
        classes = loose_json.mapping(client.get("engine-classes")).values()
        busy = [_figure(loose_json.mapping(engine).get("busy")) for engine in classes]
        known = [value for value in busy if value is not None]
        if pid.isdecimal() and known:
            values["intel_proc_busy", pid] = quantity.tidy(sum(known))
        if pid.isdecimal() and name:
            values["intel_proc_name", pid] = name
    return values


def _figure(value: object) -> quantity.Number | None:
    return quantity.number(value) if isinstance(value, str) else loose_json.number(value)


def _scaled(value: object, factor: int) -> quantity.Number | None:
    found = _figure(value)
    return None if found is None else quantity.tidy(found * factor)
