"""What some of a run's processes used together, as far as sampling saw it.

Memory is the most that processes seen at the same time held: resident sizes, so that pages which forks share
count once per process. A process that slept through its last samples is not counted beside later ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from jobmeter.model import roles
from jobmeter.model.view import Process


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Some processes taken together; None where none of them was measured."""

    processes: int
    cpu_seconds: float | None = None
    memory_peak_bytes: int | None = None


def share(processes: Sequence[Process]) -> Share:
    """Add up what processes used."""
    cpu = [one.cpu_seconds for one in processes if one.cpu_seconds is not None]
    return Share(
        processes=len(processes),
        cpu_seconds=round(sum(cpu), 6) if cpu else None,
        memory_peak_bytes=_peak_bytes(processes),
    )


def _peak_bytes(processes: Iterable[Process]) -> int | None:
    """Sweep over time: each process holds its peak from its first to its last sample."""
    changes: list[tuple[float, int, int]] = []
    for one in processes:
        if one.peak_rss_bytes is None or one.first_seen is None or one.last_seen is None:
            continue
        # at one moment, those that come are counted before those that go
        changes += [(one.first_seen, 0, one.peak_rss_bytes), (one.last_seen, 1, -one.peak_rss_bytes)]
    held, most = 0, None
    for _, _, size_bytes in sorted(changes):
        held += size_bytes
        most = max(most or 0, held)
    return most


def most_at_once(processes: Iterable[Process]) -> int:
    """Count the processes that lived together at most: an epoch's workers are not there beside the next one's."""
    found = list(processes)
    changes: list[tuple[float, int]] = []
    for one in found:
        if one.first_seen is None or one.last_seen is None or one.first_seen >= one.last_seen:
            continue
        # at one moment, those that go are counted before those that come: the next epoch begins where one ends
        changes += [(one.first_seen, 1), (one.last_seen, -1)]
    together = max(accumulate(change for _, change in sorted(changes)), default=0)
    return max(together, 1 if found else 0)


def by_role(processes: Iterable[Process]) -> dict[str, Share]:
    """Take the processes of each role together; nothing for a job without workers: it has one part only."""
    cast: dict[str, list[Process]] = {roles.MAIN: [], roles.WORKER: [], roles.OTHER: []}
    for one in processes:
        if one.role in cast:
            cast[one.role].append(one)
    if not cast[roles.WORKER]:
        return {}
    return {role: share(played) for role, played in cast.items() if played}
