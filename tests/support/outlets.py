"""Homes with runs of now, an open index of them, and an outlet that keeps what it is handed."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from jobmeter.delivery.pump import Outcome
from jobmeter.delivery.samples import Slice
from jobmeter.service import index
from jobmeter.stores import Store
from support import folders

Points = dict[tuple[str, str], list[tuple[int, float]]]


def run_id_at(started: float, suffix: str = "7f3a9c") -> str:
    """Name a run that began then."""
    return f"{datetime.fromtimestamp(started, UTC):%Y%m%dT%H%M%SZ}-{suffix}"


def this_recorder() -> folders.Record:
    """Say in a start record that this very process records: the run lives as long as the test."""
    ticks = int(Path("/proc/self/stat").read_text().rsplit(") ", 1)[1].split()[19])
    return {
        "host": os.uname().nodename,
        "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "recorder": {"version": "0.1.0", "pid": os.getpid(), "start_ticks": ticks},
    }


@contextmanager
def indexed(home: Path) -> Iterator[tuple[index.Index, Callable[[], AbstractContextManager[Store]]]]:
    """Open the index of a home; lend its store."""
    with index.open_index(home, path=home.parent / "index.db") as opened:
        opened.refresh()

        @contextmanager
        def reading() -> Iterator[Store]:
            opened.refresh()
            yield opened.ask(lambda store: store)

        yield opened, reading


@dataclass(slots=True)
class Keeping:
    """Keeps what it takes; can be told to fail a number of times first."""

    wants_story: bool = False
    failures: list[Outcome] = field(default_factory=list)
    batches: list[list[Slice]] = field(default_factory=list)
    again: list[bool] = field(default_factory=list)

    def send(self, batch: Sequence[Slice], *, again: bool) -> Outcome:
        """Take a batch or fail as told."""
        if self.failures:
            return self.failures.pop(0)
        self.batches.append(list(batch))
        self.again.append(again)
        return Outcome(taken=True)

    def close(self) -> None:
        """Hold nothing."""

    def points(self) -> Points:
        """Put together what came, by name and by the labels that are no run's, in the order it came."""
        found: Points = {}
        for batch in self.batches:
            for part in batch:
                for one in part.points:
                    rest = ",".join(f"{k}={v}" for k, v in one.labels if k not in _OF_RUNS)
                    series = found.setdefault((one.family.sample_name, rest), [])
                    series += zip(one.times_ms, one.values, strict=True)
        return found


_OF_RUNS = ("host", "job_id", "project", "run_id")
