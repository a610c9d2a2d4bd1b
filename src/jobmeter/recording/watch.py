"""Look at each sample for what must not wait until the end: an OOM kill, memory near its limit."""

from jobmeter.config import signals
from jobmeter.probes import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmeter.recording.job import Job
    from jobmeter.recording.sampler import Sampler

_OOM_KEYS = ("cgroup_oom_kill", "cgroup_outer_oom_kill")
MEMORY_KEYS = ("cgroup_mem_unreclaimable", "cgroup_outer_mem_unreclaimable", "proc_rss_total")
_SIGCHLD_BIT = 1 << 16


class Watch:
    """Compares each sample with what must be told at once."""

    __slots__ = (
        "_action",
        "_armed",
        "_event",
        "_job",
        "_limit",
        "_oom_kills",
        "_sampler",
        "_share",
        "ignorers",
    )

    def __init__(
        self,
        job: "Job",
        sampler: "Sampler",
        context: dict[str, object],
        on_memory: str | None,
        event: "Callable[[str, dict[str, object]], None]",
    ) -> None:
        self._job = job
        self._sampler = sampler
        self._event = event
        self._oom_kills: dict[str, float] = {}
        limits = context.get("limits")
        memory = limits.get("memory_bytes") if isinstance(limits, dict) else None
        self._limit = memory if isinstance(memory, int) else None
        share, _, action = (on_memory or "").partition(" ")
        self._share = float(share[:-1]) / 100 if share else None
        self._action = signals.number(action.removeprefix("signal:")) if share else 0
        self._armed = True
        self.ignorers: set[str] = set()

    @property
    def saw_kill(self) -> bool:
        """Whether the kernel killed anything here for want of memory."""
        return any(self._oom_kills.values())

    def look(self) -> None:
        """Check the newest sample."""
        self._look_for_oom_kill()
        self._look_at_memory()
        if self._job.task_clock_fd is not None:
            self._look_for_ignored_children()

    def _look_for_oom_kill(self) -> None:
        counted = {key: self._sampler.summary.latest(key) or 0 for key in _OOM_KEYS}
        grown = [key for key in _OOM_KEYS if counted[key] > self._oom_kills.get(key, 0)]
        self._oom_kills = counted
        if grown:
            # the enclosing cgroup counts the same kill again
            self._event("oom_kill", {"count": int(counted[grown[0]]), "key": grown[0]})

    def _look_at_memory(self) -> None:
        if self._share is None or self._limit is None:
            return
        used = next((v for key in MEMORY_KEYS if (v := self._sampler.summary.latest(key)) is not None), None)
        if used is None:
            return
        if used < 0.9 * self._share * self._limit:
            self._armed = True
        elif self._armed and used >= self._share * self._limit:
            self._armed = False
            name = signals.name(self._action)
            self._event(
                "memory_threshold", {"used_bytes": int(used), "limit_bytes": self._limit, "signal": name}
            )
            self._job.signal(self._action)

    def _look_for_ignored_children(self) -> None:
        """A process that ignores SIGCHLD makes the kernel throw its children's accounts away."""
        for process in self._job.processes.values():
            if not process.fresh and not process.moved:
                continue
            text = procfs.read_file(f"{self._job.paths.proc}/{process.pid}/status")
            mask = None if text is None else procfs.parse_ignored_signals(text)
            if mask is not None and mask & _SIGCHLD_BIT:
                self.ignorers.add(process.command)
