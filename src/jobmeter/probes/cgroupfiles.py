"""The files of a cgroup: cached descriptors in, numbers out.

What misleads: v1 `rss` and v2 `anon` hold no shared memory (anonymous MAP_SHARED is `shmem`, which both
versions count inside `cache` and `file`); v1 tells nothing about reclaimable slab; v1 writes "no limit"
as a number near 2^63, v2 as `max`. A malformed, empty or vanished file is None, never 0.
"""

import os

from jobmeter.probes import kernelfile

NO_LIMIT_BYTES = 0x7FFF_FFFF_0000_0000
"""v1 writes LONG_MAX rounded down to a page as "no limit"; pages are 4 to 64 KiB."""

CHUNK_BYTES = 16_384
WHOLE_BYTES = 4_000


class File:
    """One kernel file kept open: reading again costs one pread, and a reused name cannot be mistaken."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def read(self) -> bytes | None:
        """Read the whole file from the beginning; None once its cgroup is gone."""
        try:
            raw = os.pread(self.fd, CHUNK_BYTES, 0)
            # only a list of processes comes in pieces, each about a page long
            return raw if len(raw) < WHOLE_BYTES else kernelfile.read_file(self.fd)
        except OSError:
            # ENODEV: the cgroup was removed; EOPNOTSUPP: pressure accounting was switched off
            return None

    def write(self, text: bytes) -> bool:
        """Write to the file; False where the kernel refuses."""
        try:
            os.write(self.fd, text)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.fd)


def open_file(directory: str, name: str, flags: int = os.O_RDONLY) -> File | None:
    """Open a file of a cgroup; None where this kernel or controller does not offer it."""
    try:
        return File(os.open(f"{directory}/{name}", flags | os.O_CLOEXEC))
    except OSError:
        return None


def read_once(directory: str, name: str) -> bytes | None:
    """Read one file of a cgroup without keeping it open."""
    file = open_file(directory, name)
    if file is None:
        return None
    raw = file.read()
    file.close()
    return raw


def number(raw: bytes | None) -> int | None:
    """Parse a file that holds one number; `max` and anything malformed are None."""
    if raw is None:
        return None
    try:
        return int(raw)
    except ValueError:
        return None


def limit(raw: bytes | None) -> int | None:
    """Parse a limit; None means there is none."""
    value = number(raw)
    if value is None or value < 0 or value >= NO_LIMIT_BYTES:
        return None
    return value


def field(raw: bytes, name: bytes) -> int | None:
    """Find `name value` in a flat keyed file."""
    # every line but the first follows a newline; the first is tried only when nothing else matched
    start = raw.find(b"\n" + name + b" ")
    if start >= 0:
        start += len(name) + 2
    elif raw.startswith(name + b" "):
        start = len(name) + 1
    else:
        return None
    end = raw.find(b"\n", start)
    return number(raw[start:end] if end >= 0 else raw[start:])


class MemoryStat:
    """What `memory.stat` says of one instant, in bytes; a part the kernel does not tell is None."""

    __slots__ = ("anon", "cache", "kernel", "shmem", "slab_reclaimable", "swap")

    def __init__(
        self,
        anon: int | None,
        cache: int | None,
        shmem: int | None,
        kernel: int | None,
        slab_reclaimable: int | None,
        swap: int | None,
    ) -> None:
        self.anon = anon
        self.cache = cache
        """Page cache as the kernel counts it, shared memory included."""
        self.shmem = shmem
        self.kernel = kernel
        self.slab_reclaimable = slab_reclaimable
        self.swap = swap

    @property
    def file(self) -> int | None:
        """Page cache of files: what the kernel can drop, so without shared memory."""
        if self.cache is None or self.shmem is None:
            return None
        return max(0, self.cache - self.shmem)

    @property
    def unreclaimable(self) -> int | None:
        """Memory only the job can give back; without kernel memory where that part of it is untold (v1)."""
        if self.anon is None or self.shmem is None:
            return None
        if self.kernel is None or self.slab_reclaimable is None:
            return self.anon + self.shmem
        return self.anon + self.shmem + max(0, self.kernel - self.slab_reclaimable)


def memory_stat_v1(raw: bytes) -> MemoryStat:
    """Parse v1 `memory.stat`: the `total_` lines count the cgroups below as well."""
    return MemoryStat(
        anon=_hierarchical(raw, b"rss"),
        cache=_hierarchical(raw, b"cache"),
        shmem=_hierarchical(raw, b"shmem"),
        kernel=None,
        slab_reclaimable=None,
        swap=_hierarchical(raw, b"swap"),
    )


def _hierarchical(raw: bytes, name: bytes) -> int | None:
    total = field(raw, b"total_" + name)
    return field(raw, name) if total is None else total


def memory_stat_v2(raw: bytes) -> MemoryStat:
    """Parse v2 `memory.stat`; `kernel` is one line since Linux 5.18 and the sum of its parts before."""
    kernel = field(raw, b"kernel")
    if kernel is None:
        parts = [field(raw, part) for part in (b"kernel_stack", b"pagetables", b"percpu", b"slab")]
        known = [part for part in parts if part is not None]
        kernel = sum(known) if known else None
    return MemoryStat(
        anon=field(raw, b"anon"),
        cache=field(raw, b"file"),
        shmem=field(raw, b"shmem"),
        kernel=kernel,
        slab_reclaimable=field(raw, b"slab_reclaimable"),
        swap=None,
    )


def cpu_times(raw: bytes) -> tuple[float, float, float] | None:
    """Parse usage, user and system seconds from v2 `cpu.stat`."""
    # the kernel writes these three first and in this order
    words = raw.split(None, 6)
    if len(words) < 6 or words[0:5:2] != [b"usage_usec", b"user_usec", b"system_usec"]:
        return None
    usage, user, system = number(words[1]), number(words[3]), number(words[5])
    if usage is None or user is None or system is None:
        return None
    return usage / 1e6, user / 1e6, system / 1e6


def cpuacct_times(raw: bytes) -> tuple[float, float] | None:
    """Parse user and system seconds from v1 `cpuacct.stat`."""
    ticks_per_second = os.sysconf("SC_CLK_TCK")
    user, system = field(raw, b"user"), field(raw, b"system")
    if user is None or system is None:
        return None
    return user / ticks_per_second, system / ticks_per_second


def throttling(raw: bytes) -> tuple[int, float] | None:
    """Parse how often and for how many CPU-seconds a quota held the cgroup back, from either `cpu.stat`."""
    count = field(raw, b"nr_throttled")
    microseconds = field(raw, b"throttled_usec")
    nanoseconds = field(raw, b"throttled_time")
    if count is None:
        return None
    if microseconds is not None:
        return count, microseconds / 1e6
    if nanoseconds is not None:
        return count, nanoseconds / 1e9
    return None


def quota_v2(raw: bytes | None) -> float | None:
    """Parse `cpu.max` into CPUs; None means no quota."""
    parts = (raw or b"").split()
    if len(parts) != 2:
        return None
    quota, period = number(parts[0]), number(parts[1])
    if quota is None or not period:
        return None
    return quota / period


def quota_v1(quota_raw: bytes | None, period_raw: bytes | None) -> float | None:
    """Parse `cpu.cfs_quota_us` and `cpu.cfs_period_us` into CPUs; None means no quota."""
    quota, period = number(quota_raw), number(period_raw)
    if quota is None or quota < 0 or not period:
        return None
    return quota / period


def io_v2(raw: bytes) -> tuple[int, int] | None:
    """Sum bytes read and written over the devices of `io.stat`; an empty file is no IO yet."""
    # devices without figures are glued to the next line: `7:7 7:6 7:5 rbytes=1 wbytes=0 ...`
    read_bytes = written_bytes = 0
    for word in raw.split():
        name, _, text = word.partition(b"=")
        if name not in (b"rbytes", b"wbytes"):
            continue
        value = number(text)
        if value is None:
            return None
        if name == b"rbytes":
            read_bytes += value
        else:
            written_bytes += value
    return read_bytes, written_bytes


def io_v1(raw: bytes) -> tuple[int, int] | None:
    """Sum bytes read and written over the devices of `blkio.throttle.io_service_bytes`."""
    # without a device line the host does not count here at all: absent, not 0
    found = False
    read_bytes = written_bytes = 0
    for line in raw.splitlines():
        words = line.split()
        value = number(words[2]) if len(words) == 3 else None
        if value is None:
            continue
        found = True
        if words[1] == b"Read":
            read_bytes += value
        elif words[1] == b"Write":
            written_bytes += value
    return (read_bytes, written_bytes) if found else None
