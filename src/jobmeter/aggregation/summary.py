"""The run's summary: totals of counters, statistics of gauges, straight from the readings."""

from jobmeter.model.measurement import Kind, Measurement, Scope, Stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Value = int | float | str


class Gauge:
    """Running statistics of one gauge."""

    __slots__ = ("count", "last", "low", "peak", "total")

    def __init__(self, value: float) -> None:
        self.peak = self.low = self.last = self.total = value
        self.count = 1

    def add(self, value: float) -> None:
        """Take one more reading in."""
        if value > self.peak:
            self.peak = value
        elif value < self.low:
            self.low = value
        self.last = value
        self.total += value
        self.count += 1

    def stat(self, stat: Stat) -> float:
        """Give one statistic."""
        known = {Stat.PEAK: self.peak, Stat.LOW: self.low, Stat.LAST: self.last, Stat.TOTAL: self.total}
        return self.total / self.count if stat is Stat.MEAN else known[stat]


class Summary:
    """Accumulates job, device and host keys over the run; bounded by the number of keys and devices.

    Devices are taken together: a counter is the sum of theirs, the peak of a gauge that of any, its mean the mean
    over all. What must be added up at one moment (memory of all GPUs) is a key of its own.
    """

    __slots__ = ("_base", "_definitions", "_gauges", "_labels", "_starts_at_zero", "_totals")

    def __init__(
        self, definitions: "Mapping[str, Measurement]", starts_at_zero: "Callable[[Measurement], bool]"
    ) -> None:
        self._definitions = definitions
        self._starts_at_zero = starts_at_zero
        self._base: dict[tuple[str, str], float] = {}
        self._totals: dict[tuple[str, str], float] = {}
        self._gauges: dict[str, Gauge] = {}
        self._labels: dict[str, dict[str, str]] = {}

    def add(self, readings: "Iterable[tuple[str, str, Value]]") -> None:
        """Take the readings of one sample in."""
        for key, instance, value in readings:
            definition = self._definitions[key]
            if definition.scope is Scope.PROCESS or (instance and definition.scope is not Scope.DEVICE):
                continue
            if definition.kind is Kind.CATEGORICAL:
                continue  # a tally is for windows
            if isinstance(value, str):
                self._labels.setdefault(key, {})[instance] = value
            elif definition.kind is Kind.COUNTER:
                self._count(definition, (key, instance), value)
            elif key in self._gauges:
                self._gauges[key].add(value)
            else:
                self._gauges[key] = Gauge(value)

    def _count(self, definition: Measurement, at: tuple[str, str], value: float) -> None:
        if at not in self._base:
            self._base[at] = 0 if self._starts_at_zero(definition) else value
            self._totals[at] = 0
        total = value - self._base[at]
        if total > self._totals[at]:
            self._totals[at] = total

    def largest(self, key: str) -> float | None:
        """Give the highest reading of a gauge so far."""
        gauge = self._gauges.get(key)
        return None if gauge is None else gauge.peak

    def latest(self, key: str) -> float | None:
        """Give the newest reading of a gauge, or the total of a counter."""
        gauge = self._gauges.get(key)
        if gauge is not None:
            return gauge.last
        parts = [total for at, total in self._totals.items() if at[0] == key]
        return sum(parts) if parts else None

    def values(self) -> "dict[str, Value]":
        """Render the summary: counters under their own key, statistics with their word after the tool."""
        totals: dict[str, float] = {}
        for (key, _instance), total in self._totals.items():
            totals[key] = totals.get(key, 0) + total
        values: dict[str, Value] = {**totals}
        for key, gauge in self._gauges.items():
            definition = self._definitions[key]
            if not definition.summary:
                values[key] = gauge.peak
            for stat in definition.summary:
                values[definition.stat_key(stat.value)] = gauge.stat(stat)
        for key, labels in self._labels.items():
            values[key] = ", ".join(dict.fromkeys(labels.values()))
        return {key: _tidy(values[key]) for key in sorted(values)}


def _tidy(value: "Value") -> "Value":
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, 6)
    return value
