"""The job's live processes, and the telescoping sum that makes their CPU time exact.

A process that used no CPU since the last look changed nothing else either, so an idle process costs one
clock read. Totals are `sum over live p of (its CPU clock + what it reaped)` plus what this process reaped:
a child that ends only moves its time from its own clock into its parent's account. Parents are read before
their children, and a pass during which a process vanished, or this one had to wait for a processor, is
repeated, so that nothing is counted twice or lost.
"""

import os
import resource
import time

from jobmeter.probes import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PASSES, _PASSES_OF_FEW = 4, 12
_HELD_UP_NS = 2_000_000
"""Kept off the processor this long within a pass, the recorder misses what was born and ended meanwhile."""
_MANY = 256
"""A look at so many takes longer than being held up does."""
_NO_IO = (0, 0, 0, 0)
_FEW = 16
"""So many processes may all be asked for their children."""
_SPARE_DESCRIPTORS = 8
"""For what is opened for a moment, and for files of the run that are made later."""


class Process:
    """One live process of the job."""

    __slots__ = (
        "account_ns",
        "clock_id",
        "command",
        "cpu_ns",
        "fd",
        "fresh",
        "instance",
        "io",
        "looked",
        "moved",
        "pid",
        "ppid",
        "program",
        "rss_bytes",
        "start_ticks",
        "state",
        "threads",
        "vsz_bytes",
    )

    def __init__(self, pid: int, stat: procfs.ProcessStat, fd: int) -> None:
        self.pid = pid
        self.fd = fd
        self.clock_id = procfs.clock_id(pid)
        self.start_ticks = stat[5]
        self.instance = f"{pid}@{stat[5]}"
        self.cpu_ns = -1
        self.moved = True
        self.looked = True
        self.fresh = True
        self.io: procfs.ProcessIo | None = None
        self.account_ns = 0
        self.program = (stat[0], stat[8])
        self.update(stat, -1)

    def update(self, stat: procfs.ProcessStat, clock_ns: int) -> None:
        """Take over what `stat` and the CPU clock say now; the command changes with exec."""
        self.command = stat[0]
        # one that has ended has no stack any more, and is still what it was
        self.program = (stat[0], self.program[1] if stat[8] == b"0" else stat[8])
        self.state = stat[1]
        self.ppid = stat[2]
        self.threads = stat[4]
        self.rss_bytes = stat[6] * procfs.PAGE
        self.vsz_bytes = stat[7]
        self.cpu_ns = clock_ns
        self.account_ns = procfs.account_ns(clock_ns, stat[3])


class ProcessTable:
    """Finds the job's processes and keeps their counters."""

    __slots__ = (
        "_descriptors",
        "_helpers",
        "_list",
        "_listed",
        "_parents",
        "_proc",
        "_reaped_ns",
        "_recorder",
        "cpu_ns",
        "io_totals",
        "live",
        "looked_at",
        "seen",
    )

    def __init__(
        self,
        proc: str,
        recorder: int,
        first: int,
        *,
        list_pids: "Callable[[], list[int]] | None",
        reaped_ns: "Callable[[], int] | None",
    ) -> None:
        self._proc = proc
        self._recorder = recorder
        self._list = list_pids
        self._listed: set[int | str] = set()
        self._parents: set[int] = set()
        self._helpers: frozenset[int] = frozenset()
        self._reaped_ns = reaped_ns
        self._descriptors = _descriptor_budget()
        self.live: dict[int, Process] = {}
        self.cpu_ns = 0
        self.looked_at = 0.0
        """The moment `cpu_ns` is of, by the monotonic clock."""
        self.seen = 0
        self.io_totals: list[int] | None = None
        """Sums of the live processes' accounts; None while none could be read."""
        self._admit(first)

    def stand_still(self) -> None:
        """Note that nothing happened since the last look."""
        for process in self.live.values():
            process.fresh = process.moved = process.looked = False

    def refresh(self, *, full: bool, helpers: "frozenset[int]" = frozenset()) -> bool:
        """Look at every process once and say whether anything moved.

        `full` also re-reads those that were idle; `helpers` are not the job's.
        """
        self._helpers = helpers
        self.stand_still()
        known = self.live.keys() | ()
        most_ns = 0
        for _ in range(_PASSES if len(self.live) > _FEW else _PASSES_OF_FEW):
            began_ns, used_ns = time.monotonic_ns(), time.thread_time_ns()
            self._discover()
            total_ns = 0 if self._reaped_ns is None else self._reaped_ns()
            live_ns, vanished = self._pass(full)
            ended_ns = time.monotonic_ns()
            if total_ns + live_ns >= most_ns:
                # what a pass misses only lowers its sum: the largest is the nearest to the truth
                most_ns = total_ns + live_ns
                self.looked_at = (began_ns + ended_ns) / 2e9
            waited_ns = ended_ns - began_ns - (time.thread_time_ns() - used_ns)
            if not vanished and (waited_ns < _HELD_UP_NS or len(self.live) > _MANY):
                break
        # a clock read of a process that just ended may be missing: the total never falls
        self.cpu_ns = max(self.cpu_ns, most_ns)
        return known != self.live.keys() or any(process.moved for process in self.live.values())

    def _pass(self, full: bool) -> tuple[int, bool]:
        total = 0
        gone: list[Process] = []
        read_clock = time.clock_gettime_ns
        for process in self.live.values():
            try:
                clock_ns = read_clock(process.clock_id)
            except OSError:
                gone.append(process)
                continue
            if (clock_ns == process.cpu_ns and not full) or self._follow(process, clock_ns):
                total += process.account_ns
            else:
                gone.append(process)
        for process in gone:
            self._forget(process)
        return total, bool(gone)

    def _follow(self, process: Process, clock_ns: int) -> bool:
        """Read a process that moved; False when it is gone, or another one has its pid now."""
        stat = self._read_stat(process)
        if stat is None or stat[5] != process.start_ticks or clock_ns < process.cpu_ns:
            return False
        process.moved = process.moved or clock_ns != process.cpu_ns
        process.looked = True
        process.update(stat, clock_ns)
        self._read_io(process)
        return True

    def _read_stat(self, process: Process) -> procfs.ProcessStat | None:
        if process.fd < 0:
            return procfs.read_stat(self._proc, process.pid)
        try:
            return procfs.parse_stat(os.pread(process.fd, 1024, 0))
        except OSError:
            return None  # ESRCH: the process this descriptor belongs to is gone, whoever has its pid now

    def _read_io(self, process: Process) -> None:
        # one that may not be read, or is just ending, hands its account to who reaps it: nothing is lost then
        io = procfs.read_io(self._proc, process.pid)
        if io is not None:
            self._count_io(process, io)

    def _count_io(self, process: Process, io: procfs.ProcessIo | None) -> None:
        before, after = process.io or _NO_IO, io or _NO_IO
        process.io = io
        totals = self.io_totals or [0, 0, 0, 0]
        self.io_totals = [total + new - old for total, new, old in zip(totals, after, before, strict=True)]

    def _discover(self) -> None:
        """Admit what is new in the listing and forget what is gone from it."""
        listed: set[int | str] = set(os.listdir(self._proc) if self._list is None else self._list())
        new, gone = listed - self._listed, self._listed - listed
        self._listed = listed
        for name in gone:
            process = self.live.get(int(name)) if str(name).isdigit() else None
            # a cgroup does not list zombies, whose accounts nobody has taken over yet
            if process is not None and not _has_clock(process):
                self._forget(process)
        unknown = {int(name) for name in new if str(name).isdigit()} - self.live.keys() - self._helpers
        unknown.discard(self._recorder)
        if self._list is None:
            self._adopt(unknown)
            return
        for pid in sorted(unknown):
            self._admit(pid)
        if new or gone:
            self._admit_zombies()

    def _admit_zombies(self) -> None:
        """Find what lived between two looks and is not reaped yet: a cgroup does not list it."""
        self._parents |= {process.ppid for process in self.live.values()}
        self._parents &= self.live.keys()
        for parent in list(self.live) if len(self.live) <= _FEW else self._parents:
            children = procfs.read_file(f"{self._proc}/{parent}/task/{parent}/children", 1 << 16) or b""
            for pid in sorted(set(map(int, children.split())) - self.live.keys() - self._helpers):
                self._admit(pid)

    def _adopt(self, unknown: set[int]) -> None:
        """Admit the unknown processes that descend from the job; orphans have the recorder as parent."""
        parents: dict[int, int] = {}
        for pid in unknown:
            stat = procfs.read_stat(self._proc, pid)
            if stat is not None:
                parents[pid] = stat[2]
            else:
                self._look_again(pid)
        progress = True
        while progress:
            progress = False
            for pid, ppid in list(parents.items()):
                if (ppid == self._recorder and self._reaped_ns is not None) or ppid in self.live:
                    del parents[pid]
                    self._admit(pid)
                    progress = True
        for pid, ppid in parents.items():
            if ppid and str(ppid) not in self._listed:
                self._look_again(pid)  # its parent ended while we looked: whose it is shows next time

    def _look_again(self, pid: int) -> None:
        """Treat a process as new in the next listing too."""
        self._listed -= {pid, str(pid)}

    def _admit(self, pid: int) -> None:
        fd = -1
        if len(self.live) < self._descriptors:
            try:
                fd = os.open(f"{self._proc}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._look_again(pid)  # it ended before it could be looked at, or we are out of descriptors
                return
        stat = procfs.read_stat(self._proc, pid)
        if stat is None:
            self._look_again(pid)
            if fd >= 0:
                os.close(fd)
            return
        self.live[pid] = Process(pid, stat, fd)
        self.seen += 1

    def _forget(self, process: Process) -> None:
        if process.fd >= 0:
            os.close(process.fd)
        if process.io is not None:
            self._count_io(process, None)
        self.live.pop(process.pid, None)
        self._look_again(process.pid)  # should its pid come back, it is somebody new

    def close(self) -> None:
        """Give all descriptors back."""
        for process in list(self.live.values()):
            self._forget(process)


def _has_clock(process: Process) -> bool:
    """Whether the process, or the zombie it left, is still there."""
    try:
        time.clock_gettime_ns(process.clock_id)
    except OSError:
        return False
    return True


def _descriptor_budget() -> int:
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        spare = soft - len(os.listdir("/proc/self/fd")) - _SPARE_DESCRIPTORS
    except OSError:
        return 0
    return max(0, min(spare, 65536) * 2 // 5)
