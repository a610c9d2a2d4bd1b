"""What a training had used when its run began. Its recorder comes a moment later: without this account, written down
by the process itself, what it used until then would be missing from the run."""

import os
import time

from jobmeter.probes import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmeter import collectors
    from jobmeter.recording.processes import Process

_ACCOUNTS = ("rchar", "wchar", "read_bytes", "write_bytes")


def written_down() -> dict[str, int]:
    """Account for this very process, as its recorder will; empty where the kernel does not tell."""
    stat = procfs.read_stat("/proc", os.getpid())
    if stat is None:
        return {}
    clock_ns = time.process_time_ns()
    found = {
        "boot_ticks": int(time.clock_gettime(time.CLOCK_BOOTTIME) / procfs.TICK),
        "clock_ns": clock_ns,
        "account_ns": procfs.account_ns(clock_ns, stat[3]),
    }
    io = procfs.read_io("/proc", "self")
    return found if io is None else {**found, **dict(zip(_ACCOUNTS, io, strict=True))}


class Earlier:
    """Such an account of the job's first process; older processes of the job are added when they are first seen."""

    __slots__ = ("_boot_ticks", "_clock_ns", "_pid", "account_ns", "io")

    def __init__(self, account: "Mapping[str, int]", pid: int) -> None:
        self._pid = pid
        self._boot_ticks = account["boot_ticks"]
        self._clock_ns = account["clock_ns"]
        self.account_ns = account["account_ns"]
        self.io = [account[name] for name in _ACCOUNTS] if "rchar" in account else None

    def clock_ns(self, process: "collectors.Process") -> int:
        """Say what a process had used itself; one that began later has nothing."""
        if process.pid == self._pid:
            return self._clock_ns
        return process.cpu_ns if self._is_older(process) else 0

    def add(self, process: "Process") -> None:
        """Set apart what a process used that was there before; of the first one it is known."""
        if process.pid == self._pid or not self._is_older(process):
            return
        self.account_ns += process.account_ns
        if self.io is not None and process.io is not None:
            self.io = [one + other for one, other in zip(self.io, process.io, strict=True)]

    def _is_older(self, process: "collectors.Process") -> bool:
        return process.start_ticks < self._boot_ticks


def read(start: "Mapping[str, object]", pid: int) -> Earlier | None:
    """Take the account out of a `start` record; None where it has none that can be used."""
    found = start.get("earlier")
    account = (
        {name: value for name, value in found.items() if type(value) is int}
        if isinstance(found, dict)
        else {}
    )
    try:
        return Earlier(account, pid)
    except KeyError:
        return None
