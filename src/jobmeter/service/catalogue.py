"""Everything jobmeter can measure, and whether it can be measured here."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from jobmeter import collectors
from jobmeter.model.measurement import Measurement
from jobmeter.probes.paths import Paths


@dataclass(frozen=True, slots=True)
class Entry:
    """One key; `missing` says why it cannot be read here, None when it can."""

    collector: str
    measurement: Measurement
    missing: str | None
    default: bool
    """Recorded unless the user chooses otherwise."""
    untested: bool
    """Written after recorded captures: nobody has seen it run on the hardware itself."""

    def as_record(self) -> dict[str, object]:
        """Render for JSON."""
        state: dict[str, object] = {
            "collector": self.collector,
            "available": self.missing is None,
            "default": self.default,
        }
        if self.missing is not None:
            state["missing"] = self.missing
        if self.untested:
            state["untested"] = True
        return self.measurement.as_record() | state


def catalogue(paths: Paths, system: str) -> Iterator[Entry]:
    """List every key of every collector."""
    default = collectors.DEFAULT_LINUX if system == "Linux" else collectors.DEFAULT_ELSEWHERE
    for name in collectors.ALL:
        collector = collectors.load(name)
        missing = collector.missing(paths)
        for measurement in collector.MEASUREMENTS:
            yield Entry(name, measurement, missing, name in default, getattr(collector, "UNTESTED", False))


@functools.cache
def records(system: str) -> list[dict[str, object]]:
    """List every key as a server does; what a machine can measure is looked at once."""
    return [entry.as_record() for entry in catalogue(Paths(), system)]
