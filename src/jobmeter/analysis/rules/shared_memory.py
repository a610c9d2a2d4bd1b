"""Shared memory that is too small for a DataLoader: workers hand over batches in /dev/shm, 64 MiB in a container."""

from collections.abc import Iterable

from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import facts
from jobmeter.model.report import LogError, Recommendation, Severity


def advise(case: Case) -> Iterable[Recommendation]:
    """Give the container more of it, or do without workers."""
    for error in case.view.log_errors:
        if error.survived or not _is_shared_memory(error):
            continue
        yield Recommendation(
            rule="shared_memory",
            severity=Severity.CRITICAL,
            title="Give the container more shared memory",
            action="Start it with --shm-size=8g (Kubernetes: an emptyDir with medium: Memory at /dev/shm), "
            "or set num_workers: 0",
            impact="Workers can hand their batches over; it counts towards the job's memory",
            config_path="--shm-size",
            recommended_value="8g",
            evidence=(facts.quoted(error, "a worker could not write a batch"),),
        )
        return


def _is_shared_memory(error: LogError) -> bool:
    if error.signature != "worker_killed":
        return False
    return bool(error.fields.get("shared_memory")) or error.fields.get("signal") in ("SIGBUS", "Bus error", 7)
