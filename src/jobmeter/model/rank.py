"""One rank of a job as its recorder knows it: its last steps, how far it came, when and how it ended.

Times are by the clock of the rank's own host. What can mislead: hosts disagree about the time, so moments of two
ranks on two hosts are compared by the steps both took, never as they stand.
"""

from dataclasses import dataclass

from jobmeter.model.run import Run
from jobmeter.model.steps import StepTable


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFacts:
    """What is known of one rank; None is what nobody told."""

    rank: int
    run: Run
    """The recorder that saw it, which may have seen others too."""
    source: str = ""
    """Who told its steps; empty where nobody did."""
    tables: tuple[StepTable, ...] = ()
    """Its last steps, not all, in the order of its lives."""
    count: int = 0
    last_step: int | None = None
    last_at: float | None = None
    """When it told that one."""
    advanced: int = 0
    """How many steps it went forward, over all of its life."""
    advancing_seconds: float = 0.0
    """How long that took."""
    ended_at: float | None = None
    """When it ended, or was seen last; None while it lives."""
    cpu_seconds: float | None = None
    memory_peak_bytes: float | None = None

    @property
    def has_recorder(self) -> bool:
        """Tell whether it has a recorder to itself, so that the recorder's end is its own."""
        return len(self.run.ranks) <= 1

    @property
    def mean_step_seconds(self) -> float | None:
        """Give the mean time of a step over all of its life."""
        return (
            self.advancing_seconds / self.advanced if self.advanced and self.advancing_seconds > 0 else None
        )
