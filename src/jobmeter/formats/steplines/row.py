"""What a family of log lines gives back, and what is remembered between the lines of one rank."""

from dataclasses import dataclass, field
from enum import Enum

Number = int | float


class Phase(Enum):
    """What a row tells about."""

    TRAIN = "train"
    EVAL = "eval"
    """Measured on data held back; it belongs to the training step before it."""
    SUMMARY = "summary"
    """Figures of the whole run: no step."""


@dataclass(slots=True, kw_only=True)
class Row:
    """One line's worth of metrics, before it has a time and perhaps before it has a number."""

    metrics: dict[str, Number]
    step: int | None = None
    """None where the line does not say it: what stands near it, or counting, decides."""
    phase: Phase = Phase.TRAIN
    total: int | None = None
    """The last step there will be, where the line says so."""
    timestamp: float | None = None
    rank: int | None = None
    may_repeat: bool = False
    """A redrawn line: the next one of the same step replaces it."""
    is_numbered_by_bar: bool = False
    """The step stands in the bar drawn after the row."""


@dataclass(slots=True, kw_only=True)
class Memory:
    """What the lines of one rank said so far, as far as later lines need it. All of it is JSON."""

    step: int | None = None
    total: int | None = None
    counted: int = 0
    """Rows that had to be numbered by counting them."""
    counted_evaluations: int = 0
    """Evaluations before any row of training, counted for themselves."""
    epoch: int | None = None
    first_epoch: int | None = None
    epoch_size: int | None = None
    epoch_is_over: bool = False
    """Its last step was seen: a further bar before the next epoch is an evaluation."""
    columns: list[str] = field(default_factory=list)
    """Headings of a table whose rows follow."""
    expects: int = 0
    """So many further lines belong to what the last one began, whatever they look like."""
    timers: dict[str, float] = field(default_factory=dict)
    wrapped: str = ""
    """The beginning of a bar that the end of a terminal line cut off."""
    column: str = ""
    """Metrics that rich wrapped below their bar, and the bar they belong to."""
    column_of: str = ""
    bar_position: int | None = None
    bar_total: int | None = None
    bar_rate: dict[str, Number] = field(default_factory=dict)
    """The bar that numbers rows printed beside it."""
    row_position: int = -1
    row_names: str = ""
    """Where the bar stood at the row before, and what that row named."""
    laps: dict[str, list[int]] = field(default_factory=dict)
    """By bar: how often it began anew, and where it stands."""
    results: dict[str, tuple[Number, int]] = field(default_factory=dict)
    """The last result of a validation that a bar showed, and the step it showed it at first."""
    is_lightning: bool = False
    """Its bars are Lightning's."""
    is_over: bool = False
    """The training said its summary: the bars that follow are of evaluations."""
    has_bars: bool = False
    """Its steps are those of a bar."""
    has_guessed_sizes: bool = False
    """The size of an epoch was taken from its last row."""
    has_steps: bool = False
    """Its rows say their steps."""
    epoch_row: str = ""
    epoch_rows: int = 0
    """The row of an epoch that was read last, and how often its like came within the epoch."""
    many_names: str = ""
    """What rows name that come many times within an epoch."""
    heading: int | None = None
    """The epoch that a line of its own announced."""
    heading_total: int | None = None
    sampling: int = 0
    """How many images are being drawn."""
    saving: int | None = None
    """The step whose checkpoint is being saved."""
    last_row: str = ""
    last_row_at: str = ""
    """The row before, word for word, and where the training stood: some print each row twice."""


def step_in_epochs(memory: Memory, epoch: int, position: int, size: int, *, counts_from_zero: bool) -> int:
    """Number a step that a line gives as a place within an epoch.

    The first epoch a log shows tells whether it counts them from 0 or from 1.
    """
    memory.epoch, memory.epoch_size = epoch, size
    if memory.first_epoch is None or epoch < memory.first_epoch:
        memory.first_epoch = 0 if epoch == 0 or counts_from_zero else 1
    return max(epoch - memory.first_epoch, 0) * size + position


_ROWS = "rows"


def step_in_laps(memory: Memory, number: int, total: int | None) -> int:
    """Number a step out of so many that begins anew with each epoch, in a log that has epochs."""
    if not total:
        return number
    key = f"{_ROWS}/{total}"
    over, before = memory.laps.pop(key, (0, 0))
    begins = (
        number <= max(1, total // 2) and before >= max(total / 2, number + 1) and memory.heading is not None
    )
    memory.laps[key] = [over + begins, number]
    return (over + begins) * total + number


def step_over_epochs(memory: Memory, epoch: int, number: int) -> int:
    """Number a step that may begin anew with each epoch, whose size nobody says.

    The last number of an epoch stands for its size: right where every epoch logs at its end, else a little short.
    """
    before, last, last_epoch = memory.laps.pop(_ROWS, (0, 0, epoch))
    if epoch < last_epoch:
        before = 0  # another training
    elif epoch > last_epoch and number <= last:
        before += last
        memory.has_guessed_sizes = True
    memory.laps[_ROWS] = [before, number, epoch]
    return before + number
