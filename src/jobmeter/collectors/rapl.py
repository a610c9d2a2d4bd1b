"""Energy of the machine's processors and their memory, and an estimate of the job's part of it.

The counters belong to everyone on the machine: `rapl_energy_share` divides them by CPU time, which says nothing of
who used wide vector units, memory or a high clock, and charges idle power to whoever runs. Virtual machines have no
such counters, and only root may read them since Linux 5.10.
"""

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import kernelfile, kernelstat, procfs, raplfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmeter.collectors import Job, Reading, Source, Told
    from jobmeter.probes.paths import Paths


def _counter(key: str, scope: Scope, about: str) -> Measurement:
    return Measurement(key, Kind.COUNTER, Unit.JOULES, scope, (Reduce.DELTA,), (Stat.TOTAL,), about)


MEASUREMENTS = (
    _counter("rapl_package", Scope.DEVICE, "energy of a processor package, whoever used it"),
    _counter("rapl_dram", Scope.DEVICE, "energy of a package's memory, whoever used it"),
    _counter("rapl_energy_share", Scope.JOB, "the job's part of both, estimated by its share of CPU time"),
)

_STAT_BYTES = 512


def missing(paths: "Paths") -> str | None:
    """Say why energy cannot be read here."""
    folders = raplfs.folders(paths.sys)
    if not folders:
        return "no energy counters (RAPL): a virtual machine, or not built into the kernel"
    if not any(raplfs.read_number(f"{folder}/energy_uj") is not None for folder in folders):
        return f"only root may read {folders[0]}/energy_uj (since Linux 5.10)"
    return None


class RaplSource:
    """The counters of this machine, each added up without its wraps."""

    __slots__ = ("_busy", "_fd", "_job", "_keys", "_share", "_used_ns", "_zones")

    def __init__(self, job: "Job", keys: frozenset[str]) -> None:
        self._job = job
        self._keys = keys
        self._zones = raplfs.zones(job.paths.sys)
        self._fd = kernelfile.open_file(f"{job.paths.proc}/stat")
        self._busy = self._busy_ns()
        self._used_ns = job.cpu_ns
        self._share = 0.0

    def read(self) -> "list[Reading]":
        """Read all counters once."""
        before = sum(zone.joules for zone in self._zones)
        read = [zone for zone in self._zones if zone.read()]
        moved = sum(zone.joules for zone in self._zones) - before
        return [reading for reading in self._readings(read, moved) if reading[0] in self._keys]

    def _readings(self, read: list[raplfs.Zone], moved: float) -> "Iterator[Reading]":
        for zone in read:
            yield f"rapl_{zone.kind}", zone.name, round(zone.joules, 6)
        if read and self._divide(moved):
            yield "rapl_energy_share", "", round(self._share, 6)

    def _divide(self, joules: float) -> bool:
        """Add the job's part of what was used since the last read."""
        busy_ns, used_ns = self._busy_ns(), self._job.cpu_ns
        if busy_ns is None or self._busy is None:
            return False
        span_ns, own_ns = busy_ns - self._busy, used_ns - self._used_ns
        self._busy, self._used_ns = busy_ns, used_ns
        # the machine's count has ticks of 10 ms, the job's has not: a share is at most all
        if span_ns > 0:
            self._share += joules * min(1.0, own_ns / span_ns)
        elif own_ns > 0:
            self._share += joules
        return True

    def _busy_ns(self) -> int | None:
        if self._fd is None:
            return None
        ticks = kernelstat.parse_cpu(kernelfile.read_head(self._fd, _STAT_BYTES))
        return None if ticks is None else ticks.busy * procfs.TICK_NS

    def tell(self) -> "list[Told]":
        """Nothing happens to a counter."""
        return []

    def standing(self) -> dict[str, object]:
        """Name the counters."""
        return {"counters": [zone.name for zone in self._zones]}

    def doubts(self) -> dict[str, str]:
        """Say what is an estimate."""
        return (
            {"rapl_energy_share": "an estimate: the processors' energy divided by CPU time"}
            if self._zones
            else {}
        )

    def close(self) -> None:
        """Close the machine's statistics."""
        if self._fd is not None:
            kernelfile.close_file(self._fd)
            self._fd = None


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Find the counters."""
    return RaplSource(job, keys)
