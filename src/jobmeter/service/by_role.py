"""Who used it by what it does in a training: the loop, its workers, and what runs beside them."""

from collections.abc import Iterable

from jobmeter.analysis import shares as analysis
from jobmeter.analysis.shares import Share
from jobmeter.model.view import Process

__all__ = ["Share", "shapes", "shares"]


def shares(processes: Iterable[Process]) -> dict[str, Share]:
    """Take the processes of each role together; nothing for a job without workers."""
    return analysis.by_role(processes)


def shapes(processes: Iterable[Process]) -> dict[str, dict[str, object]]:
    """Lay the roles out as `show --json` does; only what was measured is present."""
    found: dict[str, dict[str, object]] = {}
    for role, share in shares(processes).items():
        known = {
            "processes": share.processes,
            "cpu_seconds": share.cpu_seconds,
            "memory_peak_bytes": share.memory_peak_bytes,
        }
        found[role] = {key: value for key, value in known.items() if value is not None}
    return found
