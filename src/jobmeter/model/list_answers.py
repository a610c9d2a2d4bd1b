"""What a page asks beside a list of runs: fields to filter by, small lines and badges of many runs."""

from typing import Literal, TypedDict

from jobmeter.model.answers import Figure


class FieldTold(TypedDict, total=False):
    """A field that filters, sorts and counts runs."""

    name: str
    holds: str
    """`text`, `a time`, `a size`, `a span of time`, `a number`, `a number, or NaN`, `anything`."""
    operators: list[str]
    """The comparisons it takes."""
    example: str
    """A value in the form it takes."""
    values: list[str]
    """Every value it can have, where they are few and known."""


class FieldsTold(TypedDict):
    """All fields every run may have, then the tags, settings and metrics of the newest runs."""

    fields: list[FieldTold]


class SmallLine(TypedDict):
    """A measurement or metric over a whole run, as small as a table shows it."""

    key: str
    unit: str
    """`bytes`, `cores`, or empty."""
    values: list[float | None]
    """By stretches of the run: the most memory, mean cores, the last loss of each; null where it is not finite."""
    last: Figure
    """The newest sample or step alone: a number, or `NaN`, `Infinity`, `-Infinity`."""


class Glance(TypedDict, total=False):
    """What a table shows of one run besides its figures."""

    run_id: str
    health: Literal["good", "warning", "critical"]
    """As it was last analysed; absent while nobody did, and while the run goes on."""
    lines: dict[str, SmallLine]
    """By `memory`, `cpu`, `loss`: those that were asked for and that it has."""


class Glances(TypedDict):
    """Some runs at a glance, in the order they were asked for."""

    runs: list[Glance]
    waiting: list[str]
    """Runs whose health would have taken longer than the asker waits; ask again for them."""
