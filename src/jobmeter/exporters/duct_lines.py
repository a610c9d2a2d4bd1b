"""A run's windows as con-duct's usage lines.

con-duct writes one line per report: processes with their maxima, the largest simultaneous sum, and its
mean. jobmeter writes job figures at every sample and processes at every report, and leaves out what did
not move; here they are laid together again. `pcpu` is the percentage over the interval, not over the
process's life, which is what con-duct's name suggests and ps does not give.
"""

import time

from jobmeter.model.measurement import PROCESS_TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Protocol

    Number = int | float
    Line = dict[str, object]

    class Readings(Protocol):
        """What is asked of a window here: `model.view.Window`, or what the drop-in reads of a line."""

        @property
        def timestamp(self) -> float: ...
        @property
        def num_samples(self) -> int: ...
        @property
        def clock(self) -> Mapping[str, tuple[float, float]]: ...
        @property
        def values(self) -> Mapping[tuple[str, str], int | float | str | dict[str, int]]: ...


FIELDS = ("pmem", "pcpu", "rss", "vsz")
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


class _Total:
    """One summed quantity over a report: its maximum, and its mean by samples."""

    __slots__ = ("peak", "samples", "weighted")

    def __init__(self, peak: "Number", weighted: float, samples: int) -> None:
        self.peak = peak
        self.weighted = weighted
        self.samples = samples

    def add(self, other: "_Total") -> None:
        self.peak = max(self.peak, other.peak)
        self.weighted += other.weighted
        self.samples += other.samples


class _Report:
    """What the windows since the last line add up to, and the processes of that line."""

    __slots__ = ("processes", "samples", "timestamp", "totals")

    def __init__(self) -> None:
        self.samples = 0
        self.timestamp = 0.0
        self.totals: dict[str, _Total] = {}
        self.processes: dict[str, Line] = {}

    def add(self, window: "Readings", memory_bytes: "Number | None") -> None:
        found = _totals(window, memory_bytes)
        for name, (peak, mean) in found.items():
            self._add(name, _Total(peak, mean * window.num_samples, window.num_samples))
        self.samples += window.num_samples if found else 0
        self.timestamp = window.timestamp

    def _add(self, name: str, total: _Total) -> None:
        if name in self.totals:
            self.totals[name].add(total)
        else:
            self.totals[name] = total

    def absorb(self, other: "_Report") -> None:
        """Take in a report that no process was left for: what was used since the last one still counts."""
        for name, total in other.totals.items():
            self._add(name, total)

    def line(self) -> "Line":
        def peak(name: str) -> "Number | None":
            return self.totals[name].peak if name in self.totals else None

        def mean(name: str) -> float | None:
            total = self.totals.get(name)
            return None if total is None or not total.samples else total.weighted / total.samples

        means = {name: mean(name) for name in ("rss", "vsz", "pmem", "pcpu")}
        return {
            "timestamp": _iso(self.timestamp),
            "num_samples": self.samples,
            "processes": {instance.partition("@")[0]: values for instance, values in self.processes.items()},
            "totals": {name: peak(name) for name in FIELDS},
            "averages": means | {"num_samples": self.samples},
        }


def lines(
    windows: "Iterable[Readings]", memory_bytes: "Number | None", report_seconds: float | None = None
) -> "Iterator[Line]":
    """Yield one line per report; without a report of processes, one per `report_seconds`."""
    held: _Report | None = None
    for report in _reports(windows, memory_bytes, report_seconds):
        if "rss" in report.totals:
            if held is not None:
                yield held.line()
            held = report
        elif held is not None:
            held.absorb(report)
    if held is not None:
        yield held.line()


def _reports(
    windows: "Iterable[Readings]", memory_bytes: "Number | None", report_seconds: float | None
) -> "Iterator[_Report]":
    report, standing = _Report(), _Standing()
    last_line_at: float | None = None
    for window in windows:
        has_processes = any(instance for _, instance in window.values)
        last_line_at = window.timestamp if last_line_at is None else last_line_at
        overdue = report_seconds is not None and report.timestamp - last_line_at >= report_seconds
        if report.totals and overdue and not has_processes:
            report.processes = standing.unmoved(report.timestamp)
            yield report
            report, last_line_at = _Report(), report.timestamp
        report.add(window, memory_bytes)
        standing.count(window)
        if not has_processes:
            continue
        report.processes = standing.move(window, memory_bytes)
        if report.totals:
            yield report
            report, last_line_at = _Report(), window.timestamp
    if report.totals:
        report.processes = standing.unmoved(report.timestamp)
        yield report


class _Standing:
    """The processes as last seen. jobmeter writes those that moved: the others are there as they were.

    Who is still there is known by number only: where the processes known are as many as were alive, they
    are all listed, else only those that moved.
    """

    def __init__(self) -> None:
        self._known: dict[str, Line] = {}
        self._born: dict[str, float] = {}
        self._listed: list[str] = []
        self._alive: Number | None = None

    def count(self, window: "Readings") -> None:
        alive = _number(window, "proc_count")
        self._alive = self._alive if alive is None else alive

    def move(self, window: "Readings", memory_bytes: "Number | None") -> "dict[str, Line]":
        """Take over what moved and list who is there."""
        # `rest` stands for processes too small to be listed
        moved = sorted({instance for _, instance in window.values if instance.partition("@")[0].isdigit()})
        for instance in moved:
            known = self._known.get(instance, {}) | {"pcpu": 0.0}
            self._known[instance] = known | _process(window, instance, memory_bytes)
            age_seconds = _age_seconds(window, instance)
            if age_seconds is not None:
                self._born[instance] = window.timestamp - age_seconds
        others = [instance for instance in self._listed if instance not in moved]
        idle = self._idle(others, window.timestamp) if len(others) + len(moved) == self._alive else {}
        self._listed = [*idle, *moved]
        return idle | {instance: self._known[instance] for instance in moved}

    def unmoved(self, timestamp: float) -> "dict[str, Line]":
        """List who stood in the last line, idle since."""
        return self._idle(self._listed, timestamp) if len(self._listed) == self._alive else {}

    def _idle(self, instances: list[str], timestamp: float) -> "dict[str, Line]":
        listed: dict[str, Line] = {}
        for instance in instances:
            line = self._known[instance] | {"pcpu": 0.0, "timestamp": _iso(timestamp)}
            line.pop("stat", None)  # seen in a state, but which was not written
            if instance in self._born:
                line["etime"] = elapsed(timestamp - self._born[instance])
            listed[instance] = line
        return listed


def _totals(window: "Readings", memory_bytes: "Number | None") -> "dict[str, tuple[Number, Number]]":
    found: dict[str, tuple[Number, Number]] = {}
    for name in FIELDS:
        for tool in PROCESS_TOOLS:
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


def _interval_percent(window: "Readings") -> float | None:
    for key in CPU_COUNTERS:
        used = _number(window, key)
        begin, end = window.clock.get(key.partition("_")[0], (0.0, 0.0))
        if used is not None and end > begin:
            return 100 * used / (end - begin)
    return None


def _number(window: "Readings", key: str, instance: str = "") -> "Number | None":
    value = window.values.get((key, instance))
    return value if isinstance(value, int | float) else None


def _process(window: "Readings", instance: str, memory_bytes: "Number | None") -> "Line":
    found: Line = {}
    for name in FIELDS:
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


def _first(window: "Readings", name: str, instance: str) -> "Number | None":
    for tool in PROCESS_TOOLS:
        value = _number(window, f"{tool}_{name}", instance)
        if value is not None:
            return value
    return None


def _age_seconds(window: "Readings", instance: str) -> "Number | None":
    recorded = _number(window, "ps_etime", instance)
    start_ticks = instance.partition("@")[2]
    if recorded is not None or not start_ticks.isdigit() or "proc" not in window.clock:
        return recorded
    # both count from boot, short of time spent suspended
    return max(0.0, window.clock["proc"][1] - int(start_ticks) / _TICKS_PER_SECOND)


def elapsed(seconds: "Number") -> str:
    """Write an age as ps does: `[[days-]hours:]minutes:seconds`."""
    days, rest = divmod(int(seconds), _SECONDS_PER_DAY)
    hours, minutes, second = rest // 3600, rest % 3600 // 60, rest % 60
    short = f"{minutes:02d}:{second:02d}"
    if days:
        return f"{days}-{hours:02d}:{short}"
    return f"{hours:02d}:{short}" if hours else short


def _iso(moment: float) -> str:
    micros = round(moment * 1e6)
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(micros // 1_000_000))
        + f".{micros % 1_000_000:06d}+00:00"
    )
