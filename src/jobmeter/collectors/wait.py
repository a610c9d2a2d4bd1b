"""What the kernel accounts to the job through `wait`: exact without any privilege.

CPU and IO are telescoping sums over live processes and everything reaped so far (see
`recording/processes.py`). They become lower bounds when a process ignores SIGCHLD: the kernel then throws
its children's usage away. `wait_task_clock` (perf, inherited by every descendant) sees those too.
"""

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import libc, procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmeter.collectors import Job, Reading, Source
    from jobmeter.probes.paths import Paths


def _counter(key: str, unit: Unit, about: str) -> Measurement:
    return Measurement(key, Kind.COUNTER, unit, Scope.JOB, (Reduce.DELTA,), (Stat.TOTAL,), about)


def _size(key: str, about: str) -> Measurement:
    return Measurement(key, Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.MAX,), (), about)


MEASUREMENTS = (
    _counter("wait_cputime", Unit.SECONDS, "CPU time of all processes of the job, ended ones included"),
    _counter(
        "wait_task_clock",
        Unit.SECONDS,
        "CPU time by an inherited perf task clock, auto-reaped children included",
    ),
    _size("wait_maxrss", "largest resident size of any reaped process"),
    _size("wait_maxrss_floor", "the recorder's own size: no reaped process was larger"),
    _counter("wait_read_bytes", Unit.BYTES, "bytes the job caused to be read from storage"),
    _counter(
        "wait_write_bytes", Unit.BYTES, "bytes the job caused to be written to storage, less those cancelled"
    ),
    _counter("wait_rchar", Unit.BYTES, "bytes passed to read calls, page cache and pipes included"),
    _counter("wait_wchar", Unit.BYTES, "bytes passed to write calls, page cache and pipes included"),
    _counter("wait_majflt", Unit.COUNT, "page faults of reaped processes that needed storage"),
    _counter("wait_minflt", Unit.COUNT, "page faults of reaped processes served from memory"),
)

_IO_KEYS = ("wait_rchar", "wait_wchar", "wait_read_bytes", "wait_write_bytes")


def missing(paths: "Paths") -> str | None:
    """Say why the kernel's accounting cannot be used here."""
    return (
        None if procfs.read_file(f"{paths.proc}/self/stat") else f"no {paths.proc}: not Linux, or not mounted"
    )


class WaitSource:
    """The job's accounts, read at every sample and once more when everything is reaped."""

    __slots__ = ("_job", "_keys")

    def __init__(self, job: "Job", keys: frozenset[str]) -> None:
        self._job = job
        self._keys = keys

    def read(self) -> "Iterator[Reading]":
        """Yield every account that can be read now."""
        if "wait_cputime" in self._keys:
            yield "wait_cputime", "", self._job.cpu_ns / 1e9
        if "wait_task_clock" in self._keys and self._job.task_clock_fd is not None:
            yield "wait_task_clock", "", libc.read_counter(self._job.task_clock_fd) / 1e9
        yield from self._reaped()
        yield from self._io()

    def _reaped(self) -> "Iterator[Reading]":
        if not self._job.ours:
            return
        usage = self._job.reaped()
        # a process inherits the size of the one that forked it: below that floor the value says nothing
        if usage.maxrss_bytes > self._job.recorder_rss_bytes:
            yield from self._chosen("wait_maxrss", usage.maxrss_bytes)
        elif not self._job.processes:
            yield from self._chosen("wait_maxrss_floor", self._job.recorder_rss_bytes)
        yield from self._chosen("wait_majflt", usage.majflt)
        yield from self._chosen("wait_minflt", usage.minflt)

    def _chosen(self, key: str, value: int) -> "Iterator[Reading]":
        if key in self._keys:
            yield key, "", value

    def _io(self) -> "Iterator[Reading]":
        totals = self._job.io()
        if totals is None:
            return
        for key, total in zip(_IO_KEYS, totals, strict=True):
            if key in self._keys:
                yield key, "", total

    def close(self) -> None:
        """Nothing is held open here."""


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Bind the accounts to a job."""
    return WaitSource(job, keys)
