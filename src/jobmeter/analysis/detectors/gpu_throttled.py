"""GPU throttled: clocks went down because the board was too hot, or drew all the power it may.

By heat: temperature at the usual limit and clocks clearly below the best of the run. By power: the board at its power
limit while it worked, clocks clearly down. A board at its limit with full clocks is simply well used.

What can mislead: the best clock is that of this run, so a GPU that was hot from the start looks normal unless it is
very hot; limits of temperature differ between boards.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis import gpus, readings
from jobmeter.analysis.gpus import Device
from jobmeter.analysis.readings import Readings
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.view import RunView

HOT_CELSIUS = 83.0
"""Where most boards begin to slow down."""
VERY_HOT_CELSIUS = 90.0
AT_LIMIT = 0.97
"""Of the power limit: the mean of a second rarely reaches it whole."""
SLOWED = 0.9
"""Of the best clock; less is how boost clocks breathe."""
LEAST_SHARE = 0.1
"""Of the time the GPU worked."""
LEAST_SECONDS = 20.0
_WORKING_PERCENT = 50.0
_BEST = 95


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """A GPU while it worked; what was not measured is None."""

    device: Device
    times: NDArray[np.float64]
    clocks: NDArray[np.float64] | None
    best_clock: float
    temps: NDArray[np.float64] | None
    power: NDArray[np.float64] | None
    """As a share of the limit."""


def detect(view: RunView) -> Iterable[Finding]:
    """Tell which GPUs were slowed down, and by what."""
    for device, util in gpus.each_worked(view):
        work = _work(view, device, util)
        if work is not None:
            yield from _by_heat(work)
            yield from _by_power(work)


def _work(view: RunView, device: Device, util: Readings) -> Work | None:
    times = util.times[util.values >= _WORKING_PERCENT]
    if len(times) < 2 or times[-1] - times[0] < LEAST_SECONDS:
        return None
    clock, temp, power, limit = (
        readings.of(view, device.key(quantity), device.instance)
        for quantity in ("sm_clock", "temp", "power", "power_limit")
    )
    used = None
    if power is not None and limit is not None and limit.values.min() >= 1:
        used = gpus.at(power, times) / gpus.at(limit, times)
    clocks = None if clock is None else gpus.at(clock, times)
    best = 0.0 if clocks is None else float(np.percentile(clocks, _BEST))
    return Work(device, times, clocks, best, None if temp is None else gpus.at(temp, times), used)


def _slowed(work: Work) -> NDArray[np.bool_] | None:
    return None if work.clocks is None else work.clocks <= SLOWED * work.best_clock


def _by_heat(work: Work) -> Iterator[Finding]:
    if work.temps is None:
        return
    hot, slowed = work.temps >= VERY_HOT_CELSIUS, _slowed(work)
    if slowed is not None:
        hot |= (work.temps >= HOT_CELSIUS) & slowed
    if hot.mean() >= LEAST_SHARE:
        top = float(work.temps.max())
        words = f"it reached {top:.0f} °C"
        yield _finding(work, hot, "thermal", (f"{words}", work.device.key("temp"), top))


def _by_power(work: Work) -> Iterator[Finding]:
    slowed = _slowed(work)
    if work.power is None or slowed is None:
        return
    held = (work.power >= AT_LIMIT) & slowed
    if held.mean() >= LEAST_SHARE:
        top = float(work.power.max())
        words = f"it drew {units.format_percent(100 * top)} of the power it may"
        yield _finding(work, held, "power", (words, work.device.key("power"), top))


def _finding(work: Work, held: NDArray[np.bool_], reason: str, why: tuple[str, str, float]) -> Finding:
    words, key, value = why
    share = float(held.mean())
    slower = ""
    if work.clocks is not None:
        then = float(np.median(work.clocks[held]))
        slower = f", its clock at {then / 1e6:.0f} of {work.best_clock / 1e6:.0f} MHz"
    moments = work.times[held]
    return Finding(
        detector="gpu_throttled",
        severity=Severity.WARNING,
        sentence=f"{work.device.label} was slowed down for {units.format_percent(100 * share)} of the time it worked: "
        f"{words}{slower}",
        key=key,
        begin=float(moments[0]),
        end=float(moments[-1]),
        instance=work.device.instance,
        evidence=(Evidence(sentence=words, source=key, value=value),),
        figures={"reason": reason, "throttled_ratio": round(share, 4)},
    )
