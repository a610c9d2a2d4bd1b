"""Homes with runs of now, an open index of them, and an outlet that keeps what it is handed."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from jobmeter import collectors
from jobmeter.delivery.pump import Outcome
from jobmeter.delivery.samples import Slice
from jobmeter.model.measurement import Kind, Measurement, Scope
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


GPUS = ("GPU-11111111-aaaa", "GPU-22222222-bbbb")


def definitions() -> list[Measurement]:
    """List every measurement of every collector that belongs to a job, a device or the host."""
    known = [one for path in collectors.ALL.values() for one in import_module(path).MEASUREMENTS]
    return [one for one in known if one.scope is not Scope.PROCESS]


def everything(seconds: int, started: float) -> Iterator[folders.Record]:
    """Yield lines of `usage.jsonl` with a value of every measurement, on two GPUs."""
    known = definitions()
    tools = sorted({one.tool for one in known})
    for second in range(1, seconds + 1):
        span = [folders.CLOCK + second - 1, folders.CLOCK + second]
        values: dict[str, object] = {}
        for number, one in enumerate(known):
            value = _value(one, number, second)
            if value is not None:
                is_device = one.scope is Scope.DEVICE
                values[one.key] = {GPUS[0]: value, GPUS[1]: _other(one, value)} if is_device else value
        yield {
            "timestamp": folders.iso(started + second),
            "num_samples": 1,
            "clock": dict.fromkeys(tools, span),
            "measurements": values,
        }


def _value(one: Measurement, number: int, second: int) -> object:
    match one.kind:
        case Kind.GAUGE:
            return number * 1000 + second + 0.5
        case Kind.COUNTER:
            return round(number + second / 8, 3)
        case Kind.CATEGORICAL:
            return {"none": 9, "power": second}
        case Kind.LABEL:
            # said once, when a device is first seen
            return (0 if one.key.endswith("_index") else f"name of {one.key}") if second == 1 else None


def _other(one: Measurement, value: object) -> object:
    return 1 if one.key.endswith("_index") else value


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
