"""Long lines as charts need them: stretches of consecutive points, of which nothing that stands out is lost."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobmeter.model.steps import Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretches:
    """One key of one instance, one place in every column a stretch; of a counter that was asked for as one, its rate.

    NaN counts in `counts` and as `last`, and nowhere else: a stretch of nothing else has NaN for the rest.
    """

    key: str
    instance: str
    begins: Sequence[float]
    """When the first point of each was taken: wall clock seconds since the epoch, rising."""
    ends: Sequence[float]
    """When its last point was taken."""
    counts: Sequence[int]
    lows: Sequence[float]
    highs: Sequence[float]
    means: Sequence[float]
    """Of a counter's rate over its seconds; of anything else over its points."""
    lasts: Sequence[float]
    is_rate: bool = False
    """Values are a second's share of a counter."""

    @property
    def is_coarse(self) -> bool:
        """Tell whether any stretch is more than one point."""
        return any(count > 1 for count in self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStretches:
    """One metric of one table of steps; least and largest are of finite values, NaN where there is none."""

    writer: str
    source: str
    rank: int
    metric: str
    is_rising: bool
    """No step goes back behind, or repeats, an earlier one."""
    first_steps: Sequence[int]
    last_steps: Sequence[int]
    counts: Sequence[int]
    finites: Sequence[int]
    """How many of them are finite."""
    lows: Sequence[Number]
    highs: Sequence[Number]
    lasts: Sequence[Number]
    """As it was logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepClock:
    """When the steps of one table were taken, at some of them; rows without a time are passed over."""

    writer: str
    source: str
    rank: int
    steps: Sequence[int]
    times: Sequence[float]
    """Wall clock seconds since the epoch, as they were written."""
