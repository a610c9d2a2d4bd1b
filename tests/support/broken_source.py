"""A collector that breaks on request: what the recorder must survive."""

import os
from collections.abc import Iterator
from typing import ClassVar

from jobmeter.collectors import TYPE_CHECKING
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Unit

if TYPE_CHECKING:
    from jobmeter.collectors import Job, Reading

MEASUREMENTS = (
    Measurement("step_level", Kind.GAUGE, Unit.COUNT, Scope.JOB, (Reduce.MAX,), (), "a level that may break"),
)


class BrokenSource:
    """Reads what the test says, or raises it."""

    script: ClassVar[list[object]] = []
    closed = 0

    def read(self) -> "Iterator[Reading]":
        """Give the next value of the script."""
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        yield "step_level", "", int(str(said))

    def close(self) -> None:
        """Count how often it was given back."""
        type(self).closed += 1


class MuteSource(BrokenSource):
    """Reads well, and breaks whenever it is asked for anything else."""

    def tell(self) -> list[object]:
        """Have nothing to say."""
        raise OSError(5, "no words")

    def close(self) -> None:
        """Hold on to what it has."""
        raise OSError(9, "not given back")


def missing(_paths: object) -> str | None:
    """It can be read everywhere."""
    return None


def attach(job: "Job", keys: frozenset[str]) -> BrokenSource:
    """Bind it to a job, unless the test says it cannot be."""
    if os.environ.get("BROKEN_SOURCE_ATTACH"):
        raise OSError(5, "cannot be attached")
    return MuteSource() if os.environ.get("BROKEN_SOURCE_MUTE") else BrokenSource()
