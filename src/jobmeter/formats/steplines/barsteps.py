"""The step that a bar of training stands at, and which of the metrics it shows are new.

What misleads: a bar is drawn at 0 while it still shows what was measured at the end of the epoch before; the result
of a validation stays on it until the next one. Lightning's loggers count steps from 0, its bar counts batches done.
"""

import math
from functools import lru_cache

from jobmeter.formats.steplines import bars
from jobmeter.formats.steplines.bars import Bar
from jobmeter.formats.steplines.held import Draft
from jobmeter.formats.steplines.row import Memory, Number, step_in_epochs
from jobmeter.model import metrics as meanings

TQDM, LIGHTNING = "tqdm", "lightning"
_STEP_NAMES = ("num_updates", "global_step", "step")
_MOST_RESULTS = 64


def note_lightning(bar: Bar, memory: Memory, before: Draft | None) -> None:
    """Know Lightning's bars by its version number, which the first drawing does not show yet."""
    if bar.is_lightning and not memory.is_lightning:
        memory.is_lightning = True
        if before is not None and before.source == f"log:{TQDM}":
            before.source, before.step = f"log:{LIGHTNING}", max(before.step - 1, 0)
    bar.is_lightning = bar.is_lightning or (
        memory.is_lightning and bars.LIGHTNING.fullmatch(bar.words) is not None
    )


def step_of(bar: Bar, metrics: dict[str, Number], key: str, memory: Memory) -> int | None:
    """Number a drawing, taking the step out of the metrics where they hold it; None where it tells of no step."""
    if not metrics or (bar.position == 0 and (bar.is_lightning or not bar.metrics)):
        return None
    given = _take_step(metrics)
    epoch = bar.epoch
    if epoch is None or not bar.total:
        step = bars.position_in_laps(bar, memory.laps, key)
    else:
        metrics.setdefault("epoch", epoch)
        step = step_in_epochs(memory, epoch, bar.position, bar.total, counts_from_zero=bar.is_lightning)
    if given is not None:
        return given
    if bar.position == 0 and step:
        return None  # that number is of the last step of the epoch before
    return step - 1 if bar.is_lightning else step


def drop_stale(metrics: dict[str, Number], step: int, memory: Memory) -> None:
    """Take out results of validations that the bar showed at an earlier step already."""
    for name in _results(tuple(metrics)):
        value = metrics[name]
        shown, shown_at = memory.results.get(name, (math.inf, -1))
        is_same = value == shown or (math.isnan(value) and math.isnan(shown))
        if is_same and shown_at != step:
            del metrics[name]
            continue
        memory.results[name] = (value, step)
        if len(memory.results) > _MOST_RESULTS:
            del memory.results[next(iter(memory.results))]


@lru_cache(maxsize=_MOST_RESULTS)
def _results(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if meanings.is_evaluation(name))


def _take_step(metrics: dict[str, Number]) -> int | None:
    for name in _STEP_NAMES:
        if name in metrics and math.isfinite(metrics[name]):
            return int(metrics.pop(name))
    return None
