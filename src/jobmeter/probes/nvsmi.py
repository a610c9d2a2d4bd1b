"""`nvidia-smi` in the background, speaking like the GPU helper process: lines of devices, values and processes.

A call takes 10 to 25 ms of CPU, and half a second where the driver is not kept awake: devices are asked once a second
at most, processes every five.
"""

import time

from jobmeter.model.breaker import Breaker
from jobmeter.probes import command, nvsmitext
from jobmeter.probes.slowtool import SlowTool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from resource import struct_rusage

IDENTITY = ("uuid", "index", "pci.bus_id", "name")
QUERIED = (
    "utilization.gpu",
    "utilization.memory",
    "memory.used",
    "memory.total",
    "power.draw",
    "enforced.power.limit",
    "temperature.gpu",
    "temperature.memory",
    "clocks.sm",
    "clocks.mem",
    "fan.speed",
)
DEVICE_QUERY = [f"--query-gpu={','.join((*IDENTITY, *QUERIED))}", "--format=csv"]
PROCESS_QUERY = ["--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv"]
_DEVICE_SECONDS, _PROCESS_SECONDS = 0.95, 4.95


class Listener:
    """Has the names of the GPU helper process, so that one source serves both."""

    __slots__ = ("_devices", "_processes", "_seen", "usage")

    def __init__(self, path: str, *, clock: "Callable[[], float]" = time.monotonic) -> None:
        self._devices = SlowTool(path, DEVICE_QUERY, every_seconds=_DEVICE_SECONDS, clock=clock)
        self._processes = SlowTool(path, PROCESS_QUERY, every_seconds=_PROCESS_SECONDS, clock=clock)
        self._seen: set[str] = set()
        self.usage = command.Usage()
        self._devices.usage = self._processes.usage = self.usage

    @property
    def state(self) -> Breaker:
        """Where the breaker stands."""
        return self._devices.state

    @property
    def failures(self) -> int:
        """How often it had to open."""
        return self._devices.failures

    @property
    def last_error(self) -> str:
        """Why it opened last."""
        return self._devices.last_error

    @property
    def strays(self) -> tuple[int, ...]:
        """Calls that are still running."""
        return self._devices.strays + self._processes.strays

    def reaped(self, pid: int, rusage: "struct_rusage") -> None:
        """Hear from the recorder that it has waited for a call."""
        tool = self._devices if pid in self._devices.strays else self._processes
        tool.reaped(pid, rusage)

    def say(self, line: str) -> None:
        """Nothing can be asked of it: it always tells of all devices."""

    def wait(self, seconds: float, word: str) -> list[list[str]]:
        """Nothing it could say would be newer: a call takes longer than anybody would wait."""
        del seconds, word
        return []

    def hear(self) -> list[list[str]]:
        """Give what has been answered since the last call, as the helper process would."""
        lines: list[list[str]] = []
        answer = self._devices.take()
        if answer is not None:
            lines += self._device_lines(answer.decode("utf-8", "replace"), self._devices.asked_at)
        # there is no use in asking who is on a device of a driver that does not answer
        if self.state is Breaker.CLOSED:
            answer = self._processes.take()
            if answer is not None:
                self._processes.accept()
                lines += _process_lines(
                    answer.decode("utf-8", "replace"), self._seen, self._processes.asked_at
                )
        return lines

    def _device_lines(self, text: str, at: float) -> list[list[str]]:
        rows = [row for row in nvsmitext.parse_csv(text) if row.get("uuid", "").startswith("GPU-")]
        if not rows:
            said = " ".join(text.split())[:120]
            self._devices.refuse(f"nvidia-smi said: {said}" if said else "nvidia-smi said nothing")
            return []
        self._devices.accept()
        lines: list[list[str]] = []
        for row in rows:
            uuid = row["uuid"]
            if uuid not in self._seen:
                self._seen.add(uuid)
                identity = [row.get(name, "") for name in ("index", "pci.bus_id")]
                lines.append(["device", uuid, *identity, "", row.get("name", "")])
            lines.append(["fast", f"{at:.6f}", uuid, *_pairs(row)])
        return lines

    def close(self) -> None:
        """End what still runs."""
        self._devices.close()
        self._processes.close()


def _pairs(row: dict[str, str]) -> list[str]:
    pairs = []
    for header, cell in row.items():
        known = nvsmitext.QUANTITIES.get(nvsmitext.column(header)[0])
        value = nvsmitext.value(header, cell)
        if known is not None and value is not None:
            pairs.append(f"{known[0]}={value}")
    return pairs


def _process_lines(text: str, uuids: set[str], at: float) -> list[list[str]]:
    found: dict[str, list[str]] = {uuid: [] for uuid in sorted(uuids)}
    for row in nvsmitext.parse_csv(text):
        named = {nvsmitext.column(header)[0]: cell for header, cell in row.items()}
        number, _, unit = named.get("used_gpu_memory", named.get("used_memory", "")).partition(" ")
        used = nvsmitext.scaled(number, nvsmitext.MIB) if number and unit in ("MiB", "") else None
        if named.get("gpu_uuid") in found and named.get("pid", "").isdigit():
            found[named["gpu_uuid"]].append(f"{named['pid']}={'' if used is None else used}:")
    return [["processes", f"{at:.6f}", uuid, *pairs] for uuid, pairs in found.items()]
