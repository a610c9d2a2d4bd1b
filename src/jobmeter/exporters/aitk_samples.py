"""Windows of a run as rows of MetricsSample.

Memory of the main process and of its workers is resident memory less what each shares with others by its
nearest proportional reading, which is made rarely: right after a fork it can be off until the next one. A run
that ended before the first such reading counts pages that forks share once per process.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from jobmeter.model import roles
from jobmeter.model.aitk import Sample
from jobmeter.model.measurement import GPU_TOOLS
from jobmeter.model.run import Run, Value
from jobmeter.model.view import Window

GIB = 1 << 30
_MEMORY_LEFT, _ALIVE = "host_mem_available", "proc_count"


def rows(run: Run, windows: Iterable[Window]) -> Iterator[Sample]:
    """Give one row per sample; a report of single processes belongs to the sample before it."""
    machine = _machine(run)
    # a last look at the counters alone is no sample
    anchor = _MEMORY_LEFT if _MEMORY_LEFT in run.definitions else _ALIVE
    processes = _Processes(shared=_first_shared(windows))
    sampled: Window | None = None
    for window in windows:
        if (anchor, "") in window.values:
            if sampled is not None:
                yield _row(sampled, processes, machine)
            sampled = window
        processes.take(window)
    if sampled is not None:
        yield _row(sampled, processes, machine)


@dataclass(frozen=True, slots=True)
class _Machine:
    memory_bytes: int | None
    cpus: int | None


def _machine(run: Run) -> _Machine:
    host = run.context.get("host")
    facts = host if isinstance(host, dict) else {}
    memory, cpus = facts.get("memory_bytes"), facts.get("cpus")
    return _Machine(memory if isinstance(memory, int) else None, cpus if isinstance(cpus, int) else None)


def _numbers(window: Window, key: str) -> dict[str, float]:
    return {
        instance: value
        for (name, instance), value in window.values.items()
        if name == key and isinstance(value, int | float)
    }


def _shared(window: Window) -> dict[str, float]:
    """Tell how much of each process's resident memory is others' share, where it was read."""
    resident = _numbers(window, "proc_last_rss")
    proportional = _numbers(window, "proc_last_pss")
    return {name: max(resident[name] - size, 0.0) for name, size in proportional.items() if name in resident}


def _first_shared(windows: Iterable[Window]) -> dict[str, float]:
    found: dict[str, float] = {}
    for window in windows:
        for name, size in _shared(window).items():
            found.setdefault(name, size)
    return found


@dataclass(slots=True)
class _Processes:
    """The processes as last seen: only those that moved are written, the others are as they were."""

    shared: dict[str, float]
    resident: dict[str, tuple[float, float]] = field(default_factory=dict)
    """When a process was last seen to move, and its size then."""
    roles: dict[str, str] = field(default_factory=dict)
    alive: float | None = None

    def take(self, window: Window) -> None:
        """See what moved, and bury what can no longer be alive."""
        self.alive = _number(window, _ALIVE, self.alive)
        for (key, instance), value in window.values.items():
            if key == "proc_role":
                self.roles[instance] = str(value)
        for name, size in _numbers(window, "proc_last_rss").items():
            if "@" in name:
                self.resident[name] = (window.timestamp, size)
        self.shared |= _shared(window)

    def of(self, role: str) -> list[float] | None:
        """Give the sizes of the processes in a role; None where nothing is known of roles."""
        if not self.roles:
            return None
        self._bury()
        return [
            max(size - self.shared.get(name, 0.0), 0.0)
            for name, (_, size) in self.resident.items()
            # what holds nothing has ended, and waits for its parent
            if size and self.roles.get(name) == role
        ]

    def _bury(self) -> None:
        """More are remembered than are alive: those that were silent longest are gone, the loop last."""
        gone = 0 if self.alive is None else len(self.resident) - int(self.alive)
        ordered = sorted(
            self.resident, key=lambda name: (self.roles.get(name) == roles.MAIN, self.resident[name][0])
        )
        for name in ordered[: max(gone, 0)]:
            del self.resident[name]


def _number(window: Window, key: str, default: float | None = None) -> float | None:
    value: Value | dict[str, int] | None = window.values.get((key, ""))
    return value if isinstance(value, int | float) else default


def _row(window: Window, processes: _Processes, machine: _Machine) -> Sample:
    available = _number(window, _MEMORY_LEFT)
    total = machine.memory_bytes
    main, workers = processes.of(roles.MAIN), processes.of(roles.WORKER)
    memory, busy = _gpus(window)
    return Sample(
        timestamp=window.timestamp,
        total_memory_gb=_gb(total),
        used_memory_gb=None if total is None or available is None else _gb(total - available),
        available_memory_gb=_gb(available),
        swap_used_gb=_gb(_number(window, "host_swap_used")),
        main_process_memory_gb=None if main is None else _gb(sum(main)),
        worker_memory_gb=None if workers is None else _gb(sum(workers)),
        worker_count=None if workers is None else len(workers),
        gpu_memory_used_gb=_gb(sum(memory)) if memory else None,
        gpu_utilization_percent=round(sum(busy) / len(busy), 3) if busy else None,
        cpu_utilization_percent=_busy_percent(window, machine.cpus),
    )


def _gpus(window: Window) -> tuple[list[float], list[float]]:
    """Take memory and utilisation of all GPUs from the one tool that saw any."""
    for tool in GPU_TOOLS:
        memory, busy = _numbers(window, f"{tool}_mem_used"), _numbers(window, f"{tool}_util")
        if memory or busy:
            return list(memory.values()), list(busy.values())
    return [], []


def _busy_percent(window: Window, cpus: int | None) -> float | None:
    used, span = _number(window, "host_cputime"), window.clock.get("host")
    if used is None or span is None or not cpus or span[1] <= span[0]:
        return None
    # the kernel counts whole ticks, which a short span can hold more of than it lasted
    return min(round(100 * used / (span[1] - span[0]) / cpus, 3), 100.0)


def _gb(size_bytes: float | None) -> float | None:
    return None if size_bytes is None else round(size_bytes / GIB, 6)
