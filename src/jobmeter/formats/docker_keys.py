"""The keys of docker's statistics, and what is known of one container."""

from dataclasses import dataclass, field

from jobmeter.formats import monitorlog
from jobmeter.formats.monitorlog import counter, gauge
from jobmeter.model.measurement import Scope, Stat, Unit
from jobmeter.model.run import Limits, Value
from jobmeter.model.view import Window

ORIGIN = "docker_stats"
_MEAN_PEAK = (Stat.MEAN, Stat.PEAK)
DEFINITIONS = monitorlog.table(
    (
        counter("docker_cputime", Unit.SECONDS, "CPU time of the container", Scope.JOB),
        gauge("docker_pcpu", Unit.PERCENT, "CPU use docker computed, 100 is one core", Scope.JOB, _MEAN_PEAK),
        gauge("docker_mem_usage", Unit.BYTES, "memory charged, page cache included", Scope.JOB),
        gauge(
            "docker_mem_max_usage", Unit.BYTES, "the kernel's high-water mark of it", Scope.JOB, (Stat.LAST,)
        ),
        gauge("docker_mem_inactive_file", Unit.BYTES, "page cache that can be dropped", Scope.JOB),
        gauge(
            "docker_mem_used",
            Unit.BYTES,
            "memory as docker stats shows it, without inactive cache",
            Scope.JOB,
        ),
        gauge(
            "docker_mem_unitless", Unit.NONE, "memory as printed, in a unit the file does not name", Scope.JOB
        ),
        gauge("docker_pmem", Unit.PERCENT, "memory as a share of its limit", Scope.JOB, _MEAN_PEAK),
        gauge("docker_pids", Unit.COUNT, "processes and threads", Scope.JOB, (Stat.PEAK,)),
        counter("docker_net_rx", Unit.BYTES, "bytes received", Scope.JOB),
        counter("docker_net_tx", Unit.BYTES, "bytes sent", Scope.JOB),
        counter("docker_blk_read", Unit.BYTES, "bytes read from block devices", Scope.JOB),
        counter("docker_blk_write", Unit.BYTES, "bytes written to block devices", Scope.JOB),
        counter("docker_throttled", Unit.SECONDS, "CPU time withheld by the quota", Scope.JOB),
    )
)


@dataclass(slots=True, kw_only=True)
class Container:
    """What a file says of one container."""

    id: str = ""
    name: str | None = None
    windows: list[Window | None] = field(default_factory=list)
    limits: Limits = monitorlog.NO_LIMITS
    totals: dict[str, Value] = field(default_factory=dict)
    """Of counters that begin with the container: what they said last is the whole."""
    missing: dict[str, str] = field(default_factory=dict)
    inexact: dict[str, str] = field(default_factory=dict)
