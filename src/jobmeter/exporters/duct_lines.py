"""A run's windows as con-duct's usage lines.

con-duct writes one line per report: processes with their maxima, the largest simultaneous sum, and its
mean. jobmeter writes job figures at every sample and processes at every report, and leaves out what did
not move; here they are laid together again. `pcpu` is the percentage over the interval, not over the
process's life, which is what con-duct's name suggests and ps does not give.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from jobmeter.model.view import Window

Number = int | float
Line = dict[str, object]

FIELDS = ("pmem", "pcpu", "rss", "vsz")
TOOLS = ("proc", "psutil", "ps")
"""Whose figure stands for a con-duct field, best first."""
CPU_COUNTERS = (
    "cgroup_cputime",
    "wait_cputime",
    "proc_cputime_total",
    "psutil_cputime_total",
    "ps_cputime_total",
)
"""CPU seconds of the whole job, best first."""

_TICKS_PER_SECOND = 100
_SECONDS_PER_DAY = 86400


@dataclass(slots=True)
class _Total:
    """One summed quantity over a report: its maximum, and its mean by samples."""

    peak: Number
    weighted: float
    samples: int

    def add(self, peak: Number, mean: Number, samples: int) -> None:
        self.peak = max(self.peak, peak)
        self.weighted += mean * samples
        self.samples += samples


@dataclass(slots=True)
class _Report:
    """What the windows since the last line add up to."""

    samples: int = 0
    totals: dict[str, _Total] = field(default_factory=dict)

    def add(self, window: Window, memory_bytes: Number | None) -> None:
        counted = False
        for name, (peak, mean) in _totals(window, memory_bytes).items():
            counted = True
            if name in self.totals:
                self.totals[name].add(peak, mean, window.num_samples)
            else:
                self.totals[name] = _Total(peak, mean * window.num_samples, window.num_samples)
        self.samples += window.num_samples if counted else 0


def lines(windows: Iterable[Window], memory_bytes: Number | None) -> Iterator[Line]:
    """Yield one line per report of processes; what follows the last one is a line of its own."""
    report = _Report()
    known: dict[str, Line] = {}
    timestamp = 0.0
    for window in windows:
        report.add(window, memory_bytes)
        timestamp = window.timestamp
        if not any(instance for _, instance in window.values):
            continue
        known = _processes(window, known, memory_bytes)
        if report.totals:
            yield _line(timestamp, report, known)
            report = _Report()
    if report.totals:
        yield _line(timestamp, report, {})


def _line(timestamp: float, report: _Report, processes: dict[str, Line]) -> Line:
    def peak(name: str) -> Number | None:
        return report.totals[name].peak if name in report.totals else None

    def mean(name: str) -> float | None:
        total = report.totals.get(name)
        return None if total is None or not total.samples else total.weighted / total.samples

    return {
        "timestamp": _iso(timestamp),
        "num_samples": report.samples,
        "processes": {instance.partition("@")[0]: values for instance, values in processes.items()},
        "totals": {name: peak(name) for name in FIELDS},
        "averages": {name: mean(name) for name in ("rss", "vsz", "pmem", "pcpu")}
        | {"num_samples": report.samples},
    }


def _totals(window: Window, memory_bytes: Number | None) -> dict[str, tuple[Number, Number]]:
    found: dict[str, tuple[Number, Number]] = {}
    for name in FIELDS:
        for tool in TOOLS:
            peak = _number(window, f"{tool}_{name}_total")
            if peak is not None:
                mean = _number(window, f"{tool}_mean_{name}_total")
                found[name] = (peak, peak if mean is None else mean)
                break
    if "pmem" not in found and "rss" in found and memory_bytes:
        peak, mean = found["rss"]
        found["pmem"] = (100 * peak / memory_bytes, 100 * mean / memory_bytes)
    rate = _interval_percent(window)
    if "pcpu" not in found and rate is not None:
        found["pcpu"] = (rate, rate)
    return found


def _interval_percent(window: Window) -> float | None:
    for key in CPU_COUNTERS:
        used = _number(window, key)
        begin, end = window.clock.get(key.partition("_")[0], (0.0, 0.0))
        if used is not None and end > begin:
            return 100 * used / (end - begin)
    return None


def _number(window: Window, key: str, instance: str = "") -> Number | None:
    value = window.values.get((key, instance))
    return value if isinstance(value, int | float) else None


def _processes(window: Window, known: dict[str, Line], memory_bytes: Number | None) -> dict[str, Line]:
    """Lay what moved over what was known of the processes seen in this window; the others are gone."""
    # the first of any tool; `rest` stands for processes too small to be listed
    instances = {instance: None for _, instance in window.values if instance.partition("@")[0].isdigit()}
    return {
        instance: known.get(instance, {}) | {"pcpu": 0.0} | _process(window, instance, memory_bytes)
        for instance in instances
    }


def _process(window: Window, instance: str, memory_bytes: Number | None) -> Line:
    found: Line = {}
    for name in ("pcpu", "pmem", "rss", "vsz"):
        value = _first(window, name, instance)
        if value is not None:
            found[name] = value
    interval = _first(window, "pdcpu", instance)
    if interval is not None:
        found["pcpu"] = interval
    rss = found.get("rss")
    if "pmem" not in found and isinstance(rss, int | float) and memory_bytes:
        found["pmem"] = round(100 * rss / memory_bytes, 3)
    found["timestamp"] = _iso(window.timestamp)
    age_seconds = _age_seconds(window, instance)
    if age_seconds is not None:
        found["etime"] = elapsed(age_seconds)
    states = window.values.get(("proc_state", instance), window.values.get(("ps_stat", instance)))
    if isinstance(states, dict):
        found["stat"] = states
    for key in ("proc_cmd", "psutil_cmd", "ps_cmd"):
        command = window.values.get((key, instance))
        if isinstance(command, str):
            found["cmd"] = command
            break
    return found


def _first(window: Window, name: str, instance: str) -> Number | None:
    for tool in TOOLS:
        value = _number(window, f"{tool}_{name}", instance)
        if value is not None:
            return value
    return None


def _age_seconds(window: Window, instance: str) -> Number | None:
    recorded = _number(window, "ps_etime", instance)
    start_ticks = instance.partition("@")[2]
    if recorded is not None or not start_ticks.isdigit() or "proc" not in window.clock:
        return recorded
    # both count from boot, short of time spent suspended
    return max(0.0, window.clock["proc"][1] - int(start_ticks) / _TICKS_PER_SECOND)


def elapsed(seconds: Number) -> str:
    """Write an age as ps does: `[[days-]hours:]minutes:seconds`."""
    days, rest = divmod(int(seconds), _SECONDS_PER_DAY)
    hours, minutes, second = rest // 3600, rest % 3600 // 60, rest % 60
    short = f"{minutes:02d}:{second:02d}"
    if days:
        return f"{days}-{hours:02d}:{short}"
    return f"{hours:02d}:{short}" if hours else short


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, tz=UTC).isoformat(timespec="microseconds")
