"""The machine the job ran on: memory left, CPU, disks and network of everything that runs there.

None of it is the job's own, and in a container it is still the whole machine's. On machines with unified
memory (Apple silicon, Grace, Jetson) what the GPU allocates is missing from the available memory.
"""

import os

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import (
    command,
    diskstats,
    kernelfile,
    kernelstat,
    loadavg,
    meminfo,
    netdev,
    psutil_package,
    swapusage_macos,
    vmstat,
    vmstat_macos,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jobmeter.collectors import Job, Reading, Source
    from jobmeter.probes.paths import Paths

    Values = Iterator[tuple[str, int | float | None]]


def _gauge(key: str, unit: Unit, stats: tuple[Stat, ...], about: str) -> Measurement:
    reduces = (Reduce.MIN if Stat.LOW in stats else Reduce.MAX,)
    return Measurement(key, Kind.GAUGE, unit, Scope.HOST, reduces, stats, about)


def _counter(key: str, unit: Unit, about: str) -> Measurement:
    return Measurement(key, Kind.COUNTER, unit, Scope.HOST, (Reduce.DELTA,), (Stat.TOTAL,), about)


MEASUREMENTS = (
    _gauge("host_mem_available", Unit.BYTES, (Stat.LOW, Stat.MEAN), "memory to be had without swapping"),
    _gauge("host_swap_used", Unit.BYTES, (Stat.PEAK,), "swap in use"),
    _gauge("host_load", Unit.COUNT, (Stat.PEAK, Stat.MEAN), "tasks running or waiting, 1-minute mean"),
    _counter("host_cputime", Unit.SECONDS, "CPU time the whole machine was busy"),
    _counter("host_iowait", Unit.SECONDS, "CPU time idle while a task waited for storage"),
    _counter("host_steal", Unit.SECONDS, "CPU time the hypervisor gave to other machines"),
    _counter("host_read_bytes", Unit.BYTES, "bytes read from all disks"),
    _counter("host_write_bytes", Unit.BYTES, "bytes written to all disks"),
    _counter("host_net_rx", Unit.BYTES, "bytes received from the network"),
    _counter("host_net_tx", Unit.BYTES, "bytes sent to the network"),
    _counter(
        "host_oom_kill", Unit.COUNT, "processes the kernel killed for want of memory, cgroup limits included"
    ),
)

_STAT_HEAD_BYTES = 512
_OOM_SAMPLES = 30
"""`/proc/vmstat` costs as much as two other files: without a reason it is read at every 30th sample only."""


def missing(paths: "Paths") -> str | None:
    """Say why the machine cannot be read here."""
    if os.path.exists(f"{paths.proc}/meminfo") or command.find("vm_stat"):
        return None
    return f"no {paths.proc}/meminfo and no vm_stat on PATH: neither Linux nor macOS"


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Open the machine's files, or find its tools on macOS."""
    if os.path.exists(f"{job.paths.proc}/meminfo"):
        return LinuxSource(job, keys)
    return MacSource(keys)


class MonotoneSum:
    """Adds counters of devices that come and go: an unplugged disk must not pull the sum down."""

    __slots__ = ("_last", "_parse", "_sums", "_text")

    def __init__(self, parse: "Callable[[bytes], dict[str, tuple[int, int]]]") -> None:
        self._parse = parse
        self._text = b""
        self._last: dict[str, tuple[int, int]] = {}
        self._sums: tuple[int, int] | None = None

    def add(self, text: bytes) -> tuple[int, int] | None:
        """Take the file as it reads now and return both sums; None until there is a device."""
        if text == self._text:
            return self._sums  # nothing moved: most disks and cards are idle most of the time
        self._text = text
        counts = self._parse(text)
        if self._sums is not None:
            self._sums = self._moved(counts, self._sums)
        elif counts:
            self._sums = (
                sum(first for first, _ in counts.values()),
                sum(second for _, second in counts.values()),
            )
        self._last = counts
        return self._sums

    def _moved(self, counts: dict[str, tuple[int, int]], sums: tuple[int, int]) -> tuple[int, int]:
        first, second = sums
        for name, (now_first, now_second) in counts.items():
            # a device seen for the first time only sets its base, one that began anew adds nothing once
            before_first, before_second = self._last.get(name, (now_first, now_second))
            first += max(0, now_first - before_first)
            second += max(0, now_second - before_second)
        return first, second


class LinuxSource:
    """The files of `/proc` the selected keys need, kept open."""

    __slots__ = (
        "_disks",
        "_files",
        "_interfaces",
        "_job",
        "_keys",
        "_pids",
        "_samples_to_oom",
        "_ticks_per_second",
    )

    def __init__(self, job: "Job", keys: frozenset[str]) -> None:
        self._job = job
        self._keys = keys
        self._disks = MonotoneSum(diskstats.parse)
        self._interfaces = MonotoneSum(netdev.parse)
        self._ticks_per_second = os.sysconf("SC_CLK_TCK")
        self._pids: frozenset[int] = frozenset()
        self._samples_to_oom = 0
        self._files: list[tuple[int, Callable[[int], Values]]] = []
        for name, wanted, reader in (
            ("meminfo", ("host_mem_available", "host_swap_used"), _read_memory),
            ("loadavg", ("host_load",), _read_load),
            ("stat", ("host_cputime", "host_iowait", "host_steal"), self._read_cpu),
            ("diskstats", ("host_read_bytes", "host_write_bytes"), self._read_disks),
            ("net/dev", ("host_net_rx", "host_net_tx"), self._read_network),
            ("vmstat", ("host_oom_kill",), self._read_oom_kills),
        ):
            fd = None if keys.isdisjoint(wanted) else kernelfile.open_file(f"{job.paths.proc}/{name}")
            if fd is not None:
                self._files.append((fd, reader))

    def read(self) -> "Iterable[Reading]":
        """Read every open file once."""
        return [
            (key, "", value)
            for fd, reader in self._files
            for key, value in reader(fd)
            if value is not None and key in self._keys
        ]

    def close(self) -> None:
        """Close the files."""
        while self._files:
            kernelfile.close_file(self._files.pop()[0])

    def _read_cpu(self, fd: int) -> "Values":
        ticks = kernelstat.parse_cpu(kernelfile.read_head(fd, _STAT_HEAD_BYTES))
        if ticks is None:
            return
        yield "host_cputime", ticks.busy / self._ticks_per_second
        if ticks.iowait is not None:
            yield "host_iowait", ticks.iowait / self._ticks_per_second
        if ticks.steal is not None:
            yield "host_steal", ticks.steal / self._ticks_per_second

    def _read_disks(self, fd: int) -> "Values":
        sums = self._disks.add(kernelfile.read_file(fd))
        if sums is not None:
            yield "host_read_bytes", sums[0]
            yield "host_write_bytes", sums[1]

    def _read_network(self, fd: int) -> "Values":
        sums = self._interfaces.add(kernelfile.read_file(fd))
        if sums is not None:
            yield "host_net_rx", sums[0]
            yield "host_net_tx", sums[1]

    def _read_oom_kills(self, fd: int) -> "Values":
        # a kill that matters to the job takes one of its processes: look when one went, and now and then
        pids = frozenset(self._job.processes)
        lost = not self._pids <= pids
        self._pids = pids
        self._samples_to_oom -= 1
        if lost or self._samples_to_oom < 0:
            self._samples_to_oom = _OOM_SAMPLES - 1
            yield "host_oom_kill", vmstat.counter(kernelfile.read_file(fd), b"oom_kill")


def _read_memory(fd: int) -> "Values":
    text = kernelfile.read_head(fd, 4096)
    yield "host_mem_available", meminfo.field_bytes(text, b"MemAvailable")
    yield "host_swap_used", meminfo.swap_used_bytes(text)


def _read_load(fd: int) -> "Values":
    yield "host_load", loadavg.one_minute(kernelfile.read_head(fd, 64))


class MacSource:
    """The tools macOS has instead of files, asked once per sample."""

    __slots__ = ("_keys", "_sysctl", "_vm_stat")

    def __init__(self, keys: frozenset[str], search_path: str | None = None) -> None:
        self._keys = keys
        self._vm_stat = self._tool("vm_stat", "host_mem_available", search_path)
        self._sysctl = self._tool("sysctl", "host_swap_used", search_path)

    def _tool(self, name: str, key: str, search_path: str | None) -> command.Tool | None:
        path = command.find(name, search_path) if key in self._keys else None
        return None if path is None else command.Tool(path)

    def read(self) -> "Iterable[Reading]":
        """Ask each tool once."""
        return [(key, "", value) for key, value in self._values() if value is not None and key in self._keys]

    def _values(self) -> "Values":
        if self._vm_stat is not None:
            pages = vmstat_macos.parse(self._vm_stat.ask().decode("utf-8", "replace"))
            yield "host_mem_available", None if pages is None else pages.available_bytes
        if self._sysctl is not None:
            text = self._sysctl.ask("-n", "vm.swapusage").decode("utf-8", "replace")
            yield "host_swap_used", swapusage_macos.used_bytes(text)
        if "host_load" in self._keys:
            yield "host_load", os.getloadavg()[0]
        if "host_cputime" in self._keys:
            yield "host_cputime", _cputime_by_psutil()

    def close(self) -> None:
        """Reap what is left of our own calls."""
        for tool in (self._vm_stat, self._sysctl):
            if tool is not None:
                tool.close()


def _cputime_by_psutil() -> float | None:
    package = psutil_package.load()
    if package is None:
        return None
    times = package.cpu_times()
    return float(times.user + times.nice + times.system)
