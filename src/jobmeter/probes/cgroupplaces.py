"""Where a process stands in the cgroup trees, and the limits that hold there.

What misleads: on hybrid hosts the `0::` line of /proc/PID/cgroup says nothing about memory, which is still
on v1; the scope differs by controller (memory may be the session's while cpuacct is the whole machine's);
a path of `/` inside a cgroup namespace is not the root cgroup; `/../..` points above the namespace.
"""

import os

from jobmeter.probes import cgroupfiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.probes.paths import Paths

WANTED = frozenset(("", "blkio", "cpu", "cpuacct", "memory", "pids"))
SEARCH_ENTRIES = 256
"""How many directories are tried when a path points above the namespace."""


class Place:
    """A cgroup directory of one hierarchy."""

    __slots__ = ("controllers", "directory", "root", "top", "version")

    def __init__(
        self, directory: str, top: str, version: int, root: bool, controllers: frozenset[str]
    ) -> None:
        self.directory = directory
        self.top = top
        """The uppermost directory that can be seen: ancestors above it are hidden."""
        self.version = version
        self.root = root
        """The root cgroup is the whole machine and never a measure of a job."""
        self.controllers = controllers
        """v1 controllers mounted together; a child made here is a child in all of them."""

    def lineage(self) -> list[str]:
        """List the directory and its visible ancestors, nearest first."""
        found = [self.directory]
        while found[-1] != self.top and len(found[-1]) > len(self.top):
            found.append(os.path.dirname(found[-1]))
        return found


class Places:
    """The cgroups of one process by what they are read for; None where nothing can be read."""

    __slots__ = ("cpu", "cpuacct", "io", "memory", "pids", "unified")

    def __init__(
        self,
        memory: Place | None = None,
        cpuacct: Place | None = None,
        cpu: Place | None = None,
        pids: Place | None = None,
        io: Place | None = None,
        unified: Place | None = None,
    ) -> None:
        self.memory = memory
        self.cpuacct = cpuacct
        """CPU time; on a hybrid host v1 `cpuacct`, although `unified` counts CPU time as well."""
        self.cpu = cpu
        """CPU quota and throttling."""
        self.pids = pids
        self.io = io
        self.unified = unified
        """The v2 tree: on a hybrid host without controllers, but with CPU time and pressure."""

    def every(self) -> list[Place]:
        """List the distinct places."""
        found: list[Place] = []
        for place in (self.memory, self.cpuacct, self.cpu, self.pids, self.io, self.unified):
            if place is not None and all(place is not seen for seen in found):
                found.append(place)
        return found


class _Mount:
    __slots__ = ("options", "point", "root", "version")

    def __init__(self, point: str, root: list[str], version: int, options: frozenset[str]) -> None:
        self.point = point
        self.root = root
        self.version = version
        self.options = options


def locate(paths: "Paths", pid: str = "self") -> Places:
    """Find the cgroups of a process, as they can be opened from here."""
    lines = (cgroupfiles.read_once(f"{paths.proc}/{pid}", "cgroup") or b"").decode(errors="surrogateescape")
    # the mounts are ours even for another process: it is we who open the files
    mounts = _mounts(paths)
    where: dict[str, Place | None] = {}
    for line in lines.splitlines():
        parts = line.split(":", 2)
        names = parts[1].split(",") if len(parts) == 3 else []
        if WANTED.isdisjoint(names):
            continue
        place = _resolve([m for m in mounts if _serves(m, names)], names, parts[2], pid)
        for name in names:
            where[name] = place
    unified = where.get("")
    # a controller that has a v1 hierarchy is there and nowhere else, readable or not
    return Places(
        memory=where.get("memory", unified),
        cpuacct=where.get("cpuacct", unified),
        cpu=where.get("cpu", unified),
        pids=where.get("pids", unified),
        io=where.get("blkio", unified),
        unified=unified,
    )


def _serves(mount: _Mount, names: list[str]) -> bool:
    if names == [""]:
        return mount.version == 2
    return mount.version == 1 and mount.options.issuperset(names)


def _mounts(paths: "Paths") -> list[_Mount]:
    text = (cgroupfiles.read_once(f"{paths.proc}/self", "mountinfo") or b"").decode(errors="surrogateescape")
    found = []
    for line in text.splitlines():
        mount, _, source = line.partition(" - cgroup")
        fields, words = mount.split(" "), source.split(" ")
        if len(fields) < 6 or len(words) < 3 or words[0] not in ("", "2"):
            continue
        point = _visible(paths, _unescape(fields[4]))
        version = 2 if words[0] == "2" else 1
        found.append(_Mount(point, _parts(_unescape(fields[3])), version, frozenset(words[-1].split(","))))
    # a later mount hides an earlier one at the same point
    found.reverse()
    return found


def _visible(paths: "Paths", point: str) -> str:
    """Map a mount point of a host or a capture whose /sys is elsewhere."""
    if paths.sys == "/sys" or point.startswith(paths.sys):
        return point
    _, found, below = point.rpartition("/sys/fs/cgroup")
    return f"{paths.sys}/fs/cgroup{below}" if found else point


def _unescape(text: str) -> str:
    """Undo the octal escapes of mountinfo."""
    if "\\" not in text:
        return text
    for code, plain in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, plain)
    return text


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _resolve(mounts: list[_Mount], names: list[str], path: str, pid: str) -> Place | None:
    parts = _parts(path)
    for mount in mounts:
        depth = len(mount.root)
        below = parts[depth:]
        if parts[:depth] != mount.root or ".." in below:
            continue
        directory = "/".join([mount.point, *below])
        if os.path.isdir(directory):
            return _place(mount, names, directory, whole=not parts or ".." in parts)
    return _search(mounts, names, parts, pid)


def _place(mount: _Mount, names: list[str], directory: str, *, whole: bool) -> Place:
    """Describe a directory; `whole` says that its path alone does not exclude the root cgroup."""
    if mount.version == 2:
        root = whole and not os.path.exists(f"{directory}/cgroup.events")
        return Place(directory, mount.point, 2, root, frozenset())
    # the agent is a file of the root alone; a directory that shows no files is not trusted either
    root = whole and (
        os.path.exists(f"{directory}/release_agent") or not os.path.exists(f"{directory}/cgroup.procs")
    )
    return Place(directory, mount.point, 1, root, frozenset(names))


def _search(mounts: list[_Mount], names: list[str], parts: list[str], pid: str) -> Place | None:
    """Find a process whose path is told from above the mount; only its own entry in cgroup.procs counts."""
    member = str(os.getpid() if pid == "self" else pid).encode()
    below = [part for part in parts if part != ".."]
    for mount in mounts:
        for directory in _candidates(mount.point, below):
            if member in (cgroupfiles.read_once(directory, "cgroup.procs") or b"").split():
                return _place(mount, names, directory, whole=True)
    return None


def _candidates(point: str, below: list[str]) -> list[str]:
    suffixes = ["/".join(below[start:]) for start in range(len(below) + 1)]
    found = [f"{point}/{suffix}".rstrip("/") for suffix in suffixes]
    try:
        names = sorted(os.listdir(point))[:SEARCH_ENTRIES]
    except OSError:
        return found
    return found + [f"{point}/{name}/{suffixes[0]}" for name in names if os.path.isdir(f"{point}/{name}")]


def memory_limit(places: Places) -> int | None:
    """Find the tightest memory limit over the cgroup and its ancestors, in bytes."""
    place = places.memory
    if place is None:
        return None
    limits = [value for value, _ in _memory_limits(place)]
    if place.version == 1:
        # tells the tightest of all ancestors, those above a bind mount included
        raw = cgroupfiles.read_once(place.directory, "memory.stat") or b""
        hierarchical = cgroupfiles.field(raw, b"hierarchical_memory_limit")
        if hierarchical is not None and hierarchical < cgroupfiles.NO_LIMIT_BYTES:
            limits.append(hierarchical)
    return min(limits, default=None)


def memory_limit_directory(places: Places) -> str | None:
    """Find the cgroup that sets the tightest visible memory limit: it counts how often it was hit."""
    if places.memory is None:
        return None
    return min(_memory_limits(places.memory), default=(0, None))[1]


def _memory_limits(place: Place) -> list[tuple[int, str]]:
    name = "memory.max" if place.version == 2 else "memory.limit_in_bytes"
    found = []
    for directory in place.lineage():
        value = cgroupfiles.limit(cgroupfiles.read_once(directory, name))
        if value is not None:
            found.append((value, directory))
    return found


def cpu_quota(places: Places) -> float | None:
    """Find the tightest CPU quota over the cgroup and its ancestors, in CPUs."""
    return min(_cpu_quotas(places.cpu), default=(None, ""))[0] if places.cpu else None


def cpu_quota_directory(places: Places) -> str | None:
    """Find the cgroup that sets the tightest visible CPU quota: it counts the throttling."""
    return min(_cpu_quotas(places.cpu), default=(0.0, None))[1] if places.cpu else None


def _cpu_quotas(place: Place) -> list[tuple[float, str]]:
    found = []
    for directory in place.lineage():
        if place.version == 2:
            cpus = cgroupfiles.quota_v2(cgroupfiles.read_once(directory, "cpu.max"))
        else:
            cpus = cgroupfiles.quota_v1(
                cgroupfiles.read_once(directory, "cpu.cfs_quota_us"),
                cgroupfiles.read_once(directory, "cpu.cfs_period_us"),
            )
        if cpus is not None:
            found.append((cpus, directory))
    return found
