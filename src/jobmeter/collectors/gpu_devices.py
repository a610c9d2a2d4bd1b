"""Which GPUs are the job's: those its environment names, and those its processes are on.

Without a list in the environment a job may use every GPU of the machine, and most use none: then a GPU counts from
the moment a process of the job is on it. A container sees the GPUs it was given, but the driver names processes by
the pids of the host: there, all of them count once a process of the job holds a GPU's device file open.
"""

import os

from jobmeter.probes import procfs, visibledevices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmeter.collectors import Job

_HOST_PIDS = "pid:[4026531836]"
"""The first pid namespace has a number that never changes."""

_MOST_ENVIRONMENTS = 256
_MOST_DESCRIPTORS = 512
_ROUNDS_UNMATCHED = 3


class Device:
    """What the driver says of one device that does not change."""

    __slots__ = ("bus", "index", "name", "parent", "uuid")

    def __init__(self, uuid: str, index: str, bus: str, parent: str, name: str) -> None:
        self.uuid = uuid
        self.index = index
        self.bus = bus
        self.parent = parent
        self.name = name


class JobDevices:
    """Follows the job's processes and says which devices they use or may use."""

    __slots__ = (
        "_commands",
        "_files",
        "_holds",
        "_job",
        "_met",
        "_names",
        "_ours",
        "_unmatched",
        "_visible",
        "by_another_name",
        "shared",
    )

    def __init__(self, job: "Job", names: tuple[str, ...], device_files: str) -> None:
        self._job = job
        self._names = names
        self._files = device_files
        self._commands: dict[int, str] = {}
        self._visible: set[tuple[str, str]] = set()
        self._met: set[str] = set()
        self._ours: set[int] = set()
        self._holds = False
        self._unmatched = 0
        self.by_another_name = False
        """Whether the driver names processes by pids that mean nothing here."""
        self.shared = False
        """Whether others were seen on a device of the job."""

    def chosen(self, devices: "Mapping[str, Device]") -> list[str]:
        """List the job's devices as far as they are known now."""
        self._look_at_environments()
        if self._job.gpus == "all":
            return list(devices)
        counted = [(device.uuid, device.index) for device in devices.values()]
        found = {uuid for _, text in self._visible for uuid in visibledevices.chosen(text, counted)}
        found |= self._met & devices.keys()
        if not found and not self._visible and devices and self._in_container() and self._holds_device():
            self.by_another_name = True
            found = set(devices)
        return [uuid for uuid in devices if uuid in found]

    def ambiguous(self, devices: "Mapping[str, Device]") -> bool:
        """Whether an index in the environment may mean another device than the one of that index here."""
        by_index = any(any(part.strip().isdecimal() for part in text.split(",")) for _, text in self._visible)
        return by_index and len({device.name for device in devices.values()}) > 1

    def _look_at_environments(self) -> None:
        """Read the environment of every process once, and again when it became another program."""
        processes = self._job.processes
        left = _MOST_ENVIRONMENTS
        for pid, process in processes.items():
            if self._commands.get(pid) == process.command or not left:
                continue
            left -= 1
            self._commands[pid] = process.command
            found = visibledevices.of_process(self._job.paths.proc, pid, self._names) or {}
            self._visible.update(found.items())
        if len(self._commands) > 2 * len(processes) + _MOST_ENVIRONMENTS:
            self._commands = {pid: name for pid, name in self._commands.items() if pid in processes}

    def attribute(self, uuid: str, pids: "Mapping[int, object]", *, mine: bool) -> dict[int, int]:
        """Map the driver's pids on a device to pids of the job's processes, and note who else is there."""
        processes = self._job.processes
        found = {pid: pid for pid in pids if pid in processes}
        strangers = [pid for pid in pids if pid not in processes and pid not in self._ours]
        here = [pid for pid in strangers if os.path.exists(f"{self._job.paths.proc}/{pid}")]
        if len(here) < len(strangers) and not self.by_another_name:
            found |= self._by_inner_pid([pid for pid in strangers if pid not in here])
        self._ours.update(found)
        if found:
            self._met.add(uuid)
        if mine and here:
            self.shared = True
        unknown = len(strangers) - len(here) - sum(pid not in processes for pid in found)
        # one that ended between the driver's look and ours is no sign
        self._unmatched = self._unmatched + 1 if mine and unknown else 0
        if self._unmatched >= _ROUNDS_UNMATCHED:
            self.by_another_name = True
        return found

    def _by_inner_pid(self, strangers: list[int]) -> dict[int, int]:
        """Find processes of the job by the pids they have in namespaces of their own."""
        found: dict[int, int] = {}
        for pid in self._job.processes:
            text = procfs.read_file(f"{self._job.paths.proc}/{pid}/status") or b""
            inner = text.partition(b"\nNSpid:")[2].partition(b"\n")[0].split()
            found |= {other: pid for other in strangers if str(other).encode() in inner}
        return found

    def _in_container(self) -> bool:
        try:
            return os.readlink(f"{self._job.paths.proc}/self/ns/pid") != _HOST_PIDS
        except OSError:
            return False

    def _holds_device(self) -> bool:
        """Whether a process of the job has a device file of the driver open."""
        if not self._holds:
            self._holds = any(
                self._opened(pid) for pid, process in self._job.processes.items() if process.moved
            )
        return self._holds

    def _opened(self, pid: int) -> bool:
        folder = f"{self._job.paths.proc}/{pid}/fd"
        try:
            names = os.listdir(folder)[:_MOST_DESCRIPTORS]
        except OSError:
            return False  # gone, or somebody else's
        for name in names:
            try:
                if os.readlink(f"{folder}/{name}").startswith(self._files):
                    return True
            except OSError:
                continue  # closed meanwhile
        return False
