"""The job being recorded: its processes, its accounts, and the one way to signal it."""

import os
import resource

from jobmeter.probes import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmeter import collectors
    from jobmeter.collectors import Helper
    from jobmeter.probes.cgroupfs import OwnCgroup
    from jobmeter.probes.paths import Paths
    from jobmeter.recording.earlier import Earlier
    from jobmeter.recording.processes import Process, ProcessTable


_NO_IO = (0, 0, 0, 0)


class Reaped:
    """Accounts of processes that ended."""

    __slots__ = ("majflt", "maxrss_bytes", "minflt")

    def __init__(self, maxrss_bytes: int, minflt: int, majflt: int) -> None:
        self.maxrss_bytes = maxrss_bytes
        self.minflt = minflt
        self.majflt = majflt


class Job:
    """A running command and everything it started."""

    __slots__ = (
        "_counted",
        "_helpers",
        "_io",
        "_reaped",
        "_thread_io",
        "earlier",
        "gpus",
        "group",
        "idle",
        "ours",
        "own_cgroup",
        "paths",
        "pid",
        "recorder_rss_bytes",
        "table",
        "task_clock_fd",
    )

    def __init__(
        self,
        pid: int,
        paths: "Paths",
        *,
        ours: bool = True,
        own_cgroup: "OwnCgroup | None" = None,
        task_clock_fd: int | None = None,
        recorder_rss_bytes: int = 0,
    ) -> None:
        self.pid = pid
        self.group = pid
        self.paths = paths
        self.ours = ours
        self.own_cgroup = own_cgroup
        self.task_clock_fd = task_clock_fd
        self.recorder_rss_bytes = recorder_rss_bytes
        self.earlier: Earlier | None = None
        """What was used before the run began; None where that is nothing, or not known."""
        self.gpus = "job"
        self.table: ProcessTable | None = None
        self.idle = False
        """Whether no process of the job ran between the last two looks."""
        self._counted: bytes | None = None
        self._helpers: list[Helper] = []
        self._io = [0, 0, 0, 0]
        self._reaped: tuple[int, list[int]] | None = None
        self._thread_io = f"self/task/{os.getpid()}"
        if ours:
            self._set_apart_earlier_children()

    def _set_apart_earlier_children(self) -> None:
        """A shell that execs jobmeter leaves us the accounts of the children it had: they are not the job's."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not usage.ru_minflt:
            return
        from jobmeter.probes import command

        earlier = command.Earlier()
        io = self._reaped_io()
        earlier.usage.add(usage, None if io is None else (io[0], io[1], io[2], io[3]))
        self._helpers.append(earlier)
        self._reaped = None

    def refresh(self, *, full: bool) -> None:
        """Look at the job's processes again."""
        if self.table is None:
            from jobmeter.recording.processes import ProcessTable

            own = self.own_cgroup
            listing = own.pids if own is not None and own.places.every() else None
            self.table = ProcessTable(
                self.paths.proc,
                os.getpid(),
                self.pid,
                list_pids=listing,
                reaped_ns=self._reaped_ns if self.ours else None,
            )
        counted = None if self.own_cgroup is None else self.own_cgroup.cpu_counter()
        if counted is not None and counted == self._counted and not full:
            # no process of the job ran since the last look: none began, none ended, none changed
            self.table.stand_still()
            self.idle = True
            return
        self._counted = counted
        self.idle = not self.table.refresh(full=full, helpers=frozenset(self.helper_pids()))

    @property
    def processes(self) -> "Mapping[int, Process]":
        """Live processes by pid."""
        return {} if self.table is None else self.table.live

    @property
    def cpu_ns(self) -> int:
        """CPU time of the whole job so far."""
        reaped = self._reaped_ns() if self.ours else 0
        total = reaped if self.table is None else max(reaped, self.table.cpu_ns)
        return total if self.earlier is None else max(0, total - self.earlier.account_ns)

    def count_from(self, earlier: "Earlier | None") -> None:
        """Leave out what is known to have been used before the run began."""
        self.earlier = earlier

    def set_apart_earlier(self) -> None:
        """Look at what runs when the first sample is taken: some of it may be older than the run."""
        if self.earlier is None:
            return
        for process in self.processes.values():
            self.earlier.add(process)

    def used_before_ns(self, process: "collectors.Process") -> int:
        """Say what a process had used itself when counting began."""
        return process.cpu_ns if self.earlier is None else self.earlier.clock_ns(process)

    def looked_at(self, now: float) -> float:
        """Say of which moment that is; an idle job stands as it does now."""
        return now if self.table is None or self.idle else self.table.looked_at

    def _reaped_ns(self) -> int:
        return procfs.reaped_ns() - sum(tool.usage.cpu_ns for tool in self._helpers)

    def lend(self, tool: "Helper") -> None:
        """Keep apart what a source's helpers use: the kernel counts them with the job's reaped processes."""
        self._helpers.append(tool)

    def helper_pids(self) -> list[int]:
        """List our own helpers that live: children of the recorder that are not the job's."""
        return [pid for tool in self._helpers for pid in tool.strays]

    def waited_for(self, pid: int, rusage: "resource.struct_rusage") -> None:
        """Take note that a child was reaped: what a helper used is not the job's."""
        for tool in self._helpers:
            if pid in tool.strays:
                tool.reaped(pid, rusage)

    def reaped(self) -> Reaped:
        """What ended processes of the job left in our accounts."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        helpers = [tool.usage for tool in self._helpers]
        maxrss_bytes = usage.ru_maxrss * 1024
        # at or below the largest helper nobody can tell whose it was
        known = maxrss_bytes > max((helper.maxrss_bytes for helper in helpers), default=0)
        return Reaped(
            maxrss_bytes if known else 0,
            usage.ru_minflt - sum(helper.minflt for helper in helpers),
            usage.ru_majflt - sum(helper.majflt for helper in helpers),
        )

    def io(self) -> "list[int] | None":
        """What the whole job read and wrote: live processes, and what this process reaped."""
        live = None if self.table is None else self.table.io_totals
        reaped = self._reaped_io() if self.ours else None
        if live is None and reaped is None:
            return None
        total = [one + other for one, other in zip(live or _NO_IO, reaped or _NO_IO, strict=True)]
        if self.earlier is not None and self.earlier.io is not None:
            total = [all_ - before for all_, before in zip(total, self.earlier.io, strict=True)]
        # an account on its way from a child to its parent may be missing for a moment: the total never falls
        self._io = [max(before, now) for before, now in zip(self._io, total, strict=True)]
        return self._io

    def _reaped_io(self) -> "list[int] | None":
        """This process's account less its only thread's; unchanged as long as nothing was reaped."""
        reaped_ns = procfs.reaped_ns()
        if self._reaped is not None and self._reaped[0] == reaped_ns:
            return self._reaped[1]
        whole = procfs.read_io(self.paths.proc, "self")
        own = procfs.read_io(self.paths.proc, self._thread_io)
        if whole is None or own is None:
            return None
        apart = [
            sum(accounts) for accounts in zip(own, *(tool.usage.io for tool in self._helpers), strict=True)
        ]
        self._reaped = (reaped_ns, [all_ - mine for all_, mine in zip(whole, apart, strict=True)])
        return self._reaped[1]

    def redact(self, text: str) -> str:
        """Hide secrets in a command line."""
        from jobmeter.config import redaction

        return redaction.redact_text(text)

    def exists(self) -> bool:
        """Whether the job's first process, or the zombie it left, is still there."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True  # it became another user's
        return True

    def signal(self, number: int) -> bool:
        """Send a signal to the job's whole group, or to the process itself where the group is not its own."""
        try:
            if self.ours:
                os.killpg(self.group, number)
            else:
                os.kill(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return False  # nobody is left to hear it
        return True

    def close(self) -> None:
        """Give descriptors back."""
        if self.table is not None:
            self.table.close()
