"""Fold buffered readings into windows, once per report.

Counters become sums of per-instance deltas: a process that ended still contributes what it had used, which
the delta of a sum would lose. A delta counts from the last window that reached the disk, so a dropped
window is carried by the next one instead of being lost.
"""

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Value = int | float | str
    Folded = dict[tuple[str, str], Value | dict[str, int]]

TOP = 50
REST = "rest"
_RATE = "_pdcpu"
_FOLD_AT = 50_000
_NUMBERS = (int, float)
_COUNTER, _GAUGE = Kind.COUNTER, Kind.GAUGE


class Span:
    """When the readings of one source were taken, in monotonic seconds."""

    __slots__ = ("begin", "end")

    def __init__(self, begin: float) -> None:
        self.begin = begin
        self.end = begin


class Buffer:
    """Raw readings of one scope since the last window that was kept."""

    __slots__ = (
        "_carry",
        "_definitions",
        "_floor",
        "_folded",
        "_labels",
        "_last",
        "_names",
        "_new_labels",
        "_readings",
        "_seeds",
        "_standing",
        "_starts_at_zero",
        "_sums",
        "samples",
        "spans",
    )

    def __init__(
        self,
        definitions: "Mapping[str, Measurement]",
        starts_at_zero: "Callable[[Measurement], bool]",
        begin: float,
    ) -> None:
        self._definitions = definitions
        self._starts_at_zero = starts_at_zero
        self._floor = begin
        self._readings: list[tuple[str, str, Value]] = []
        self._folded: Folded = {}
        self._seeds: dict[tuple[str, str], float] = {}
        self._last: dict[tuple[str, str], float] = {}
        self._carry: dict[tuple[str, str], Value] = {}
        self._standing: dict[tuple[str, str], Value] = {}
        self._labels: dict[tuple[str, str], Value] = {}
        self._new_labels: set[tuple[str, str]] = set()
        self._names: dict[str, list[tuple[str, Reduce]]] = {}
        self._sums: dict[tuple[str, str], list[float]] = {}
        self.spans: dict[str, Span] = {}
        self.samples = 0

    def add(self, source: str, at: float, readings: "Iterable[tuple[str, str, Value]]") -> None:
        """Keep the readings one source gave at one moment."""
        span = self.spans.get(source)
        if span is None:
            span = self.spans[source] = Span(self._floor)
        span.end = at
        self._readings.extend(readings)
        if len(self._readings) > _FOLD_AT:
            self.fold()

    def fold(self) -> "Folded":
        """Reduce everything buffered; nothing is forgotten until `commit`."""
        folded = self._folded
        for key, instance, value in self._readings:
            definition = self._definitions[key]
            kind = definition.kind
            if kind is _COUNTER:
                self._count(folded, definition, (key, instance), value)
            elif kind is _GAUGE:
                self._reduce_gauge(folded, definition, instance, value)
                if definition.scope is Scope.PROCESS and not key.endswith(_RATE):
                    self._standing[key, instance] = value
            elif kind is Kind.CATEGORICAL:
                known = folded.get((key, instance))
                tally = known if isinstance(known, dict) else {}
                tally[str(value)] = tally.get(str(value), 0) + 1
                folded[key, instance] = tally
            # what is on the disk already is not said again
            elif (key, instance) in folded or self._labels.get((key, instance)) != value:
                folded[key, instance] = value
                self._new_labels.add((key, instance))
        self._readings = []
        return folded

    def _reduce_gauge(self, folded: "Folded", definition: Measurement, instance: str, value: "Value") -> None:
        """Fold one more reading in, from what the gauge said when the window began."""
        standing = self._carry.get((definition.key, instance))
        for name, reduce in self._names.get(definition.key) or self._name(definition):
            at = (name, instance)
            known = folded.get(at, standing)
            if reduce is Reduce.LAST or not isinstance(value, _NUMBERS):
                folded[at] = value
            elif reduce is Reduce.MEAN:
                self._sums.setdefault(at, []).append(value)
                folded[at] = sum(self._sums[at]) / len(self._sums[at])
            elif not isinstance(known, _NUMBERS) or (
                value > known if reduce is Reduce.MAX else value < known
            ):
                folded[at] = value
            else:
                folded[at] = known

    def _name(self, definition: Measurement) -> list[tuple[str, Reduce]]:
        """Say under which names a gauge is written: its own, then those of further statistics."""
        first, *further = definition.reduce
        names = [(definition.key, first), *((definition.stat_key(one.value), one) for one in further)]
        self._names[definition.key] = names
        return names

    def _count(self, folded: "Folded", definition: Measurement, at: tuple[str, str], value: "Value") -> None:
        total = value if isinstance(value, _NUMBERS) else int(value)
        seed = self._seeds.get(at)
        if seed is None:
            if not self._starts_at_zero(definition):
                self._seeds[at] = total
                return
            seed = 0
        # a source that restarted counts from zero again: what it lost is unknown, what it has now is real
        folded[at] = total - seed if total >= seed else total
        self._last[at] = total

    def commit(self, written: "Folded") -> None:
        """This much of the window reached the disk: deltas count from here, the buffer begins anew."""
        for at in self._new_labels:
            label = written.get(at)
            if isinstance(label, str):
                self._labels[at] = label
        self._seeds.update(self._last)
        self._carry.update(self._standing)
        for span in self.spans.values():
            span.begin = span.end
        self._readings, self._folded, self._last, self._standing, self._sums = [], {}, {}, {}, {}
        self._new_labels = set()
        self.samples = 0

    def forget(self, alive: "set[str]") -> None:
        """Drop what is remembered of processes that are gone."""
        # a window that waits for room on the disk still counts from the seeds
        if self._folded or len(self._seeds) + len(self._carry) + len(self._labels) < 4096:
            return
        for known in (self._seeds, self._carry, self._labels):
            for at in [at for at in known if at[1] and at[1] not in alive]:
                del known[at]

    def clock(self) -> dict[str, tuple[float, float]]:
        """Say, per source, what time the window covers."""
        return {name: (span.begin, span.end) for name, span in self.spans.items() if span.end > span.begin}


def top_instances(folded: "Folded", limit: int = TOP) -> "Folded":
    """Keep the processes that used most, by CPU then memory; the others become one `rest`."""
    weight: dict[str, tuple[float, float]] = {}
    for (key, instance), value in folded.items():
        cpu, rss = weight.get(instance, (0.0, 0.0))
        if isinstance(value, _NUMBERS):
            cpu = max(cpu, value) if key.endswith("_cputime") else cpu
            rss = max(rss, value) if key.endswith("_rss") else rss
        weight[instance] = (cpu, rss)
    if len(weight) <= limit:
        return folded
    kept = set(sorted(weight, key=lambda name: weight[name], reverse=True)[:limit])
    shortened: Folded = {}
    for (key, instance), value in folded.items():
        if instance in kept:
            shortened[key, instance] = value
        elif isinstance(value, _NUMBERS) and not key.endswith(_RATE):
            so_far = shortened.get((key, REST), 0)
            shortened[key, REST] = so_far + value if isinstance(so_far, _NUMBERS) else value
    return shortened
