"""The tutorial's line, which UGRO prints too: `Epoch [1/3] Step [10/200] Loss: 2.3 Throughput: 152.00 tokens/s`.

The step counts within its epoch.
"""

import re

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Row, step_in_epochs

_HEAD = re.compile(
    r"Epoch:?\s*\[?(?P<epoch>\d+)\s*/\s*(?P<epochs>\d+)\]?[\s,|:-]*"
    r"(?:Step|Batch|Iter(?:ation)?|i)s?:?\s*\[?(?P<n>\d+)\s*/\s*(?P<total>\d+)\]?[\s,|:-]*(?P<rest>.*)",
    re.IGNORECASE,
)


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    return _HEAD.search(shape) is not None


def parse(text: str, memory: Memory) -> Row | None:
    """Read a line that names its epoch and its step, both out of how many."""
    if "poch" not in text and "EPOCH" not in text:
        return None
    found = _HEAD.search(text)
    if found is None:
        return None
    metrics = numbers.pairs(found["rest"])
    if not metrics:
        return None
    epoch, total = int(found["epoch"]), int(found["total"])
    step = step_in_epochs(memory, epoch, int(found["n"]), total, counts_from_zero=False)
    metrics["epoch"] = epoch
    last = int(found["epochs"]) * total if memory.first_epoch == 1 else None
    return Row(metrics=metrics, step=step, total=last)
