"""NVML, NVIDIA's management library, through nvidia-ml-py. Runs in the GPU helper process only: any call may hang.

`util` is the share of the last sixth of a second to a second in which at least one kernel ran, not how full the
GPU was. `mem_used` leaves out what the driver reserves for itself, as nvidia-smi does. The energy counter counts
since the driver was loaded. What a device does not support is left out, never 0. A MIG instance is a device of
its own that knows its memory and processes; power, temperature and utilisation belong to the whole GPU.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import Any

    Value = int | float | str
    Device = tuple[str, str, str, str, str]

_NOTHING_NEW = (0, 6)
"""Success where a refusal was expected, because there was nothing to give; not found."""

_NEVER = (2, 3, 4, 13, 25)
"""Invalid argument, not supported, no permission, function not found, argument version: asking again is no use."""

_MEMORY_V2 = 0x02000028
_EVENT_WAIT_MS = 5000
_MEMORY_TEMPERATURE_FIELD = 82
_XID = 8

THROTTLE_REASONS = {
    0x1: "idle",
    0x2: "applications_clocks",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal",
    0x40: "hw_thermal",
    0x80: "hw_power_brake",
    0x100: "display_clocks",
}
"""Why the clocks are lower than they could be, by bit."""


def throttle_text(mask: int) -> str:
    """Name the reasons of a bit mask: `none`, `sw_power_cap`, `hw_slowdown+hw_thermal`."""
    names = [THROTTLE_REASONS.get(1 << bit, f"bit{bit}") for bit in range(64) if mask >> bit & 1]
    return "+".join(names) or "none"


class Backend:
    """All devices NVML shows, by UUID."""

    __slots__ = ("_handles", "_listed", "_mig", "_nvml", "_seen_us", "_unsupported")

    def __init__(self) -> None:
        import pynvml

        self._nvml: ModuleType = pynvml
        self._handles: dict[str, object] = {}
        self._mig: set[str] = set()
        self._unsupported: set[tuple[object, ...]] = set()
        self._seen_us: dict[str, int] = {}
        try:
            pynvml.nvmlInit()
            self._listed = list(self._list())
        except pynvml.NVMLError as error:
            raise OSError(f"NVML: {error}") from None

    def devices(self) -> "list[Device]":
        """List UUID, index, bus id, parent's UUID (empty) and name of every device, MIG instances included."""
        return self._listed

    def _list(self) -> "Iterator[Device]":
        nvml = self._nvml
        for index in range(nvml.nvmlDeviceGetCount()):
            try:
                device = self._identify(index)
                instances = self._count_instances(device[0])
            except (nvml.NVMLError, OSError):
                continue  # one that fell off the bus must not hide the others
            yield device
            yield from self._list_instances(device[0], index, instances)

    def _identify(self, index: int) -> "Device":
        handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
        uuid = _decoded(self._nvml.nvmlDeviceGetUUID(handle))
        self._handles[uuid] = handle
        bus, name = self._ask(uuid, "PciInfo"), self._ask(uuid, "Name")
        return uuid, str(index), _decoded(bus.busId) if bus else "", "", _decoded(name) if name else ""

    def _count_instances(self, uuid: str) -> int:
        """Say how many MIG instances a device has room for; none where it is not split."""
        mode = self._ask(uuid, "MigMode")
        return int(self._ask(uuid, "MaxMigDeviceCount") or 0) if mode and mode[0] else 0

    def _list_instances(self, parent: str, index: int, count: int) -> "Iterator[Device]":
        nvml, handle = self._nvml, self._handles[parent]
        for number in range(count):
            try:
                instance = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)
                uuid = _decoded(nvml.nvmlDeviceGetUUID(instance))
                name = _decoded(nvml.nvmlDeviceGetName(instance))
            except nvml.NVMLError:
                continue  # places for instances that nobody made
            self._handles[uuid] = instance
            self._mig.add(uuid)
            yield uuid, f"{index}:{number}", "", parent, name

    def fast(self, uuid: str) -> "dict[str, Value]":
        """Read utilisation, memory, temperature and power: some 60 µs."""
        # an old driver has no second version: what it reserves for itself counts as used there
        memory = self._ask(uuid, "MemoryInfo", _MEMORY_V2) or self._ask(uuid, "MemoryInfo")
        values: dict[str, Value | None] = {}
        if memory:
            values = {"mem_used": int(memory.used), "mem_total": int(memory.total)}
        if uuid in self._mig:
            return _present(values)
        util = self._ask(uuid, "UtilizationRates")
        if util:
            values |= {"util": int(util.gpu), "mem_util": int(util.memory)}
        values["temp"] = self._ask(uuid, "Temperature", 0)
        values["power"] = _thousandth(self._ask(uuid, "PowerUsage"))
        return _present(values)

    def slow(self, uuid: str) -> "Iterator[dict[str, Value]]":
        """Read the energy counter first, then the rest; the PCIe calls last, which sleep 20 ms each."""
        if uuid in self._mig:
            return
        yield _present({"energy": _thousandth(self._ask(uuid, "TotalEnergyConsumption"))})
        yield _present(self._state(uuid))
        # the first number is the kind (0 corrected, 1 not), the second since when (0: the driver was loaded)
        kinds = (("ecc_corrected", 0), ("ecc_uncorrected", 1))
        yield _present({name: self._ask(uuid, "TotalEccErrors", kind, 0) for name, kind in kinds})
        # 1 is what the device received, 0 what it sent; over 20 ms, in KB a second
        for name, counter in (("pcie_rx", 1), ("pcie_tx", 0)):
            yield _present({name: _times(self._ask(uuid, "PcieThroughput", counter), 1000)})

    def _state(self, uuid: str) -> "dict[str, Value | None]":
        # renamed with driver 535
        reasons = self._ask(uuid, "CurrentClocksEventReasons")
        if reasons is None:
            reasons = self._ask(uuid, "CurrentClocksThrottleReasons")
        state = self._ask(uuid, "PerformanceState")
        return {
            "throttle": None if reasons is None else throttle_text(int(reasons)),
            "pstate": None if state is None else f"P{state}",
            "sm_clock": _times(self._ask(uuid, "ClockInfo", 1), 10**6),
            "mem_clock": _times(self._ask(uuid, "ClockInfo", 2), 10**6),
            "power_limit": _thousandth(self._ask(uuid, "EnforcedPowerLimit")),
            "fan": self._ask(uuid, "FanSpeed"),
            "mem_temp": _field(self._ask(uuid, "FieldValues", [_MEMORY_TEMPERATURE_FIELD])),
        }

    def processes(self, uuid: str) -> "dict[int, tuple[int | None, float | None]]":
        """Map the pids on a device to their memory and to the share of its time they used."""
        used: dict[int, int | None] = {}
        for kind in ("Compute", "Graphics"):
            # drivers before 510 have the second version only
            found = self._ask(uuid, f"{kind}RunningProcesses_v3")
            if found is None:
                found = self._ask(uuid, f"{kind}RunningProcesses_v2")
            for process in found or ():
                used.setdefault(int(process.pid), process.usedGpuMemory)
        shares = self._shares(uuid) if used and uuid not in self._mig else {}
        return {pid: (memory, shares.get(pid)) for pid, memory in used.items()}

    def _shares(self, uuid: str) -> dict[int, float]:
        """Average the samples of each process since the last look; one that did nothing has none."""
        since = self._seen_us.get(uuid, 0)
        found: dict[int, list[int]] = {}
        for sample in self._ask(uuid, "ProcessUtilization", since) or ():
            self._seen_us[uuid] = max(self._seen_us.get(uuid, 0), int(sample.timeStamp))
            if since and int(sample.pid):
                found.setdefault(int(sample.pid), []).append(int(sample.smUtil))
        return {pid: round(sum(shares) / len(shares), 2) for pid, shares in found.items()}

    def events(self) -> "Iterator[tuple[str, str, int]]":
        """Wait for critical errors (XID) of every device that tells them."""
        nvml = self._nvml
        try:
            events = nvml.nvmlEventSetCreate()
        except nvml.NVMLError:
            return
        told = [uuid for uuid in self._handles if self._register(uuid, events)]
        yield from ((uuid, "listening", 0) for uuid in told)
        uuids = {_address(self._handles[uuid]): uuid for uuid in told}
        while told:
            try:
                event = nvml.nvmlEventSetWait_v2(events, _EVENT_WAIT_MS)
            except nvml.NVMLError as error:
                if error.value == nvml.NVML_ERROR_TIMEOUT:
                    continue
                # silence from now on would look like no errors
                yield from ((uuid, "deaf", int(error.value)) for uuid in told)
                return
            if event.eventType == _XID:
                yield uuids.get(_address(event.device), told[0]), "xid", int(event.eventData)

    def _register(self, uuid: str, events: object) -> bool:
        if uuid in self._mig:
            return False
        try:
            self._nvml.nvmlDeviceRegisterEvents(self._handles[uuid], _XID, events)
        except self._nvml.NVMLError:
            return False  # neither WSL nor a virtual GPU tells
        return True

    def _ask(self, uuid: str, what: str, *arguments: object) -> "Any":
        """Ask `nvmlDeviceGet<what>`; None where there is no answer to be had. Any other refusal is an OSError."""
        question = (uuid, what, *map(str, arguments))
        ask = getattr(self._nvml, f"nvmlDeviceGet{what}", None)
        if ask is None or question in self._unsupported:
            return None
        try:
            return ask(self._handles[uuid], *arguments)
        except self._nvml.NVMLError as error:
            if error.value in _NOTHING_NEW:
                return None
            if error.value in _NEVER:
                self._unsupported.add(question)
                return None
            raise OSError(f"NVML: {error}") from None


def _field(values: "Any") -> int | None:
    if not values or values[0].nvmlReturn != 0:
        return None
    # 0 is what boards without that sensor say
    return int(values[0].value.uiVal) or None


def _thousandth(number: int | None) -> float | None:
    return None if number is None else number / 1000


def _times(number: int | None, factor: int) -> int | None:
    return None if number is None else number * factor


def _address(handle: "Any") -> int:
    import ctypes

    return ctypes.cast(handle, ctypes.c_void_p).value or 0


def _decoded(text: object) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


def _present(values: "dict[str, Value | None]") -> "dict[str, Value]":
    return {name: value for name, value in values.items() if value is not None}
