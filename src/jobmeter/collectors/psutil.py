"""The job's processes as psutil sees them: the portable source, and the default off Linux.

PSS, which divides shared pages among their users, exists on Linux only; reading it walks page tables and
disturbs the job, so it is read every 30 s, or at a new high of RSS, and never for more than 0.5 % of a core.
CPU times come in ticks of 10 ms. On macOS processes of other users give nothing but their names.
"""

import time

from jobmeter.model.budget import PssBudget
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import psutil_package

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import psutil

    from jobmeter.collectors import Job, Reading, Source
    from jobmeter.probes.paths import Paths


def _gauge(key: str, unit: Unit, about: str) -> Measurement:
    reduces = (Reduce.MAX, Reduce.LAST)
    return Measurement(key, Kind.GAUGE, unit, Scope.PROCESS, reduces, (), about)


def _total(key: str, unit: Unit, about: str) -> Measurement:
    return Measurement(key, Kind.GAUGE, unit, Scope.JOB, (Reduce.MAX,), (Stat.PEAK, Stat.MEAN), about)


MEASUREMENTS = (
    _gauge("psutil_rss", Unit.BYTES, "resident memory of a process, shared pages included"),
    _gauge("psutil_pss", Unit.BYTES, "resident memory of a process, shared pages divided among their users"),
    _gauge("psutil_pdcpu", Unit.PERCENT, "CPU of a process since the last sample, 100 = one core"),
    _gauge("psutil_threads", Unit.COUNT, "threads of a process"),
    Measurement(
        "psutil_cputime",
        Kind.COUNTER,
        Unit.SECONDS,
        Scope.PROCESS,
        (Reduce.DELTA,),
        (Stat.TOTAL,),
        "user and system CPU time of a process",
    ),
    Measurement(
        "psutil_cmd", Kind.LABEL, Unit.NONE, Scope.PROCESS, (Reduce.LAST,), (), "command line of a process"
    ),
    _total(
        "psutil_rss_total", Unit.BYTES, "resident memory summed over processes, shared pages once for each"
    ),
    _total("psutil_pss_total", Unit.BYTES, "resident memory of the job, shared pages once"),
    _total("psutil_pdcpu_total", Unit.PERCENT, "CPU of the job since the last sample, 100 = one core"),
)

_PSS_KEYS = frozenset(("psutil_pss", "psutil_pss_total"))
_NEWBORN_SLACK_SECONDS = 1.0
_SHORTEST_AGE_SECONDS = 0.1
"""Below it a CPU time in ticks of 10 ms over an age in ticks of 10 ms is noise."""
_COMMAND_CHARACTERS = 4096


def missing(paths: "Paths") -> str | None:
    """Say why psutil cannot be used here."""
    del paths  # psutil finds the kernel's files itself
    return "psutil is not installed" if psutil_package.load() is None else None


class PsutilSource:
    """One cached psutil object per live process, so that `cpu_percent` has something to compare with."""

    __slots__ = (
        "_budget",
        "_clock",
        "_commands",
        "_cpu_clock",
        "_job",
        "_keys",
        "_known",
        "_psutil",
        "_read_at",
        "_wall_clock",
    )

    def __init__(
        self,
        job: "Job",
        keys: frozenset[str],
        *,
        clock: "Callable[[], float]" = time.monotonic,
        wall_clock: "Callable[[], float]" = time.time,
        cpu_clock: "Callable[[], float]" = time.process_time,
    ) -> None:
        package = psutil_package.load()
        if package is None:
            raise FileNotFoundError("psutil is not installed")
        self._psutil = package
        self._job = job
        self._keys = keys
        self._clock = clock
        self._wall_clock = wall_clock
        self._cpu_clock = cpu_clock
        self._known: dict[str, psutil.Process] = {}
        self._commands: dict[str, tuple[str, str]] = {}
        self._budget = PssBudget(clock())
        self._read_at = clock()

    def read(self) -> "Iterable[Reading]":
        """Read every live process of the job; one that ended meanwhile is skipped."""
        now = self._clock()
        known, self._known = self._known, {}
        found: list[Reading] = []
        denied = False
        for process in list(self._job.processes.values()):
            handle = known.get(process.instance)
            try:
                handle = handle or self._psutil.Process(process.pid)
                found += list(
                    self._read_process(handle, process.instance, process.instance not in known, now)
                )
            except self._psutil.NoSuchProcess:
                continue  # ended between listing and reading
            except self._psutil.AccessDenied:
                denied = True  # another user's, on macOS: a sum without it would pass for the whole job's
                continue
            self._known[process.instance] = handle
        found += [] if denied else _sums(found, "psutil_rss", "psutil_pdcpu")
        rss_total = sum(int(value) for key, _, value in found if key == "psutil_rss")
        if self._known and not _PSS_KEYS.isdisjoint(self._keys) and self._budget.due(now, rss_total):
            found += self._read_pss(now, rss_total, whole=not denied)
        self._commands = {
            instance: line for instance, line in self._commands.items() if instance in self._known
        }
        self._read_at = now
        return [reading for reading in found if reading[0] in self._keys]

    def _read_process(
        self, handle: "psutil.Process", instance: str, new: bool, now: float
    ) -> "Iterator[Reading]":
        with handle.oneshot():
            times = handle.cpu_times()
            yield "psutil_cputime", instance, times.user + times.system
            rate: float | None = handle.cpu_percent(None)
            if new:
                rate = self._newborn_rate(
                    times.user + times.system, self._wall_clock() - handle.create_time(), now
                )
            if rate is not None:
                yield "psutil_pdcpu", instance, rate
            yield "psutil_rss", instance, handle.memory_info().rss
            if "psutil_threads" in self._keys:
                yield "psutil_threads", instance, handle.num_threads()
            text = self._command_line(handle, instance) if "psutil_cmd" in self._keys else ""
            if text:
                yield "psutil_cmd", instance, text

    def _command_line(self, handle: "psutil.Process", instance: str) -> str:
        try:
            line = " ".join(handle.cmdline())[:_COMMAND_CHARACTERS]
        except self._psutil.ZombieProcess:
            return ""  # it has lost its command line: what it was called while it lived stays
        known = self._commands.get(instance)
        if known is None or known[0] != line:
            known = self._commands[instance] = (line, self._job.redact(line))
        return known[1]

    def _newborn_rate(self, cputime: float, age: float, now: float) -> float | None:
        # psutil's first cpu_percent is always 0.0 and means nothing; an old process has no rate yet
        if not _SHORTEST_AGE_SECONDS <= age <= now - self._read_at + _NEWBORN_SLACK_SECONDS:
            return None
        return 100 * cputime / age

    def _read_pss(self, now: float, rss_total: int, *, whole: bool) -> "list[Reading]":
        begin = self._cpu_clock()
        found: list[Reading] = []
        for instance, handle in self._known.items():
            try:
                pss = getattr(handle.memory_full_info(), "pss", None)
            except self._psutil.NoSuchProcess:
                continue  # it holds no memory any more
            except self._psutil.AccessDenied:
                pss = None
            if pss is None:
                whole = False
                continue
            found.append(("psutil_pss", instance, pss))
        self._budget.spent(now, self._cpu_clock() - begin)
        self._budget.kept(now, rss_total)
        # a sum without a process we may not look into would pass for the job's memory
        return found + _sums(found, "psutil_pss") if whole else found

    def close(self) -> None:
        """Forget the processes."""
        self._known = {}


def _sums(found: "list[Reading]", *keys: str) -> "list[Reading]":
    sums: list[Reading] = []
    for wanted in keys:
        values = [float(value) for key, _, value in found if key == wanted]
        if values:
            total = sum(values)
            sums.append((f"{wanted}_total", "", total if wanted == "psutil_pdcpu" else int(total)))
    return sums


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Bind psutil to a job."""
    return PsutilSource(job, keys)
