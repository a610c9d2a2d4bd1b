"""Figures of the machine that trackers log beside the metrics, as windows with definitions.

They are read from outside and in the tracker's own way (W&B: the training process and its host; MLflow: the
host), so they keep the tracker's name as their prefix and are never mixed with what jobmeter measures.
"""

import re
from dataclasses import dataclass, field

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.model.run import Value
from jobmeter.model.view import Window

_MEBI, _GIBI, _MEGA = 1 << 20, 1 << 30, 1e6
_UNITS: dict[str, tuple[Unit, float]] = {
    "bytes": (Unit.BYTES, 1),
    "megabytes": (Unit.BYTES, _MEGA),
    "mb": (Unit.BYTES, _MEBI),
    "gb": (Unit.BYTES, _GIBI),
    "percentage": (Unit.PERCENT, 1),
    "percent": (Unit.PERCENT, 1),
    "watts": (Unit.WATTS, 1),
    "celsius": (Unit.CELSIUS, 1),
    "temp": (Unit.CELSIUS, 1),
    "mhz": (Unit.HERTZ, _MEGA),
    "threads": (Unit.COUNT, 1),
}
"""By the last word of a name: the unit, and what one of theirs is in base units."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """One figure of a tracker under a key of ours."""

    definition: Measurement
    instance: str
    factor: float


def gauge(tool: str, theirs: str, words: list[str], instance: str, scope: Scope) -> Gauge:
    """Name a figure: `gpu.0.powerWatts` of W&B is `wandb_gpu_power_watts` of instance 0, in watts.

    Where theirs is no base unit, its word leaves the name with it: `proc.memory.rssMB` is `wandb_proc_memory_rss`.
    """
    spelled = [word.lower() for part in words for word in _WORD.findall(part)]
    unit, factor = _UNITS.get(spelled[-1], (Unit.NONE, 1.0)) if spelled else (Unit.NONE, 1.0)
    named = spelled[:-1] if factor != 1 and len(spelled) > 1 else spelled
    about = f"{theirs.replace(instance, 'N', 1) if instance else theirs}, as {tool} logged it"
    key = "_".join((tool, *(named or ["value"])))
    definition = Measurement(key, Kind.GAUGE, unit, scope, (Reduce.LAST,), (Stat.PEAK, Stat.MEAN), about)
    return Gauge(definition=definition, instance=instance, factor=factor)


@dataclass(slots=True)
class Gauges:
    """Windows in the making: the figures of one moment are one window."""

    definitions: dict[str, Measurement] = field(default_factory=dict)
    _values: dict[float, dict[tuple[str, str], Value | dict[str, int]]] = field(default_factory=dict)
    _whole: dict[str, list[float]] = field(default_factory=dict)

    def add(self, timestamp: float, gauge: Gauge, value: float) -> None:
        """Take one figure in, in base units."""
        key = gauge.definition.key
        self.definitions.setdefault(key, gauge.definition)
        scaled = value if gauge.factor == 1 else _tidy(value * gauge.factor)
        self._values.setdefault(timestamp, {})[key, gauge.instance] = scaled
        if not gauge.instance:
            self._whole.setdefault(key, []).append(scaled)

    @property
    def windows(self) -> list[Window]:
        """Give the windows in order of time."""
        return [
            Window(timestamp=timestamp, num_samples=1, clock={}, values=self._values[timestamp])
            for timestamp in sorted(self._values)
        ]

    @property
    def summary(self) -> dict[str, Value]:
        """Compute the statistics of figures that have no instances."""
        found: dict[str, Value] = {}
        for key, values in self._whole.items():
            definition = self.definitions[key]
            found[definition.stat_key("peak")] = max(values)
            found[definition.stat_key("mean")] = sum(values) / len(values)
        return found


def _tidy(value: float) -> int | float:
    # a whole number times a whole factor is an int, which has no is_integer before Python 3.12
    return int(value) if float(value).is_integer() else value
