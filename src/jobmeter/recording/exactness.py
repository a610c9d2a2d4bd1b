"""Say which totals are only bounds, and why. A number nobody has reason to doubt carries no flag."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmeter.recording.job import Job
    from jobmeter.recording.watch import Watch

# the perf clock runs while the hypervisor has taken the core away: it may be high by what was stolen
_CLOCK_TOLERANCE, _CLOCK_FLOOR_SECONDS = 0.15, 0.1
_AGREEMENT, _AGREEMENT_SECONDS = 0.03, 0.03
_LEFT_CGROUP, _LEFT_CGROUP_SECONDS = 0.01, 0.05
_LOST, _LOST_SECONDS = 0.05, 0.05


def judge(
    summary: "Mapping[str, int | float | str]", job: "Job", watch: "Watch | None", *, subreaper: bool
) -> dict[str, str]:
    """Compare the rungs of the ladder with one another."""
    inexact: dict[str, str] = {}
    waited = _number(summary, "wait_cputime")
    own = _number(summary, "cgroup_cputime")
    clock = _number(summary, "wait_task_clock")
    if waited is not None:
        reason = _waited_is_low(waited, clock, watch)
        if not job.ours:
            reason = "attached to a running job: what others reaped is not counted"
        elif not subreaper:
            reason = "daemonised processes could not be followed"
        if reason and own is None:
            inexact["wait_cputime"] = reason
    if own is not None and waited is not None and waited > own * (1 + _LEFT_CGROUP) + _LEFT_CGROUP_SECONDS:
        inexact["cgroup_cputime"] = "processes left the job's cgroup"
    reason = _io_is_low(job, waited, own, inexact)
    if reason:
        inexact.update({key: reason for key in ("wait_read_bytes", "wait_write_bytes") if key in summary})
    return inexact


def _io_is_low(job: "Job", waited: float | None, own: float | None, inexact: "Mapping[str, str]") -> str:
    if any(process.io is None for process in job.processes.values()):
        return "processes that still run belong to another user: their input and output may not be read"
    if own is not None and waited is not None and own > waited * (1 + _LOST) + _LOST_SECONDS:
        return "a process ignored SIGCHLD: what its children read and wrote is lost"
    return inexact.get("wait_cputime", "")


def _waited_is_low(waited: float, clock: float | None, watch: "Watch | None") -> str:
    ignorers = ", ".join(sorted(watch.ignorers)) if watch is not None else ""
    if clock is None:
        return f"{ignorers} ignores SIGCHLD: CPU time of its children is lost" if ignorers else ""
    if clock <= waited * (1 + _AGREEMENT) + _AGREEMENT_SECONDS:
        return ""
    if ignorers:
        return f"{ignorers} ignores SIGCHLD: CPU time of its children is known from perf alone"
    if clock > waited * (1 + _CLOCK_TOLERANCE) + _CLOCK_FLOOR_SECONDS:
        return "perf saw more CPU time than was waited for: some children were reaped by nobody"
    return ""


def _number(summary: "Mapping[str, int | float | str]", key: str) -> float | None:
    value = summary.get(key)
    return value if isinstance(value, int | float) else None
