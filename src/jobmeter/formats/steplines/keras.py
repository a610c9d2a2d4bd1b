"""Keras 1 to 3: bars redrawn over themselves below an `Epoch 1/5` line, and the epoch's line at the end.

Values in a bar are means over the epoch so far. `val_` metrics appear in the last drawing only.
"""

import re

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row, step_in_epochs

_EPOCH = re.compile(r"\s*Epoch (?P<epoch>\d+)(?:/(?P<epochs>\d+))?\s*")
_BAR = re.compile(
    r"(?<![\w/])(?P<n>\d+)/(?P<total>\d+|Unknown)\s*"
    r"(?:\[[=>.\s]*\]|[━╸╺─]+|(?=- \d+s -)|(?=\s\d+s \d+))(?P<rest>.*)"
)
_LINE = re.compile(r"\s*- \d+s(?= - )(?P<rest>.*)")
"""What `verbose=2` printed below the epoch before Keras 2.3."""
_RATE = re.compile(r"(?<!\S)(?P<value>\d+)(?P<unit>[mu]?s/(?:step|sample))(?!\S)")
_METRIC = re.compile(
    rf" - (?!ETA:)(?P<name>[A-Za-z_][\w./@]*(?:[ -][\w./@]+)*): *(?P<value>{numbers.NUMBER})", re.IGNORECASE
)


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    if " - " not in shape:
        return _EPOCH.fullmatch(shape) is not None
    return bool(_EPOCH.fullmatch(shape) or _LINE.fullmatch(shape) or _BAR.search(shape))


def parse(text: str, memory: Memory) -> Row | None:
    """Read a bar with metrics; an epoch line is remembered."""
    epoch = _EPOCH.fullmatch(text)
    if epoch is not None:
        memory.epoch, memory.epoch_is_over = int(epoch["epoch"]), False
        return None
    if " - " not in text:
        return None
    line = _LINE.fullmatch(text) if memory.epoch is not None else None
    if line is not None:
        return Row(metrics=_metrics(line["rest"]), step=memory.epoch)
    found = _BAR.search(text) if "/" in text else None
    if found is None:
        return None
    metrics = _metrics(found["rest"])
    if not metrics:
        return None  # a download
    rate = _RATE.search(found["rest"])
    if rate is not None:
        metrics[rate["unit"]] = int(rate["value"])
    return _row(found, metrics, memory)


def _metrics(text: str) -> dict[str, Number]:
    return numbers.matched(_METRIC, text)


def _row(found: re.Match[str], metrics: dict[str, Number], memory: Memory) -> Row | None:
    position = int(found["n"])
    size = (memory.epoch_size or position) if found["total"] == "Unknown" else int(found["total"])
    if memory.epoch_is_over and (position, size) != (memory.epoch_size, memory.epoch_size):
        if position < size:
            return None  # an evaluation under way
        return Row(
            metrics={f"evaluate {name}": value for name, value in metrics.items()},
            step=memory.step,
            phase=Phase.EVAL,
        )
    step = position
    if memory.epoch is not None:
        memory.epoch_is_over = position == size
        step = step_in_epochs(memory, memory.epoch, position, size, counts_from_zero=False)
        metrics["epoch"] = memory.epoch
    return Row(metrics=metrics, step=step, may_repeat=True)
