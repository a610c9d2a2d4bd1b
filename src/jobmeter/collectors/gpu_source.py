"""What the GPU helper process says, as readings of the job's devices; shared by every kind of GPU.

A sample never waits for a driver: it takes what has arrived since the last one and asks for the next. A value is
used once; one taken before the last sample is old and is dropped. Energy is the device's own counter where it has
one, else power integrated over time under another key.
"""

import time

from jobmeter.collectors.gpu_devices import Device, JobDevices
from jobmeter.model.breaker import Breaker
from jobmeter.model.measurement import Kind, Measurement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Protocol

    from jobmeter.collectors import Helper, Job, Reading, Told, Value

    class Speaker(Helper, Protocol):
        """What says lines of devices: the GPU helper process, or a tool in the background."""

        @property
        def state(self) -> Breaker:
            """Where its breaker stands."""

        @property
        def failures(self) -> int:
            """How often it opened."""

        @property
        def last_error(self) -> str:
            """Why it opened last."""

        def say(self, line: str) -> None:
            """Ask something of it."""

        def hear(self) -> list[list[str]]:
            """Take what it has said, without waiting."""

        def wait(self, seconds: float, word: str) -> list[list[str]]:
            """Hear until a line begins with `word`, for a moment at most."""

        def close(self) -> None:
            """End it."""


_OLD_SECONDS = 5.0
_LONGEST_STEP_SECONDS = 10.0
"""Power is not integrated over a longer gap: what happened in it is unknown."""

_LAST_WAIT_SECONDS = 0.15
_STEADY = frozenset(("mem_total", "power_limit", "ecc_corrected", "ecc_uncorrected", "xid", "count"))
_STEADY_SECONDS = 60.0
"""What hardly ever changes is written when it does, and once a minute."""

_TEXTS = (Kind.LABEL, Kind.CATEGORICAL)


class Energy:
    """Power of one device integrated over time, for devices that do not count energy themselves."""

    __slots__ = ("_at", "_watts", "joules")

    def __init__(self, at: float, watts: float) -> None:
        self._at = at
        self._watts = watts
        self.joules = 0.0

    def add(self, at: float, watts: float) -> None:
        """Take one more reading in, by the trapezoid between the two."""
        if 0 < at - self._at <= _LONGEST_STEP_SECONDS:
            self.joules += (at - self._at) * (watts + self._watts) / 2
        self._at, self._watts = at, watts


class GpuSource:
    """The job's devices as one helper process reads them."""

    __slots__ = (
        "_asked_at",
        "_clock",
        "_counts",
        "_deaf",
        "_devices",
        "_energies",
        "_events",
        "_faults",
        "_helper",
        "_job",
        "_job_devices",
        "_keys",
        "_kinds",
        "_mine",
        "_processes",
        "_said",
        "_told",
        "_tool",
        "_values",
        "_watched",
    )

    def __init__(
        self,
        job: "Job",
        measurements: tuple[Measurement, ...],
        keys: frozenset[str],
        helper: "Speaker",
        job_devices: JobDevices,
        *,
        clock: "Callable[[], float]" = time.monotonic,
    ) -> None:
        self._job = job
        self._tool = measurements[0].tool
        self._keys = keys
        self._kinds = {m.key.partition("_")[2]: m.kind for m in measurements}
        self._helper = helper
        self._job_devices = job_devices
        self._clock = clock
        self._asked_at = clock()
        self._devices: dict[str, Device] = {}
        self._mine: list[str] = []
        self._watched: list[str] | None = None
        self._values: dict[str, dict[str, Value]] = {}
        self._processes: dict[str, dict[int, tuple[int | None, float | None]]] = {}
        self._energies: dict[str, Energy] = {}
        self._counts: dict[str, bool] = {}
        self._faults: dict[str, int] = {}
        self._deaf: set[str] = set()
        self._events: list[Told] = []
        self._told: set[str] = set()
        self._said: dict[tuple[str, str], tuple[Value, float]] = {}
        job.lend(helper)

    def read(self) -> "list[Reading]":
        """Take what has arrived and ask for the next; only after the job's end wait a moment for the last."""
        lines = self._helper.hear()
        if not self._job.processes and self._mine:
            self._helper.say("now")
            lines += self._helper.wait(_LAST_WAIT_SECONDS, "done")
        now = self._clock()
        for line in lines:
            self._take(line, now)
        self._note_failure()
        attributed = {uuid: self._attributed(uuid) for uuid in self._processes}
        self._choose()
        self._helper.say("tick")
        self._asked_at = now
        readings = [
            (f"{self._tool}_{name}", instance, value)
            for name, instance, value in (*self._of_devices(), *self._of_processes(attributed))
            if name not in _STEADY or self._is_news(name, instance, value, now)
        ]
        self._values, self._processes = {}, {}
        return [reading for reading in readings if reading[0] in self._keys]

    def _is_news(self, name: str, instance: str, value: "Value", now: float) -> bool:
        said, at = self._said.get((name, instance), (None, 0.0))
        if value == said and now - at < _STEADY_SECONDS:
            return False
        self._said[name, instance] = (value, now)
        return True

    def _take(self, line: list[str], now: float) -> None:
        kind, fields = line[0], line[1:]
        if kind == "device" and len(fields) == 5:
            self._devices[fields[0]] = Device(*fields)
        elif kind == "ready":
            self._watched = None  # a new helper watches nothing yet
        elif kind in ("fast", "slow") and len(fields) > 1:
            self._take_values(kind, float(fields[0]), fields[1], fields[2:], now)
        elif kind == "processes" and len(fields) > 1:
            self._processes[fields[1]] = _parse_processes(fields[2:])
        elif kind == "event" and len(fields) > 2:
            self._take_event(fields[1], fields[2])
        elif kind == "error" and len(fields) > 1:
            self._tell_once(fields[1], {"device": self._label(fields[0])})

    def _take_values(self, kind: str, at: float, uuid: str, pairs: list[str], now: float) -> None:
        if at < self._asked_at and now - at > _OLD_SECONDS:
            return
        known = self._values.setdefault(uuid, {})
        for pair in pairs:
            name, _, text = pair.partition("=")
            value = text if self._kinds.get(name) in _TEXTS else _number(text)
            if name in self._kinds and value is not None:
                known[name] = value
        if kind == "slow" and uuid not in self._counts and "energy" in self._kinds:
            # the counter, where there is one, is the first slow value
            self._counts[uuid] = "energy" in known
        power = known.get("power")
        if kind == "fast" and isinstance(power, int | float):
            energy = self._energies.setdefault(uuid, Energy(at, power))
            energy.add(at, power)

    def _take_event(self, uuid: str, pair: str) -> None:
        name, _, number = pair.partition("=")
        if name == "deaf":
            self._deaf.add(uuid)
            error = f"critical errors of the driver are not heard any more (NVML error {number})"
            self._tell_once(error, {"device": self._label(uuid)})
            return
        self._deaf.discard(uuid)
        self._faults.setdefault(uuid, 0)
        if name == "xid":
            self._faults[uuid] += 1
            self._events.append(("gpu_error", {"device": self._label(uuid), "xid": int(number)}))

    def _note_failure(self) -> None:
        helper = self._helper
        if helper.state in (Breaker.OPEN, Breaker.UNUSABLE):
            more = {"state": helper.state.value, **({"failures": helper.failures} if helper.failures else {})}
            self._tell_once(helper.last_error, more)

    def _tell_once(self, error: str, more: "dict[str, object]") -> None:
        mark = f"{error} {more}"
        if mark not in self._told:
            self._told.add(mark)
            self._events.append(("source_failed", {"source": self._tool, "error": error, **more}))

    def _label(self, uuid: str) -> str:
        device = self._devices.get(uuid)
        return uuid if device is None else f"{device.index} {device.name}".strip()

    def _choose(self) -> None:
        self._mine = self._job_devices.chosen(self._devices)
        if self._devices and self._mine != self._watched:
            self._watched = self._mine
            self._helper.say(" ".join(("watch", *self._mine)))

    def _attributed(self, uuid: str) -> dict[int, int]:
        return self._job_devices.attribute(uuid, self._processes[uuid], mine=uuid in self._mine)

    def _of_devices(self) -> "Iterator[tuple[str, str, Value]]":
        fresh = [uuid for uuid in self._mine if uuid in self._values]
        for uuid in fresh:
            device = self._devices[uuid]
            yield "name", uuid, device.name
            yield "index", uuid, device.index
            for name, value in self._values[uuid].items():
                yield name, uuid, value
            if uuid in self._faults and uuid not in self._deaf:
                yield "xid", uuid, self._faults[uuid]
            if "energy" not in self._kinds or self._counts.get(uuid) is False:
                yield from self._integrated(uuid)
        if self._mine:
            yield "count", "", len(self._mine)
        for name in ("mem_used", "power"):
            parts = [self._values[uuid].get(name) for uuid in fresh]
            numbers = [part for part in parts if isinstance(part, int | float)]
            # without one device the sum would be of others than before
            if numbers and len(numbers) == len(self._mine):
                yield f"{name}_total", "", sum(numbers)

    def _integrated(self, uuid: str) -> "Iterator[tuple[str, str, Value]]":
        energy = self._energies.get(uuid)
        if energy is not None:
            yield "energy_estimate", uuid, round(energy.joules, 3)

    def _of_processes(self, attributed: dict[str, dict[int, int]]) -> "Iterator[tuple[str, str, Value]]":
        used: dict[str, int] = {}
        shares: dict[str, float] = {}
        for uuid, pids in attributed.items():
            for outer, pid in pids.items():
                memory, share = self._processes[uuid][outer]
                instance = self._job.processes[pid].instance
                if memory is not None:
                    used[instance] = used.get(instance, 0) + memory
                if share is not None:
                    shares[instance] = shares.get(instance, 0.0) + share
        for instance, memory in used.items():
            yield "proc_mem", instance, memory
        for instance, share in shares.items():
            yield "proc_util", instance, share
        if used:
            yield "proc_mem_total", "", sum(used.values())

    def tell(self) -> "list[Told]":
        """Hand over what happened since the last call."""
        events, self._events = self._events, []
        return events

    def standing(self) -> dict[str, object]:
        """Say how the helper fared."""
        helper = self._helper
        facts: dict[str, object] = {"state": helper.state.value, "failures": helper.failures}
        if helper.last_error:
            facts["error"] = helper.last_error
        facts["devices"] = [self._label(uuid) for uuid in self._mine]
        return facts

    def doubts(self) -> dict[str, str]:
        """Say which numbers are not the job's alone, and why."""
        devices = self._job_devices
        found: dict[str, str] = {}
        if devices.shared:
            reason = "others used a GPU of the job too: its figures are those of the whole GPU"
            found = {f"{self._tool}_{name}": reason for name in ("energy", "util")}
        if self._deaf:
            found[f"{self._tool}_xid"] = (
                "the driver stopped telling critical errors: later ones are not counted"
            )
        if devices.by_another_name:
            found[f"{self._tool}_proc_mem"] = "the driver names processes by pids of another namespace"
        if devices.ambiguous(self._devices):
            found[f"{self._tool}_index"] = (
                "the GPUs differ and are named by index: CUDA may count them by speed"
            )
        return {key: reason for key, reason in found.items() if self._mine}

    def close(self) -> None:
        """End the helper."""
        self._helper.close()


def _number(text: str) -> "int | float | None":
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return None


def _parse_processes(pairs: list[str]) -> dict[int, tuple[int | None, float | None]]:
    found: dict[int, tuple[int | None, float | None]] = {}
    for pair in pairs:
        pid, _, rest = pair.partition("=")
        used, _, share = rest.partition(":")
        if pid.isdigit():
            found[int(pid)] = int(used) if used.isdigit() else None, float(share) if share else None
    return found
