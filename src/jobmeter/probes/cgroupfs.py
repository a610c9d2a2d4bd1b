"""A cgroup of the job's own: made before the job starts, joined by it before exec, removed after.

It must change nothing for the job. On v1 it is a child of the current cgroup, per controller, so every
limit above still holds; never in a hierarchy that also schedules. On v2 a cgroup that holds processes may
not give controllers to children, so it is a sibling, and only where the current cgroup sets nothing itself;
else a child without controllers, which still counts CPU time and pressure exactly while memory is that of
the enclosing cgroup.
"""

import errno
import os
import time

from jobmeter.probes import cgroupfiles
from jobmeter.probes.cgroupplaces import (
    Place,
    Places,
    cpu_quota,
    cpu_quota_directory,
    locate,
    memory_limit,
    memory_limit_directory,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.probes.paths import Paths

__all__ = [
    "OwnCgroup",
    "Place",
    "Places",
    "cpu_quota",
    "cpu_quota_directory",
    "create_own",
    "discard",
    "has_children",
    "locate",
    "memory_limit",
    "memory_limit_directory",
    "own_name",
    "sweep",
]

PREFIX = "jobmeter-"
HARMLESS = frozenset(("cpuacct", "memory", "perf_event", "pids"))
"""v1 controllers in which a child without settings changes nothing; in `cpu` it would take CPU share away."""

NEUTRAL: dict[str, bytes] = {
    "cpu.idle": b"0",
    "cpu.max": b"max 100000",
    "cpu.max.burst": b"0",
    "cpu.uclamp.max": b"max",
    "cpu.uclamp.min": b"0.00",
    "cpu.weight": b"100",
    "cpuset.cpus": b"",
    "cpuset.cpus.partition": b"member",
    "cpuset.mems": b"",
    "io.latency": b"",
    "io.max": b"",
    "io.prio.class": b"no-change",
    "io.weight": b"default 100",
    "memory.high": b"max",
    "memory.low": b"0",
    "memory.max": b"max",
    "memory.min": b"0",
    "memory.oom.group": b"0",
    "memory.swap.high": b"max",
    "memory.swap.max": b"max",
    "memory.zswap.max": b"max",
    "pids.max": b"max",
}
"""v2 settings of a cgroup that sets nothing; anything else would be lost by leaving it for a sibling."""

REMOVE_TRIES = 5
REMOVE_PAUSE_S = 0.001
MAX_DEPTH = 8
SWEEP_ENTRIES = 4096


def own_name(run_id: str, recorder_pid: int) -> str:
    """Name a run's cgroup so that a later run can tell whether its recorder still lives."""
    return f"{PREFIX}{run_id}-{recorder_pid}"


class OwnCgroup:
    """The directories of one run; `places` holds only what is the job's own."""

    __slots__ = ("_counter", "directories", "name", "outer", "places")

    def __init__(self, name: str, places: Places, outer: Places, directories: tuple[str, ...]) -> None:
        self.name = name
        self.places = places
        self.outer = outer
        """The recorder's cgroups: what encloses the job where it has no own one."""
        self.directories = directories
        self._counter: cgroupfiles.File | None = None

    def join(self) -> bool:
        """Move the calling process in, for the moment it starts the job; never raises."""
        # every directory is tried: one refusal must not cost the others
        refused = [directory for directory in self.directories if not _write(directory, "cgroup.procs", b"0")]
        return not refused

    def leave(self) -> bool:
        """Move the calling process back to where it came from; the job it started stays."""
        pairs = (
            (self.places.memory, self.outer.memory),
            (self.places.cpuacct, self.outer.cpuacct),
            (self.places.unified, self.outer.unified),
        )
        homes = {own.directory: home.directory for own, home in pairs if own is not None and home is not None}
        left = [directory for directory in homes.values() if not _write(directory, "cgroup.procs", b"0")]
        return not left

    def confirmed(self, paths: "Paths", pid: int) -> "OwnCgroup":
        """Keep only the places the job really joined; ask once exec has happened."""
        lines = cgroupfiles.read_once(f"{paths.proc}/{pid}", "cgroup") or b""
        ours = cgroupfiles.read_once(f"{paths.proc}/self", "cgroup") or b""
        # a process that ended is at `/` in every v1 tree; what it used still stands in the counters;
        # a place the recorder could not leave again counts its time with the job's
        joined = [
            place
            for place in self.places.every()
            if (_names(lines, place, self.name) or _used(place)) and not _names(ours, place, self.name)
        ]
        places = Places(
            memory=self.places.memory if self.places.memory in joined else None,
            cpuacct=self.places.cpuacct if self.places.cpuacct in joined else None,
            io=self.places.io if self.places.io in joined else None,
            unified=self.places.unified if self.places.unified in joined else None,
        )
        return OwnCgroup(self.name, places, self.outer, self.directories)

    def pids(self) -> list[int]:
        """List the live processes of the job, those in cgroups it made below included."""
        # v2 hands the list out as it stands; v1 copies and sorts it first
        place = self.places.unified or self.places.memory or self.places.cpuacct
        return [] if place is None else _pids(place.directory, MAX_DEPTH)

    def cpu_counter(self) -> bytes | None:
        """Read the CPU counter as it stands: as long as it does not change, no process of the job ran."""
        if self._counter is None and self.places.cpuacct is not None:
            place = self.places.cpuacct
            name = "cpu.stat" if place.version == 2 else "cpuacct.usage"
            self._counter = cgroupfiles.open_file(place.directory, name)
        return None if self._counter is None else self._counter.read()

    def remove(self) -> bool:
        """Remove the directories; False where a process still lives in one, which a later sweep takes."""
        left = [directory for directory in self.directories if not _remove(directory)]
        return not left


def create_own(paths: "Paths", name: str) -> tuple[OwnCgroup | None, str]:
    """Make a cgroup for the job; the second value says what could not be had and why."""
    outer = locate(paths)
    reasons: list[str] = []
    unified = _make_unified(paths, outer, name, reasons)
    if outer.memory is not None and outer.memory.version == 1:
        memory = _make_v1(outer.memory, name, "memory", reasons)
    else:
        memory = _with_file(unified, "memory.current")
    cpuacct = unified
    if cpuacct is None and outer.cpuacct is not None and outer.cpuacct.version == 1:
        together = outer.cpuacct is outer.memory
        cpuacct = memory if together else _make_v1(outer.cpuacct, name, "cpuacct", reasons)
    places = Places(memory=memory, cpuacct=cpuacct, io=_with_file(unified, "io.stat"), unified=unified)
    directories = tuple(place.directory for place in places.every())
    if not directories:
        return None, "; ".join(reasons) or "no cgroup file system is mounted"
    return OwnCgroup(name, places, outer, directories), "; ".join(reasons)


def _with_file(place: Place | None, file: str) -> Place | None:
    return place if place is not None and os.path.exists(f"{place.directory}/{file}") else None


def _make_v1(place: Place, name: str, purpose: str, reasons: list[str]) -> Place | None:
    together = sorted(place.controllers - HARMLESS)
    if together:
        reasons.append(f"{purpose}: mounted together with {', '.join(together)}")
        return None
    if cgroupfiles.number(cgroupfiles.read_once(place.directory, "memory.use_hierarchy")) == 0:
        reasons.append(f"{purpose}: the limit above would not hold (memory.use_hierarchy is 0)")
        return None
    return _make(place, place.directory, name, purpose, reasons)


def _make_unified(paths: "Paths", outer: Places, name: str, reasons: list[str]) -> Place | None:
    place = outer.unified
    if place is None:
        return None
    parent = _v2_parent(place, reasons) if outer.memory is place else ""
    made = _make(place, parent, name, "memory", reasons) if parent else None
    if made is not None:
        if place.root:
            _keep_share(paths, made)
        return made
    made = _make(place, place.directory, name, "unified", reasons)
    if made is not None and _with_file(made, "cpu.stat") is None:
        # before Linux 4.15 a v2 cgroup without controllers counts nothing
        _remove(made.directory)
        return None
    return made


def _v2_parent(place: Place, reasons: list[str]) -> str:
    """Choose where a cgroup with controllers may go; empty where nowhere."""
    parent = place.directory if place.root else os.path.dirname(place.directory)
    reason = "" if place.root else _bound(place)
    enabled = (cgroupfiles.read_once(parent, "cgroup.subtree_control") or b"").split()
    if not reason and b"memory" not in enabled:
        reason = "the controller is not enabled there"
    if reason:
        reasons.append(f"memory: {reason}")
        return ""
    return parent


def _bound(place: Place) -> str:
    """Say what a process would lose by leaving its cgroup for a sibling; empty where nothing."""
    base = os.path.basename(place.directory)
    if place.directory == place.top:
        return "the cgroup above is hidden from here"
    if base.startswith(PREFIX):
        return "this is the cgroup of another run, which a sibling would leave"
    if base.endswith(".service"):
        return "the service manager would lose a job beside its service"
    for file, neutral in NEUTRAL.items():
        raw = cgroupfiles.read_once(place.directory, file)
        if raw is not None and raw.strip() != neutral:
            return f"the current cgroup sets {file}, which a sibling would escape"
    return ""


def _make(place: Place, parent: str, name: str, purpose: str, reasons: list[str]) -> Place | None:
    # moving in needs the right to write at the common ancestor; learn that before the job exists
    if not os.access(f"{parent}/cgroup.procs", os.W_OK):
        reasons.append(f"{purpose}: may not move processes in {parent}")
        return None
    directory = f"{parent}/{name}"
    try:
        os.mkdir(directory)
    except OSError as error:
        reasons.append(f"{purpose}: cannot make {directory} ({error.strerror})")
        return None
    return Place(directory, place.top, place.version, False, place.controllers)


def _keep_share(paths: "Paths", made: Place) -> None:
    """Let a job that leaves the root cgroup keep its share of the CPUs."""
    # in the root every task competes for itself, a child as one task per machine: 16 busy processes against
    # 16 others on 16 CPUs fell from half to 6 %. Automatic grouping by session already has that rule.
    grouped = cgroupfiles.read_once(f"{paths.proc}/sys/kernel", "sched_autogroup_enabled")
    if cgroupfiles.number(grouped) != 1:
        _write(made.directory, "cpu.weight", b"%d" % min(10_000, 100 * (os.cpu_count() or 1)))


def _names(lines: bytes, place: Place, name: str) -> bool:
    end = f"/{name}".encode()
    for line in lines.splitlines():
        _, _, tail = line.partition(b":")
        controllers, _, path = tail.partition(b":")
        hierarchy = frozenset(controllers.decode().split(",")) - {""}
        if hierarchy == place.controllers and path.endswith(end):
            return True
    return False


def _used(place: Place) -> bool:
    for file in ("memory.max_usage_in_bytes", "cpuacct.usage", "memory.peak"):
        if cgroupfiles.number(cgroupfiles.read_once(place.directory, file)):
            return True
    return bool(cgroupfiles.field(cgroupfiles.read_once(place.directory, "cpu.stat") or b"", b"usage_usec"))


def _pids(directory: str, depth: int) -> list[int]:
    raw = cgroupfiles.read_once(directory, "cgroup.procs") or b""
    found = [int(word) for word in raw.split() if word.isdigit()]
    for child in _children(directory) if depth else ():
        found += _pids(child, depth - 1)
    return found


def has_children(directory: str) -> bool:
    """Say whether there are cgroups below."""
    try:
        # the kernel counts one link per directory below, and two of its own
        return os.stat(directory).st_nlink > 2
    except OSError:
        return False


def _children(directory: str, prefix: str = "") -> list[str]:
    """List the cgroups right below, without listing control files where there are none."""
    if not has_children(directory):
        return []
    found = []
    try:
        with os.scandir(directory) as entries:
            for seen, entry in enumerate(entries):
                if seen >= SWEEP_ENTRIES:
                    break
                if entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False):
                    found.append(entry.path)
    except OSError:
        # removed while we looked
        return []
    return found


def _remove(directory: str, depth: int = MAX_DEPTH) -> bool:
    for child in _children(directory) if depth else ():
        _remove(child, depth - 1)
    for _ in range(REMOVE_TRIES):
        try:
            os.rmdir(directory)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno != errno.EBUSY or _pids(directory, MAX_DEPTH):
                return False
            # the last process is reaped but its final switch is not over
            time.sleep(REMOVE_PAUSE_S)
        else:
            return True
    return False


def discard(paths: "Paths", directory: str) -> bool:
    """Remove one directory that a finished run noted; True once it is gone, False while it is in use or not ours."""
    name = os.path.basename(directory)
    if not name.startswith(PREFIX) or _recorder_lives(paths, name):
        return False
    return _remove(directory)


def _recorder_lives(paths: "Paths", name: str) -> bool:
    recorder_pid = name.rpartition("-")[2]
    return not recorder_pid.isdigit() or os.path.exists(f"{paths.proc}/{recorder_pid}")


def sweep(paths: "Paths", places: Places, min_age_s: float = 60.0) -> int:
    """Remove what earlier runs left behind where `places` put it; a run whose recorder lives is kept."""
    parents = {place.directory for place in (places.memory, places.cpuacct, places.unified) if place}
    if places.unified and places.unified.directory != places.unified.top:
        parents.add(os.path.dirname(places.unified.directory))
    removed = 0
    for parent in parents:
        for directory in _children(parent, PREFIX):
            # a recorder in another pid namespace looks dead; give its job the time to move in
            if _age_s(directory) >= min_age_s and discard(paths, directory):
                removed += 1
    return removed


def _age_s(directory: str) -> float:
    try:
        return time.time() - os.stat(directory).st_mtime
    except FileNotFoundError:
        return 0.0


def _write(directory: str, name: str, text: bytes) -> bool:
    file = cgroupfiles.open_file(directory, name, os.O_WRONLY)
    if file is None:
        return False
    written = file.write(text)
    file.close()
    return written
