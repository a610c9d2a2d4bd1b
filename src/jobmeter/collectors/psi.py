"""Pressure: how long tasks of the whole machine waited for CPU, memory or storage.

These are the host's files: a noisy neighbour stalls them as much as the job does. The job's own pressure is
in its cgroup, where it has one.
"""

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import kernelfile, pressure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmeter.collectors import Job, Reading, Source
    from jobmeter.probes.paths import Paths


def _stall(key: str, about: str) -> Measurement:
    return Measurement(key, Kind.COUNTER, Unit.SECONDS, Scope.HOST, (Reduce.DELTA,), (Stat.TOTAL,), about)


MEASUREMENTS = (
    _stall("psi_cpu_some", "time at least one task of the machine waited for a CPU"),
    _stall("psi_mem_some", "time at least one task of the machine waited for memory"),
    _stall("psi_mem_full", "time no task of the machine got on because all waited for memory"),
    _stall("psi_io_some", "time at least one task of the machine waited for storage"),
    _stall("psi_io_full", "time no task of the machine got on because all waited for storage"),
)

_KEYS: dict[str, dict[str, str]] = {
    "cpu": {"some": "psi_cpu_some"},
    "memory": {"some": "psi_mem_some", "full": "psi_mem_full"},
    "io": {"some": "psi_io_some", "full": "psi_io_full"},
}


def missing(paths: "Paths") -> str | None:
    """Say why pressure cannot be read here."""
    fd = kernelfile.open_file(_path(paths, "cpu"))
    if fd is None:
        return f"no {paths.proc}/pressure: kernel before 4.20, built without PSI, or not Linux"
    try:
        kernelfile.read_file(fd)
    except OSError:
        return "the kernel keeps no pressure: it was booted with psi=0"
    finally:
        kernelfile.close_file(fd)
    return None


class PsiSource:
    """The pressure files of the selected keys, kept open."""

    __slots__ = ("_files",)

    def __init__(self, paths: "Paths", keys: frozenset[str]) -> None:
        self._files: list[tuple[int, dict[str, str]]] = []
        for resource, by_line in _KEYS.items():
            wanted = {line: key for line, key in by_line.items() if key in keys}
            fd = kernelfile.open_file(_path(paths, resource)) if wanted else None
            if fd is not None:
                self._files.append((fd, wanted))

    def read(self) -> "Iterable[Reading]":
        """Read stalled seconds since boot."""
        readings: list[Reading] = []
        for fd, wanted in self._files:
            totals = pressure.parse_totals(kernelfile.read_file(fd))
            readings += [(key, "", totals[line]) for line, key in wanted.items() if line in totals]
        return readings

    def close(self) -> None:
        """Close the files."""
        while self._files:
            kernelfile.close_file(self._files.pop()[0])


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Open the pressure files of the selected keys."""
    return PsiSource(job.paths, keys)


def open_trigger(paths: "Paths", resource: str, stall_us: int, window_us: int) -> int | None:
    """Return a descriptor that polls POLLPRI when `cpu`, `memory` or `io` stalls that long; None if refused.

    Without CAP_SYS_RESOURCE the window must be a multiple of 2 s. At most one event comes per window.
    """
    return pressure.open_trigger(_path(paths, resource), stall_us, window_us)


def _path(paths: "Paths", resource: str) -> str:
    return f"{paths.proc}/pressure/{resource}"
