"""What the kernel accounts to the job's own cgroup, and to the enclosing one where the job has none.

The own cgroup holds the job and nothing else, from before exec to its last process, so its numbers are exact.
The enclosing one (`cgroup_outer_*`) may hold the shell, the recorder and other jobs; a root cgroup is the
whole machine and is never read. Limits act where they are set, above the job: how often they were hit is
read there and counted from the moment of attaching.
"""

import os

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import cgroupfiles, cgroupfs, pressure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmeter.collectors import Job, Reading, Source
    from jobmeter.probes.cgroupfs import OwnCgroup, Place, Places
    from jobmeter.probes.paths import Paths

    Figures = tuple[int | float, ...] | None
    Parse = Callable[[bytes], list[Reading]]


def _counter(key: str, unit: Unit, about: str) -> Measurement:
    return Measurement(key, Kind.COUNTER, unit, Scope.JOB, (Reduce.DELTA,), (Stat.TOTAL,), about)


def _gauge(key: str, unit: Unit, summary: tuple[Stat, ...], about: str) -> Measurement:
    return Measurement(key, Kind.GAUGE, unit, Scope.JOB, (Reduce.MAX,), summary, about)


_PEAK, _PEAK_MEAN = (Stat.PEAK,), (Stat.PEAK, Stat.MEAN)

MEASUREMENTS = (
    _counter("cgroup_cputime", Unit.SECONDS, "CPU time of everything that ever ran in the job's cgroup"),
    _counter("cgroup_utime", Unit.SECONDS, "the part of it spent in user mode"),
    _counter("cgroup_stime", Unit.SECONDS, "the part of it spent in the kernel"),
    _gauge("cgroup_mem_current", Unit.BYTES, _PEAK_MEAN, "memory charged to the job, page cache included"),
    _gauge(
        "cgroup_mem_peak",
        Unit.BYTES,
        (),
        "the kernel's high-water mark of charged memory, page cache included",
    ),
    _gauge("cgroup_mem_anon", Unit.BYTES, _PEAK, "private anonymous memory: heaps, stacks"),
    _gauge("cgroup_mem_file", Unit.BYTES, _PEAK, "page cache of files, which the kernel can drop"),
    _gauge("cgroup_mem_shmem", Unit.BYTES, _PEAK, "shared memory and tmpfs files"),
    _gauge("cgroup_mem_kernel", Unit.BYTES, _PEAK, "kernel memory: stacks, page tables, slabs"),
    _gauge(
        "cgroup_mem_unreclaimable", Unit.BYTES, _PEAK_MEAN, "memory that only the job itself can give back"
    ),
    _gauge("cgroup_mem_swap", Unit.BYTES, _PEAK, "swap in use"),
    _counter("cgroup_oom_kill", Unit.COUNT, "processes of the job killed for want of memory"),
    _counter("cgroup_mem_max_events", Unit.COUNT, "times the memory limit that holds for the job was hit"),
    _counter("cgroup_throttled", Unit.SECONDS, "CPU-seconds the CPU quota that holds for the job withheld"),
    _counter("cgroup_nr_throttled", Unit.COUNT, "quota periods in which CPU was withheld"),
    _counter("cgroup_io_read", Unit.BYTES, "bytes read from block devices"),
    _counter("cgroup_io_write", Unit.BYTES, "bytes written to block devices"),
    _gauge("cgroup_pids", Unit.COUNT, _PEAK, "live processes of the job"),
    _counter("cgroup_cpu_pressure", Unit.SECONDS, "time in which a task of the job waited for a CPU"),
    _counter("cgroup_mem_pressure", Unit.SECONDS, "time in which a task of the job waited for memory"),
    _counter("cgroup_io_pressure", Unit.SECONDS, "time in which a task of the job waited for IO"),
    _counter("cgroup_outer_cputime", Unit.SECONDS, "CPU time of the enclosing cgroup while the job ran"),
    _gauge("cgroup_outer_mem_current", Unit.BYTES, _PEAK_MEAN, "memory charged to the enclosing cgroup"),
    _gauge(
        "cgroup_outer_mem_peak",
        Unit.BYTES,
        (),
        "high-water mark of the enclosing cgroup, if reached in this run",
    ),
    _gauge("cgroup_outer_mem_file", Unit.BYTES, _PEAK, "page cache of files in the enclosing cgroup"),
    _gauge(
        "cgroup_outer_mem_unreclaimable", Unit.BYTES, _PEAK, "unreclaimable memory of the enclosing cgroup"
    ),
    _counter(
        "cgroup_outer_oom_kill", Unit.COUNT, "processes of the enclosing cgroup killed for want of memory"
    ),
    _counter("cgroup_outer_io_read", Unit.BYTES, "bytes the enclosing cgroup read from block devices"),
    _counter("cgroup_outer_io_write", Unit.BYTES, "bytes the enclosing cgroup wrote to block devices"),
)

_NUMBERS: dict[int, tuple[tuple[str, str], ...]] = {
    1: (
        ("memory.usage_in_bytes", "mem_current"),
        ("memory.max_usage_in_bytes", "mem_peak"),
        ("memory.kmem.usage_in_bytes", "mem_kernel"),
    ),
    2: (
        ("memory.current", "mem_current"),
        ("memory.peak", "mem_peak"),
        ("memory.swap.current", "mem_swap"),
    ),
}
_EVENTS = {1: "memory.oom_control", 2: "memory.events"}
_PRESSURE = (
    ("cpu.pressure", "cgroup_cpu_pressure"),
    ("memory.pressure", "cgroup_mem_pressure"),
    ("io.pressure", "cgroup_io_pressure"),
)
_STAT_KEYS = ("mem_anon", "mem_file", "mem_shmem", "mem_kernel", "mem_unreclaimable", "mem_swap")


def missing(paths: "Paths") -> str | None:
    """Say why no cgroup can be read here, or None when one can."""
    places = cgroupfs.locate(paths)
    usable = [place for place in (places.memory, places.cpuacct, places.unified) if place is not None]
    if not usable:
        return "no cgroup file system is mounted"
    if all(place.root and not os.access(place.directory, os.W_OK) for place in usable):
        return "only root cgroups are visible and none may be made below them"
    return None


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Open the files that give the selected keys."""
    own = job.own_cgroup
    source = CgroupSource()
    if own is None:
        _read_enclosing(source, cgroupfs.locate(job.paths, str(job.pid)), cgroupfs.Places(), keys)
        return source
    _read_cpu(source, own.places.cpuacct, "cgroup_", keys)
    _read_memory(source, own.places.memory, "cgroup_", keys)
    _read_io(source, own.places.io, "cgroup_", keys)
    for place in own.places.every()[-1:]:
        source.add(place.directory, "cgroup.procs", _processes(own, place.directory), keys & {"cgroup_pids"})
    if own.places.unified is not None:
        for file, key in _PRESSURE:
            source.add(own.places.unified.directory, file, _pressure(key), keys & {key})
    _read_enclosing(source, own.outer, own.places, keys)
    return source


class CgroupSource:
    """Open files of one or two cgroups, each with the parser that makes readings of it."""

    __slots__ = ("_files",)

    def __init__(self) -> None:
        self._files: list[tuple[cgroupfiles.File, Parse]] = []

    def add(self, directory: str, name: str, parse: "Parse", wanted: frozenset[str]) -> None:
        """Read one more file from now on, if anything of it is wanted and the kernel offers it."""
        file = cgroupfiles.open_file(directory, name) if wanted else None
        if file is not None:
            self._files.append((file, parse))

    def add_open(self, file: cgroupfiles.File, parse: "Parse") -> None:
        """Read one more file that is already open."""
        self._files.append((file, parse))

    def read(self) -> "list[Reading]":
        """Read every number the files give now; a file that vanished gives none."""
        found: list[Reading] = []
        for file, parse in self._files:
            raw = file.read()
            if raw is not None:
                found += parse(raw)
        return found

    def close(self) -> None:
        """Close the files."""
        for file, _ in self._files:
            file.close()
        self._files = []


def _read_enclosing(source: CgroupSource, outer: "Places", own: "Places", keys: frozenset[str]) -> None:
    if own.cpuacct is None:
        _read_cpu(source, _not_root(outer.cpuacct), "cgroup_outer_", keys)
    if own.memory is None:
        _read_memory(source, _not_root(outer.memory), "cgroup_outer_", keys)
    if own.io is None:
        _read_io(source, _not_root(outer.io), "cgroup_outer_", keys)
    _read_limit_hits(source, outer, keys)


def _not_root(place: "Place | None") -> "Place | None":
    return None if place is None or place.root else place


def _read_cpu(source: CgroupSource, place: "Place | None", prefix: str, keys: frozenset[str]) -> None:
    if place is None:
        return
    total, split = keys & {f"{prefix}cputime"}, keys & {f"{prefix}utime", f"{prefix}stime"}
    if place.version == 2:
        source.add(place.directory, "cpu.stat", _cpu_stat(prefix, keys), total | split)
        return
    source.add(place.directory, "cpuacct.usage", _nanoseconds(f"{prefix}cputime"), total)
    source.add(place.directory, "cpuacct.stat", _cpuacct_stat(prefix, keys), split)


def _read_memory(source: CgroupSource, place: "Place | None", prefix: str, keys: frozenset[str]) -> None:
    if place is None:
        return
    for name, quantity in _NUMBERS[place.version]:
        key = f"{prefix}{quantity}"
        if key == "cgroup_outer_mem_peak":
            _read_outer_peak(source, place, name, keys)
        else:
            source.add(place.directory, name, _number(key), keys & {key})
    stat_keys = keys & {f"{prefix}{quantity}" for quantity in _STAT_KEYS}
    source.add(place.directory, "memory.stat", _memory_stat(place.version, prefix, stat_keys), stat_keys)
    # the kernel counts a kill in the victim's cgroup, whichever limit above it was exceeded
    events = f"{prefix}oom_kill"
    source.add(place.directory, _EVENTS[place.version], _field(events, b"oom_kill"), keys & {events})


def _read_outer_peak(source: CgroupSource, place: "Place", name: str, keys: frozenset[str]) -> None:
    if "cgroup_outer_mem_peak" not in keys:
        return
    # since Linux 6.12 a write to memory.peak begins a new high-water mark for this descriptor alone
    file = cgroupfiles.open_file(place.directory, name, os.O_RDWR) if place.version == 2 else None
    if file is not None and file.write(b"reset\n"):
        source.add_open(file, _number("cgroup_outer_mem_peak"))
        return
    if file is not None:
        file.close()
    before = cgroupfiles.number(cgroupfiles.read_once(place.directory, name))
    if before is not None:
        source.add(place.directory, name, _risen("cgroup_outer_mem_peak", before), keys)


def _read_io(source: CgroupSource, place: "Place | None", prefix: str, keys: frozenset[str]) -> None:
    if place is None:
        return
    wanted = keys & {f"{prefix}io_read", f"{prefix}io_write"}
    name = "io.stat" if place.version == 2 else "blkio.throttle.io_service_bytes_recursive"
    if place.version == 1 and not os.path.exists(f"{place.directory}/{name}"):
        # older kernels count each cgroup for itself only
        name = "blkio.throttle.io_service_bytes"
    source.add(place.directory, name, _io(place.version, prefix, wanted), wanted)


def _read_limit_hits(source: CgroupSource, outer: "Places", keys: frozenset[str]) -> None:
    limited = cgroupfs.memory_limit_directory(outer) if "cgroup_mem_max_events" in keys else None
    if limited is not None and outer.memory is not None:
        version = outer.memory.version
        name = "memory.events" if version == 2 else "memory.failcnt"
        source.add(limited, name, _since(_limit_hits(version), cgroupfiles.read_once(limited, name)), keys)
    wanted = keys & {"cgroup_throttled", "cgroup_nr_throttled"}
    limited = cgroupfs.cpu_quota_directory(outer) if wanted else None
    if limited is not None:
        source.add(
            limited,
            "cpu.stat",
            _since(_throttling(wanted), cgroupfiles.read_once(limited, "cpu.stat")),
            wanted,
        )


def _number(key: str) -> "Parse":
    def parse(raw: bytes) -> "list[Reading]":
        value = cgroupfiles.number(raw)
        return [] if value is None else [(key, "", value)]

    return parse


def _nanoseconds(key: str) -> "Parse":
    def parse(raw: bytes) -> "list[Reading]":
        value = cgroupfiles.number(raw)
        return [] if value is None else [(key, "", value / 1e9)]

    return parse


def _risen(key: str, before: int) -> "Parse":
    def parse(raw: bytes) -> "list[Reading]":
        value = cgroupfiles.number(raw)
        # a mark that did not move was set by something that ran earlier
        return [] if value is None or value <= before else [(key, "", value)]

    return parse


def _field(key: str, name: bytes) -> "Parse":
    def parse(raw: bytes) -> "list[Reading]":
        value = cgroupfiles.field(raw, name)
        return [] if value is None else [(key, "", value)]

    return parse


def _since(parse: "Parse", before: bytes | None) -> "Parse":
    """Count from now on: the cgroup that sets a limit is older than the job."""
    base = {key: value for key, _, value in parse(before or b"")}

    def parse_since(raw: bytes) -> "list[Reading]":
        found: list[Reading] = []
        for key, instance, value in parse(raw):
            start = base.get(key, 0)
            if isinstance(value, int | float) and isinstance(start, int | float):
                found.append((key, instance, value - start))
        return found

    return parse_since


def _limit_hits(version: int) -> "Parse":
    if version == 2:
        return _field("cgroup_mem_max_events", b"max")
    return _number("cgroup_mem_max_events")


def _several(named: tuple[str, ...], keys: frozenset[str], read: "Callable[[bytes], Figures]") -> "Parse":
    """Name the figures of a file that holds several; None gives no reading at all."""

    def parse(raw: bytes) -> "list[Reading]":
        figures = read(raw)
        if figures is None:
            return []
        return [(key, "", figure) for key, figure in zip(named, figures, strict=True) if key in keys]

    return parse


def _throttling(keys: frozenset[str]) -> "Parse":
    return _several(("cgroup_nr_throttled", "cgroup_throttled"), keys, cgroupfiles.throttling)


def _cpu_stat(prefix: str, keys: frozenset[str]) -> "Parse":
    return _several((f"{prefix}cputime", f"{prefix}utime", f"{prefix}stime"), keys, cgroupfiles.cpu_times)


def _cpuacct_stat(prefix: str, keys: frozenset[str]) -> "Parse":
    return _several((f"{prefix}utime", f"{prefix}stime"), keys, cgroupfiles.cpuacct_times)


def _io(version: int, prefix: str, keys: frozenset[str]) -> "Parse":
    read = cgroupfiles.io_v1 if version == 1 else cgroupfiles.io_v2
    return _several((f"{prefix}io_read", f"{prefix}io_write"), keys, read)


def _memory_stat(version: int, prefix: str, keys: frozenset[str]) -> "Parse":
    read = cgroupfiles.memory_stat_v1 if version == 1 else cgroupfiles.memory_stat_v2
    attributes = [(f"{prefix}{quantity}", quantity.removeprefix("mem_")) for quantity in _STAT_KEYS]
    selected = [(key, attribute) for key, attribute in attributes if key in keys]

    def parse(raw: bytes) -> "list[Reading]":
        stat = read(raw)
        found = [(key, "", getattr(stat, attribute)) for key, attribute in selected]
        return [reading for reading in found if reading[2] is not None]

    return parse


def _processes(own: "OwnCgroup", directory: str) -> "Parse":
    def parse(raw: bytes) -> "list[Reading]":
        # a cgroup the job made below its own holds processes that are not listed here
        nested = cgroupfs.has_children(directory)
        return [("cgroup_pids", "", len(own.pids()) if nested else raw.count(b"\n"))]

    return parse


def _pressure(key: str) -> "Parse":
    def parse(raw: bytes) -> "list[Reading]":
        seconds = pressure.parse_totals(raw).get("some")
        return [] if seconds is None else [(key, "", seconds)]

    return parse
