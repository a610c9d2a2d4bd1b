"""What one call of `ps` says about the job's processes: everything con-duct recorded, on Linux and macOS.

Linux `ps` cuts CPU time and age to whole seconds, so a process shorter than a second used "nothing", and the
rate over a sampling interval of 1 s jumps between 0, 100 and 200. `proc` has no such limits and costs a
hundredth. RSS counts a page shared by eight processes eight times. The lifetime `pcpu` is never recorded.
"""

import os
import time

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import command, pstext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jobmeter.collectors import Job, Reading, Source
    from jobmeter.probes.paths import Paths


def _gauge(key: str, unit: Unit, about: str) -> Measurement:
    reduces = (Reduce.MAX, Reduce.LAST)
    return Measurement(key, Kind.GAUGE, unit, Scope.PROCESS, reduces, (), about)


def _total(key: str, unit: Unit, about: str) -> Measurement:
    return Measurement(key, Kind.GAUGE, unit, Scope.JOB, (Reduce.MAX,), (Stat.PEAK, Stat.MEAN), about)


MEASUREMENTS = (
    _gauge("ps_rss", Unit.BYTES, "resident memory of a process, shared pages included"),
    _gauge("ps_vsz", Unit.BYTES, "address space of a process, used or not"),
    _gauge("ps_pmem", Unit.PERCENT, "resident memory of a process as a share of the machine's"),
    _gauge("ps_pdcpu", Unit.PERCENT, "CPU of a process over the sampling interval, 100 = one core"),
    Measurement(
        "ps_etime",
        Kind.GAUGE,
        Unit.SECONDS,
        Scope.PROCESS,
        (Reduce.MAX,),
        (),
        "time since a process was started",
    ),
    Measurement(
        "ps_cputime",
        Kind.COUNTER,
        Unit.SECONDS,
        Scope.PROCESS,
        (Reduce.DELTA,),
        (Stat.TOTAL,),
        "CPU time of a process",
    ),
    Measurement(
        "ps_stat",
        Kind.CATEGORICAL,
        Unit.NONE,
        Scope.PROCESS,
        (Reduce.TALLY,),
        (),
        "state of a process, in ps letters",
    ),
    Measurement(
        "ps_cmd", Kind.LABEL, Unit.NONE, Scope.PROCESS, (Reduce.LAST,), (), "command line of a process"
    ),
    _total("ps_rss_total", Unit.BYTES, "resident memory summed over processes, shared pages once for each"),
    _total("ps_vsz_total", Unit.BYTES, "address space summed over processes"),
    _total("ps_pmem_total", Unit.PERCENT, "share of the machine's memory summed over processes"),
    _total("ps_pdcpu_total", Unit.PERCENT, "CPU of the job over the sampling interval, 100 = one core"),
)

_PIDS_PER_LIST = 2000
"""One argument may hold 128 KiB; several lists still make one call."""

_NEWBORN_SLACK_SECONDS = 1.0
"""The age is cut to whole seconds."""


def missing(paths: "Paths") -> str | None:
    """Say why `ps` cannot be asked here."""
    del paths  # ps finds the kernel's files itself
    path = command.find("ps")
    if path is None:
        return "no ps on PATH (slim images leave it out: install procps)"
    program = os.path.basename(os.path.realpath(path))
    # not asked here: a call before the job would be counted with the job's children
    return (
        f"{path} is {program}, which has no -p: install procps" if program in ("busybox", "toybox") else None
    )


class PsSource:
    """Asks `ps` once per sample about the processes the job has then."""

    __slots__ = ("_before", "_clock", "_commands", "_job", "_keys", "_read_at", "_tool")

    def __init__(
        self, job: "Job", keys: frozenset[str], path: str, *, clock: "Callable[[], float]" = time.monotonic
    ) -> None:
        self._job = job
        self._keys = keys
        self._tool = command.Tool(path)
        job.lend(self._tool)
        self._clock = clock
        self._before: dict[str, tuple[float, float]] = {}
        self._commands: dict[str, str] = {}
        self._read_at = clock()

    def read(self) -> "Iterable[Reading]":
        """Ask about every live process of the job; one that ended meanwhile has no row."""
        instances = {pid: process.instance for pid, process in self._job.processes.items()}
        if not instances:
            return []
        rows = pstext.parse(self._tool.ask(*_arguments(list(instances))))
        rows = [row for row in rows if row.pid in instances]
        now = self._clock()
        rates = self._rates(rows, instances, now)
        commands = self._redacted(rows)
        found = [
            reading
            for row in rows
            for reading in _readings(row, instances[row.pid], rates.get(row.pid), commands.get(row.command))
            if reading[0] in self._keys
        ]
        found += [(key, "", value) for key, value in _totals(rows, rates) if key in self._keys]
        return found

    def _redacted(self, rows: list[pstext.PsRow]) -> dict[str, str]:
        if "ps_cmd" not in self._keys:
            return {}
        # a zombie has lost its command line: what it was called while it lived stays
        lines = {row.command for row in rows if row.command and not row.is_zombie}
        self._commands = {line: self._commands.get(line) or self._job.redact(line) for line in lines}
        return self._commands

    def _rates(self, rows: list[pstext.PsRow], instances: dict[int, str], now: float) -> dict[int, float]:
        rates: dict[int, float] = {}
        used: dict[str, tuple[float, float]] = {}
        for row in rows:
            if row.cputime_seconds is None:
                continue
            instance = instances[row.pid]
            used[instance] = (row.cputime_seconds, now)
            rate = self._rate(row, row.cputime_seconds, self._before.get(instance), now)
            if rate is not None:
                rates[row.pid] = rate
        self._before, self._read_at = used, now
        return rates

    def _rate(
        self, row: pstext.PsRow, cputime: float, before: tuple[float, float] | None, now: float
    ) -> float | None:
        if before is not None:
            cputime_before, at = before
            return 100 * max(0.0, cputime - cputime_before) / (now - at) if now > at else None
        # cputime / age of an old process is its lifetime rate, which says nothing about this interval
        age = row.etime_seconds
        if not age or age > now - self._read_at + _NEWBORN_SLACK_SECONDS:
            return None
        return 100 * cputime / age

    def close(self) -> None:
        """Reap what is left of our own calls."""
        self._tool.close()


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Bind `ps` to a job."""
    return PsSource(job, keys, command.find("ps") or "ps")


def _arguments(pids: list[int]) -> list[str]:
    arguments = ["-ww"]
    for column in pstext.COLUMNS:
        arguments += ["-o", f"{column}="]
    for begin in range(0, len(pids), _PIDS_PER_LIST):
        arguments += ["-p", ",".join(map(str, pids[begin : begin + _PIDS_PER_LIST]))]
    return arguments


def _readings(row: pstext.PsRow, instance: str, rate: float | None, line: str | None) -> "Iterator[Reading]":
    values = (
        ("ps_rss", row.rss_bytes),
        ("ps_vsz", row.vsz_bytes),
        ("ps_pmem", row.pmem_percent),
        ("ps_etime", row.etime_seconds),
        ("ps_cputime", row.cputime_seconds),
        ("ps_pdcpu", rate),
        ("ps_stat", row.stat),
        ("ps_cmd", line),
    )
    for key, value in values:
        if value is not None:
            yield key, instance, value


def _totals(rows: list[pstext.PsRow], rates: dict[int, float]) -> "Iterator[tuple[str, float]]":
    columns: tuple[tuple[str, list[int] | list[float]], ...] = (
        ("ps_rss_total", [row.rss_bytes for row in rows if row.rss_bytes is not None]),
        ("ps_vsz_total", [row.vsz_bytes for row in rows if row.vsz_bytes is not None]),
        ("ps_pmem_total", [row.pmem_percent for row in rows if row.pmem_percent is not None]),
        ("ps_pdcpu_total", list(rates.values())),
    )
    for key, values in columns:
        if values:
            yield key, sum(values)
