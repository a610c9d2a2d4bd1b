"""The GPU of an Apple machine, by `ioreg` and, for root, `powermetrics`. Untested on hardware.

The GPU is everyone's: macOS does not tell who used it, so its figures are the machine's. Its memory is a part of the
machine's memory. Without root there is no power and no energy.
"""

import os
import time

from jobmeter.collectors.gpu_keys import MEAN, PEAK, counter, gauge, label
from jobmeter.model.breaker import Breaker
from jobmeter.model.measurement import Unit
from jobmeter.probes import appletext, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmeter.collectors import Job, Reading, Source, Told
    from jobmeter.probes.paths import Paths
    from jobmeter.probes.slowtool import SlowTool

UNTESTED = True
DEVICE = "apple"
IOREG = ["-r", "-d", "1", "-w", "0", "-c", "IOAccelerator"]
POWERMETRICS = ["--samplers", "gpu_power", "-n", "1", "-i", "500"]
_EVERY_SECONDS = 0.95

MEASUREMENTS = (
    gauge("apple_util", Unit.PERCENT, (MEAN, PEAK), "share of time in which the GPU was busy"),
    gauge("apple_mem_used", Unit.BYTES, (PEAK, MEAN), "memory the GPU has in use, part of the machine's"),
    gauge("apple_power", Unit.WATTS, (MEAN, PEAK), "power the GPU draws"),
    gauge("apple_clock", Unit.HERTZ, (MEAN,), "clock of the GPU while it is busy"),
    counter("apple_energy_estimate", Unit.JOULES, "energy by integrating power"),
    label("apple_name", "model of the GPU"),
)  # fmt: skip


def missing(paths: "Paths") -> str | None:
    """Say why an Apple GPU cannot be read here."""
    del paths  # macOS has no such files
    return None if command.find("ioreg") else "no ioreg on PATH: not macOS"


class AppleSource:
    """Asks both tools in the background."""

    __slots__ = ("_clock", "_energy", "_ioreg", "_keys", "_noted", "_powermetrics", "_told")

    def __init__(
        self,
        job: "Job",
        keys: frozenset[str],
        tools: "tuple[SlowTool | None, SlowTool | None]",
        *,
        clock: "Callable[[], float]" = time.monotonic,
    ) -> None:
        from jobmeter.collectors.gpu_source import Energy

        self._keys = keys
        self._ioreg, self._powermetrics = tools
        self._clock = clock
        self._energy: Energy | None = None
        self._told: list[Told] = []
        self._noted: set[str] = set()
        for tool in tools:
            if tool is not None:
                job.lend(tool)

    def read(self) -> "list[Reading]":
        """Take what has been answered since the last sample."""
        values: dict[str, int | float | str] = {}
        for tool, parse in (
            (self._ioreg, appletext.parse_ioreg),
            (self._powermetrics, appletext.parse_powermetrics),
        ):
            answer = None if tool is None else tool.take()
            if tool is None or answer is None:
                continue
            said = parse(answer.decode("utf-8", "replace"))
            if said:
                tool.accept()
                values.update(said)
            else:
                tool.refuse("its answer could not be read")
        self._note_failures()
        power = values.get("power")
        if isinstance(power, int | float):
            values["energy_estimate"] = self._integrate(self._clock(), power)
        readings = [(f"apple_{name}", DEVICE, value) for name, value in values.items()]
        return [reading for reading in readings if reading[0] in self._keys]

    def _integrate(self, at: float, power: float) -> float:
        from jobmeter.collectors.gpu_source import Energy

        if self._energy is None:
            self._energy = Energy(at, power)
        self._energy.add(at, power)
        return round(self._energy.joules, 3)

    def _note_failures(self) -> None:
        for tool in (self._ioreg, self._powermetrics):
            if tool is not None and tool.state is Breaker.OPEN and tool.last_error not in self._noted:
                self._noted.add(tool.last_error)
                self._told.append(("source_failed", {"source": "apple", "error": tool.last_error}))

    def tell(self) -> "list[Told]":
        """Hand over what happened since the last call."""
        told, self._told = self._told, []
        return told

    def standing(self) -> dict[str, object]:
        """Say how the tools fared."""
        return {"state": (Breaker.UNUSABLE if self._ioreg is None else self._ioreg.state).value}

    def doubts(self) -> dict[str, str]:
        """Say whose figures these are."""
        return {"apple_util": "the GPU is everyone's: macOS does not tell who used it"}

    def close(self) -> None:
        """End what still runs."""
        for tool in (self._ioreg, self._powermetrics):
            if tool is not None:
                tool.close()


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Find the tools."""
    from jobmeter.probes.slowtool import SlowTool

    ioreg, powermetrics = command.find("ioreg"), command.find("powermetrics")
    if os.geteuid() != 0:
        powermetrics = None
    asked = None if ioreg is None else SlowTool(ioreg, IOREG, every_seconds=_EVERY_SECONDS)
    metered = (
        None if powermetrics is None else SlowTool(powermetrics, POWERMETRICS, every_seconds=_EVERY_SECONDS)
    )
    return AppleSource(job, keys, (asked, metered))
