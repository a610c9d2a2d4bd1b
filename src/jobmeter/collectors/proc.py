"""Per-process series from `/proc`: who used what, and what the job's memory adds up to.

Attribution is sampled: a process that lived between two samples is not seen here, and the sum of resident
sizes counts shared pages once per process. `proc_pss` divides shared pages fairly but walks the page
tables, so it is read rarely and within a budget of 0.5 % of a core.
"""

import time

from jobmeter.model.budget import GROWTH, PssBudget
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import procfs, procplace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmeter.collectors import Job, Process, Reading, Source
    from jobmeter.probes.paths import Paths


def _of_process(key: str, unit: Unit, about: str, reduce: tuple[Reduce, ...] = (Reduce.MAX,)) -> Measurement:
    kind = Kind.COUNTER if reduce == (Reduce.DELTA,) else Kind.GAUGE
    return Measurement(key, kind, unit, Scope.PROCESS, reduce, (), about)


def _of_job(key: str, unit: Unit, about: str) -> Measurement:
    return Measurement(key, Kind.GAUGE, unit, Scope.JOB, (Reduce.MAX,), (Stat.PEAK, Stat.MEAN), about)


def _label(key: str, about: str) -> Measurement:
    return Measurement(key, Kind.LABEL, Unit.NONE, Scope.PROCESS, (Reduce.LAST,), (), about)


_HIGH_AND_LAST, _COUNT = (Reduce.MAX, Reduce.LAST), (Reduce.DELTA,)

MEASUREMENTS = (
    _of_process("proc_rss", Unit.BYTES, "resident set size", _HIGH_AND_LAST),
    _of_process("proc_hwm", Unit.BYTES, "largest resident set size so far (VmHWM)"),
    _of_process("proc_pss", Unit.BYTES, "resident size, shared pages divided by their users", _HIGH_AND_LAST),
    _of_process("proc_vsz", Unit.BYTES, "address space"),
    _of_process("proc_cputime", Unit.SECONDS, "CPU time of the process itself", _COUNT),
    _of_process("proc_pdcpu", Unit.PERCENT, "CPU over one sampling interval, 100 = one core"),
    _of_process("proc_read_bytes", Unit.BYTES, "read from storage, reaped children included", _COUNT),
    _of_process("proc_write_bytes", Unit.BYTES, "written to storage, reaped children included", _COUNT),
    _of_process("proc_threads", Unit.COUNT, "threads"),
    Measurement("proc_state", Kind.CATEGORICAL, Unit.NONE, Scope.PROCESS, (Reduce.TALLY,), (), "scheduler state"),
    _label("proc_cmd", "command line"),
    _label("proc_rank", "rank in a distributed job, by the environment the process was started with"),
    _label("proc_world_size", "how many ranks the job has, by the same environment"),
    _label("proc_role", "main, worker or other: what a Python process does in a training job"),
    _of_job("proc_count", Unit.COUNT, "processes alive"),
    _of_job("proc_rss_total", Unit.BYTES, "sum of resident sizes, shared pages counted once per process"),
    _of_job("proc_vsz_total", Unit.BYTES, "sum of address spaces"),
    _of_job("proc_hwm_total", Unit.BYTES, "sum of the largest resident sizes of live processes"),
    Measurement(
        "proc_hwm_bound", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.MAX,), (),
        "what may have been resident at once, processes that ended between two samples included",
    ),
    _of_job("proc_pss_total", Unit.BYTES, "sum of proportional sizes: shared pages counted once"),
    Measurement(
        "proc_cputime_total", Kind.COUNTER, Unit.SECONDS, Scope.JOB, _COUNT, (Stat.TOTAL,),
        "CPU time sampling attributed to a process",
    ),
)  # fmt: skip

_STATUS_SECONDS, _FEW = 5.0, 16
_PLACED = ("proc_rank", "proc_role", "proc_world_size")


def missing(paths: "Paths") -> str | None:
    """Say why processes cannot be read here."""
    return (
        None if procfs.read_file(f"{paths.proc}/self/stat") else f"no {paths.proc}: not Linux, or not mounted"
    )


class ProcSource:
    """Reads what moved since the last sample."""

    __slots__ = (
        "_alive",
        "_attributed_ns",
        "_budget",
        "_cpu_ns",
        "_hwm",
        "_hwm_total",
        "_job",
        "_keys",
        "_most",
        "_named",
        "_places",
        "_read_at",
        "_rss",
        "_rss_total",
        "_standing",
        "_status_at",
        "_vsz_total",
        "_wants_pss",
    )

    def __init__(self, job: "Job", keys: frozenset[str]) -> None:
        self._job = job
        self._keys = keys
        now = time.monotonic()
        own = job.own_cgroup
        self._budget = PssBudget(now, on_highs=own is None or own.places.memory is None)
        self._cpu_ns: dict[str, int] = {}
        self._rss: dict[str, int] = {}
        self._hwm: dict[str, int] = {}
        self._attributed_ns = 0
        self._rss_total = self._vsz_total = self._hwm_total = 0
        self._alive: set[str] = set()
        self._most: dict[int, int] = {}
        self._named: dict[str, tuple[tuple[str, bytes], str]] = {}
        self._places = None if keys.isdisjoint(_PLACED) else procplace.Places(job.paths.proc)
        self._standing: list[Reading] = []
        self._wants_pss = not keys.isdisjoint(("proc_pss", "proc_pss_total"))
        self._status_at = 0.0
        self._read_at = now

    def read(self) -> "list[Reading]":
        """Give the processes that moved, then the totals."""
        now = time.monotonic()
        processes = self._job.processes.values()
        looked = [process for process in processes if process.looked]
        readings = list(self._processes(looked, now)) if looked else []
        self._read_at = now
        if looked or len(processes) != len(self._alive) or not self._standing:
            self._add_up(list(processes))
            self._standing = [*self._totals(len(processes)), *self._bound()]
        readings += self._standing
        if self._wants_pss and processes and self._budget.due(now, self._rss_total):
            readings += self._pss(list(processes), now, self._rss_total)
        return readings

    def _processes(self, looked: "list[Process]", now: float) -> "Iterator[Reading]":
        keys = self._keys
        boot = time.clock_gettime(time.CLOCK_BOOTTIME)
        status_due = len(looked) <= _FEW or now - self._status_at >= _STATUS_SECONDS
        for process in looked:
            if "proc_state" in keys:
                yield "proc_state", process.instance, process.state
            if process.moved or process.rss_bytes != self._rss.get(process.instance):
                yield from self._moved(process, now, boot)
            if self._places is not None and not process.fresh:
                yield from self._place(process, self._places)
            if process.fresh or (status_due and process.moved):
                yield from self._status(process)
        if status_due:
            self._status_at = now

    def _moved(self, process: "Process", now: float, boot: float) -> "Iterator[Reading]":
        name, keys = process.instance, self._keys
        before = self._cpu_ns.get(name)
        # a process born since the last sample: its rate is over its own life
        span = now - self._read_at if before is not None else boot - process.start_ticks * procfs.TICK
        used = process.cpu_ns - (before or 0)
        self._attributed_ns += used
        self._cpu_ns[name] = process.cpu_ns
        self._rss[name] = process.rss_bytes
        if "proc_rss" in keys:
            yield "proc_rss", name, process.rss_bytes
        if "proc_vsz" in keys:
            yield "proc_vsz", name, process.vsz_bytes
        if "proc_cputime" in keys:
            yield "proc_cputime", name, process.cpu_ns / 1e9
        if "proc_pdcpu" in keys:
            yield "proc_pdcpu", name, round(used / 1e7 / max(span, 0.01), 1)
        if "proc_threads" in keys:
            yield "proc_threads", name, process.threads
        if process.io is not None and "proc_read_bytes" in keys:
            yield "proc_read_bytes", name, process.io[2]
        if process.io is not None and "proc_write_bytes" in keys:
            yield "proc_write_bytes", name, process.io[3]
        if "proc_cmd" in keys:
            yield "proc_cmd", name, self._command(process)

    def _place(self, process: "Process", places: procplace.Places) -> "Iterator[Reading]":
        placed = self._placed(process, places)
        if placed.rank is not None and "proc_rank" in self._keys:
            yield "proc_rank", process.instance, str(placed.rank)
        if placed.world_size is not None and "proc_world_size" in self._keys:
            yield "proc_world_size", process.instance, str(placed.world_size)
        if placed.known.role is not None and "proc_role" in self._keys:
            yield "proc_role", process.instance, placed.known.role

    def _placed(self, process: "Process", places: procplace.Places) -> procplace.Placed:
        known = places.known(process.instance, process.program)
        if known is not None:
            return known
        # a parent that sleeps may not have been read yet; its role decides those of its children
        unplaced = self._unplaced(process, places)
        parent = self._job.processes.get(unplaced[-1].ppid)
        above = None if parent is None else places.known(parent.instance, parent.program)
        for one in reversed(unplaced[1:]):
            above = places.put(one.instance, one.program, self._command(one), above)
        return places.put(process.instance, process.program, self._command(process), above)

    def _unplaced(self, process: "Process", places: procplace.Places) -> "list[Process]":
        """List a process and those above it that are not placed, nearest first."""
        line = [process]
        # pids that came back may name one another as parents: no line is longer than all processes
        for _ in self._job.processes:
            parent = self._job.processes.get(line[-1].ppid)
            if parent is None or places.known(parent.instance, parent.program) is not None:
                break
            line.append(parent)
        return line

    def _command(self, process: "Process") -> str:
        known = self._named.get(process.instance)
        if known is not None and known[0] == process.program:
            return known[1]
        # first sight, or another program since exec
        line = procfs.read_command_line(self._job.paths.proc, process.pid)
        text = self._job.redact(line) if line else f"[{process.command}]"
        self._named[process.instance] = (process.program, text)
        return text

    def _status(self, process: "Process") -> "Iterator[Reading]":
        peak = procfs.read_peak_rss(self._job.paths.proc, process.pid)
        if peak is None:
            return
        self._hwm[process.instance] = peak
        if "proc_hwm" in self._keys:
            yield "proc_hwm", process.instance, peak

    def _add_up(self, processes: "list[Process]") -> None:
        """Renew the sums; while every process is idle they stand."""
        alive = {process.instance for process in processes}
        ended = len(self._alive - alive)
        self._alive = alive
        self._rss_total = sum([process.rss_bytes for process in processes])
        self._vsz_total = sum([process.vsz_bytes for process in processes])
        known = self._hwm
        self._hwm_total = sum([max(known.get(p.instance, 0), p.rss_bytes) for p in processes])
        self._most[ended] = max(self._most.get(ended, 0), self._hwm_total)
        self._prune(alive)

    def _bound(self) -> "Iterator[Reading]":
        """Bound what may have been resident at once.

        A process that ended since the last sample may have grown to the size of the largest one ever reaped.
        """
        if "proc_hwm_bound" not in self._keys or not self._job.ours:
            return
        largest = self._job.reaped().maxrss_bytes
        bounds = [total + ended * largest for ended, total in self._most.items()]
        highest = max(bounds, default=0)
        if highest:
            yield "proc_hwm_bound", "", highest

    def _totals(self, count: int) -> "Iterator[Reading]":
        if "proc_cputime_total" in self._keys:
            yield "proc_cputime_total", "", self._attributed_ns / 1e9
        if not count:
            return
        if "proc_count" in self._keys:
            yield "proc_count", "", count
        if "proc_rss_total" in self._keys:
            yield "proc_rss_total", "", self._rss_total
        if "proc_vsz_total" in self._keys:
            yield "proc_vsz_total", "", self._vsz_total
        if "proc_hwm_total" in self._keys:
            yield "proc_hwm_total", "", self._hwm_total

    def _pss(self, processes: "list[Process]", now: float, rss_total: int) -> "Iterator[Reading]":
        began = time.thread_time()
        proc = self._job.paths.proc
        sizes = {p.instance: procfs.read_pss(proc, p.pid) for p in processes if p.rss_bytes}
        unread = [p for p in processes if p.rss_bytes and sizes[p.instance] is None and p.state not in "ZX"]
        resident = [
            stat[6] * procfs.PAGE for p in processes if (stat := procfs.read_stat(proc, p.pid)) is not None
        ]
        self._budget.spent(now, time.thread_time() - began)
        # pages that came to be shared between two of the readings were counted twice
        if abs(sum(resident) - rss_total) > rss_total * (GROWTH - 1):
            return
        self._budget.kept(now, rss_total)
        for instance, size in sizes.items():
            if size is not None and "proc_pss" in self._keys:
                yield "proc_pss", instance, size
        total = sum(size for size in sizes.values() if size is not None)
        # a process we may not read would make the sum a lie
        if "proc_pss_total" in self._keys and total and not unread:
            yield "proc_pss_total", "", total

    def _prune(self, alive: set[str]) -> None:
        if len(self._cpu_ns) <= 2 * len(alive) + 64:
            return
        for known in (self._cpu_ns, self._rss, self._hwm, self._named):
            for instance in [name for name in known if name not in alive]:
                del known[instance]
        if self._places is not None:
            self._places.forget(alive)

    def close(self) -> None:
        """Nothing is held open here: descriptors belong to the recorder's table."""


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Bind the process series to a job."""
    return ProcSource(job, keys)
