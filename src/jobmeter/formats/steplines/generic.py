"""The last resort: any line with the word of a step and the word of a loss, each with its number.

A line that is nothing but `name: number` pairs with a loss among them is a row even without a step; rows are then
counted. What a line says stands in `plainlines.py`; what that means after the lines before it, here.
"""

from jobmeter.formats.steplines import loggers, numbers, plainlines
from jobmeter.formats.steplines.plainlines import Place, Said
from jobmeter.formats.steplines.row import (
    Memory,
    Number,
    Phase,
    Row,
    step_in_epochs,
    step_in_laps,
    step_over_epochs,
)

_LONGEST = 8_000
_MANY = 3


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may say where training stands, or announce an epoch."""
    return len(shape) <= _LONGEST and (loggers.may_be_heading(shape) or plainlines.may_say(shape))


def parse(text: str, memory: Memory) -> Row | None:
    """Read a line that says where training stands and how well it does."""
    if len(text) > _LONGEST or loggers.note_heading(text, memory):
        return None
    said = plainlines.read(text)
    if said is None:
        return None
    if said.is_of_split and _is_batch(text, said, memory):
        return None
    metrics = numbers.values(text, said.values)
    phase = Phase.EVAL if said.is_evaluation else Phase.TRAIN
    row = _of_step(text, said, metrics, memory) or _of_epoch(text, said, metrics, memory)
    if row is not None:
        row.phase, row.rank = phase, None if said.rank is None else int(text[slice(*said.rank)])
        return row
    has_steps = memory.step is not None and not memory.counted
    if not said.is_pairs and (not said.is_loss or has_steps):
        return None
    return Row(
        metrics=metrics, step=None, phase=phase if memory.counted or memory.step is None else Phase.EVAL
    )


def _is_batch(text: str, said: Said, memory: Memory) -> bool:
    """Tell a batch of an evaluation under way from its result."""
    if said.step is None:
        return False
    number = _counts(text, said.step)[0]
    return said.step.name.startswith("batch") or (memory.step or 0) > (number or 0)


def _of_step(text: str, said: Said, metrics: dict[str, Number], memory: Memory) -> Row | None:
    """Read a row that says its step, or its place within an epoch."""
    if said.step is None:
        return None
    number, total = _counts(text, said.step)
    if number is None:
        return None
    memory.has_steps = True
    if said.epoch is None:
        place = step_in_laps(memory, number, total)
        return Row(metrics=metrics, step=place, total=total if place == number else None)
    epoch = int(text[slice(*said.epoch.number)])
    is_batch = said.step.name.startswith("batch")
    if total is None and not is_batch:
        return Row(metrics=metrics, step=step_over_epochs(memory, epoch, number))
    if total is not None:
        place = step_in_epochs(memory, epoch, number, total, counts_from_zero=False)
        return Row(metrics=metrics, step=place)
    memory.has_steps = False  # a batch of an epoch whose size nobody said: the rows are counted
    return Row(metrics=metrics | {"epoch": epoch, "batch": number})


def _of_epoch(text: str, said: Said, metrics: dict[str, Number], memory: Memory) -> Row | None:
    """Read a row that says its epoch, or stands below a line that does."""
    if said.epoch is not None:
        epoch, total = _counts(text, said.epoch)
    elif memory.heading is not None and not memory.has_steps and said.may_be_below_heading:
        # among numbered rows such a line is of an evaluation
        epoch, total = memory.heading, memory.heading_total
    else:
        return None
    epoch = epoch or 0
    memory.heading, memory.heading_total = epoch, total
    if said.is_within_epoch or _is_one_of_many(epoch, metrics, memory):
        return Row(metrics=metrics | {"epoch": epoch})  # `Epoch 1 - Batch loss: 0.5` comes many times
    if memory.counted or memory.has_bars or memory.has_steps:
        return Row(metrics=metrics, step=memory.step)  # an epoch's result among its steps
    return Row(metrics=metrics, step=epoch, total=total)


def _counts(text: str, place: Place) -> tuple[int | None, int | None]:
    total = None if place.total is None else numbers.whole(text[slice(*place.total)])
    return numbers.whole(text[slice(*place.number)]), total


def _is_one_of_many(epoch: int, metrics: dict[str, Number], memory: Memory) -> bool:
    """Tell a row that comes again and again within its epoch; two may be those of two ranks."""
    names = "|".join(metrics)
    if memory.many_names == names:
        return True
    is_same = memory.epoch_row == f"{epoch}|{names}"
    memory.epoch_rows = memory.epoch_rows + 1 if is_same else 1
    memory.epoch_row = f"{epoch}|{names}"
    if memory.epoch_rows < _MANY or memory.has_steps or memory.has_bars or memory.counted:
        return False
    memory.many_names, memory.counted = names, memory.epoch_rows - 1
    return True
