"""What is handed to an outlet: the new samples of runs, and how far each run has been handed over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jobmeter.exporters.metric_names import Family, Labels
from jobmeter.model.run import Run
from jobmeter.model.steps import Step
from jobmeter.model.view import Event

MILLISECONDS = 1000
TOO_OLD, TOO_MANY, REFUSED = "too_old", "too_many_series", "refused"
"""Why samples are given up: they waited for longer than receivers take them, their run has more series than are sent of
one, or a receiver would not have them."""


@dataclass(frozen=True, slots=True)
class Points:
    """New points of one series, rising in time."""

    family: Family
    labels: Labels
    times_ms: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How far a run has been handed over, in milliseconds of its own clock."""

    usage_ms: int = 0
    """Of the last window."""
    steps_ms: Mapping[int, int] = field(default_factory=dict)
    """By rank: of the last step."""
    final: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What is told of a run once it ended."""

    events: Sequence[Event] = ()
    steps: Sequence[Step] = ()
    steps_left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What one run brings between two marks."""

    run: Run
    until: Mark
    points: Sequence[Points]
    too_old: int = 0
    """Points that were left out, because receivers refuse what is older than an hour."""
    too_many: int = 0
    """Points of series beyond those that are sent of one run."""
    more: bool = False
    """The run has more to bring than fitted."""
    over: Sequence[tuple[Family, Labels]] = ()
    """Series that are over: they have no value from the moment of `until` on."""
    story: Story | None = None

    @property
    def size(self) -> int:
        """Count the points."""
        return sum(len(one.times_ms) for one in self.points) + len(self.over)


@dataclass(slots=True)
class Counts:
    """What became of samples so far, for those who watch the watcher."""

    sent: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    """By reason."""
    requests: int = 0
    retries: int = 0
    delivered_at: float | None = None
    trouble: str | None = None

    def drop(self, reason: str, points: int) -> None:
        """Note samples that will not be sent again."""
        if points:
            self.dropped[reason] = self.dropped.get(reason, 0) + points
