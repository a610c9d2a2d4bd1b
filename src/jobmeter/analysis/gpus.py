"""The GPUs of a job as detectors look at them: what was measured of each, by the best tool that did.

What can mislead: figures of a device are those of everyone on it; utilisation is the share of time in which any kernel
ran, not how full the GPU was.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis import readings
from jobmeter.analysis.readings import Readings
from jobmeter.analysis.series import Floats, gpu_label
from jobmeter.model.measurement import GPU_TOOLS
from jobmeter.model.view import RunView

BUSY_PERCENT = 5.0
"""Of the time: below, a GPU does nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """One GPU; what was not measured of it is None."""

    tool: str
    instance: str
    util: Readings | None
    mem_used: Readings | None
    mem_total: Readings | None

    @property
    def label(self) -> str:
        """Name it: `GPU 0`, `GPU-3fa9c1d2`."""
        return gpu_label(self.instance)

    def key(self, quantity: str) -> str:
        """Name the key of a quantity of it."""
        return f"{self.tool}_{quantity}"


def devices(view: RunView) -> list[Device]:
    """Give the job's GPUs in the order of their names, by the best tool that saw one."""
    for tool in GPU_TOOLS:
        instances = sorted({name for key, name in view.series if key in (f"{tool}_util", f"{tool}_mem_used")})
        if instances:
            return [_device(view, tool, instance) for instance in instances]
    return []


def _device(view: RunView, tool: str, instance: str) -> Device:
    util, used, total = (
        readings.of(view, f"{tool}_{quantity}", instance) for quantity in ("util", "mem_used", "mem_total")
    )
    return Device(tool, instance, util, used, total)


def during_work(found: Readings) -> Floats:
    """Give the utilisation from the first moment a GPU did something to the last."""
    busy = np.flatnonzero(found.values >= BUSY_PERCENT)
    return found.values[busy[0] : busy[-1] + 1] if len(busy) else found.values[:0]


def working_seconds(found: Readings) -> float:
    """Say how long that was."""
    busy = np.flatnonzero(found.values >= BUSY_PERCENT)
    return float(found.times[busy[-1]] - found.times[busy[0]]) if len(busy) else 0.0


def each_worked(view: RunView) -> Iterator[tuple[Device, Readings]]:
    """Go through the GPUs whose utilisation is known."""
    for device in devices(view):
        if device.util is not None:
            yield device, device.util


def at(found: Readings, moments: Floats) -> Floats:
    """Say what was last known at some moments; a value that is written when it changes holds until then."""
    places: NDArray[np.intp] = np.searchsorted(found.times, moments, side="right") - 1
    return found.values[np.maximum(places, 0)]


def util_between(view: RunView, begin: float, end: float) -> float | None:
    """Give the mean utilisation of the GPUs between two moments; None where none was looked at then."""
    parts = [util.values[(util.times >= begin) & (util.times <= end)] for _, util in each_worked(view)]
    seen = [part for part in parts if len(part)]
    return float(np.concatenate(seen).mean()) if seen else None


def mean_util(view: RunView, least_seconds: float) -> float | None:
    """Give the mean utilisation of the GPUs while they worked; None where none worked for so long."""
    parts = [during_work(util) for _, util in each_worked(view) if working_seconds(util) >= least_seconds]
    return float(np.concatenate(parts).mean()) if parts else None
