"""Lines of charts as the API answers them: lists side by side, a place in all of them a stretch of samples or steps."""

from typing import TypedDict

from jobmeter.model.answers import Figure


class Line(TypedDict):
    """One measurement of one instance: one place in every list a stretch of consecutive samples."""

    key: str
    instance: str
    """Which process or device; empty for the whole job or host."""
    kind: str | None
    unit: str | None
    rate: bool
    """Values are a counter's share of each second."""
    t: list[float]
    """When the last sample of the stretch was taken: seconds since the epoch."""
    begin: list[float]
    """When its first sample was taken."""
    n: list[int]
    """How many samples it is."""
    min: list[float | None]
    max: list[float | None]
    mean: list[float | None]
    last: list[float | None]


class Lines(TypedDict):
    """Series of a run, as coarse as was asked for."""

    run_id: str
    series: list[Line]
    coarse: bool
    """Some place is more than one sample; its least and largest are exact."""


class Curve(TypedDict):
    """One metric over the steps of one rank: one place in every list a stretch of consecutive steps."""

    metric: str
    rank: int
    source: str
    writer: str
    """The file or stream it was read from."""
    rising: bool
    """No step goes back behind an earlier one; false where a loop was resumed, and both lives are in it."""
    step: list[int]
    """The last step of the stretch."""
    first_step: list[int]
    n: list[int]
    finite: list[int]
    """How many of its values are finite."""
    min: list[float | None]
    max: list[float | None]
    last: list[Figure]
    """As it was logged: a number, or `NaN`, `Infinity`, `-Infinity`."""


class Curves(TypedDict):
    """Steps of a run, as coarse as was asked for."""

    run_id: str
    series: list[Curve]
    metrics: list[str]
    """Every metric the run logged."""
    coarse: bool


class Clock(TypedDict):
    """When the steps of one rank were taken: one place in every list a step."""

    rank: int
    source: str
    writer: str
    step: list[int]
    t: list[float]
    """Seconds since the epoch."""
    steps_per_second: list[float | None]
    """Since the place before; null for the first, and where a loop went back."""


class Clocks(TypedDict):
    """When the steps of a run were taken, at some of them; a source without times has no clock."""

    run_id: str
    clocks: list[Clock]
