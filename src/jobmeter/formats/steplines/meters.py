"""Meter style: `Epoch: [0][ 1/32] Time 60.794 (60.732) Loss 5.3125 (4.3000)`, and torchvision's with colons.

The value is the one before the parentheses, which hold a running mean. Lines of test batches are no steps; the
result of the whole test (` * Acc@1 70.3 Acc@5 89.9`) belongs to the step before it.
"""

import re

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row, step_in_epochs

_HEAD = re.compile(
    r"(?:\bEpoch|\bTrain(?:ing)?):?\s*\[?\s*(?P<epoch>\d+)(?:\s*/\s*\d+)?\s*\]?[ ,]*"
    r"\[\s*(?P<n>\d+)\s*/\s*(?P<total>\d+)\s*(?:\(\s*\d+%\s*\)\s*)?\]\]?(?P<rest>.*)",
    re.IGNORECASE,
)
_BRACKETS = re.compile(
    r"\[(?P<epoch>\d+)/\d+\]\s?\[\s*(?P<n>\d+)\s*/\s*(?P<total>\d+)\s*\](?P<rest>.*)", re.IGNORECASE
)
"""PyTorch's DCGAN: `[0/25][50/1583] Loss_D: 1.9 Loss_G: 5.1`."""
_RESULT = re.compile(r"(?:^|INFO:?)\s*\*\s+(?P<rest>Acc@1.*)")
_METER = re.compile(
    rf"(?P<name>[A-Za-z][\w@./-]*(?: [A-Za-z][\w@./-]*)?)[ :]\s*(?P<value>{numbers.NUMBER})(?P<unit>%)?"
    rf"(?:\s*\(\s*(?P<mean>{numbers.NUMBER})%?\s*\))?(?=[\s,]|$)",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\beta:?\s+(?:\d+ days?, )?[\d:]+\s*", re.IGNORECASE)
_MEAN_AT_LEAST = 1
_LONGEST = 2_000


def parse(text: str, memory: Memory) -> Row | None:
    """Read a line of meters, or the result of a test."""
    found = _RESULT.search(text) if "* Acc@1" in text else None
    if found is not None:
        scores = {f"test {name}": value for name, value in _meters(found["rest"])[0].items()}
        return Row(metrics=scores, step=memory.step, phase=Phase.EVAL) if scores else None
    if "[" in text and ("poch" in text or "rain" in text or text.startswith("[")):
        found = _HEAD.search(text) or _BRACKETS.match(text)
        return _row(found, memory) if found is not None else None
    return None


def _row(found: re.Match[str], memory: Memory) -> Row | None:
    metrics, with_mean = _meters(_CLOCK.sub("", found["rest"]))
    losses = sum("loss" in name.lower() for name in metrics)
    if with_mean < _MEAN_AT_LEAST and not losses:
        return None
    position, total, epoch = int(found["n"]), int(found["total"]), int(found["epoch"])
    metrics["epoch"] = epoch
    return Row(metrics=metrics, step=step_in_epochs(memory, epoch, position, total, counts_from_zero=False))


def _meters(text: str) -> tuple[dict[str, Number], int]:
    metrics: dict[str, Number] = {}
    with_mean = 0
    for meter in _METER.finditer(text[:_LONGEST]):
        value = numbers.number(meter["value"])
        if value is None:
            continue
        metrics[numbers.with_unit(meter["name"].strip(), meter["unit"])] = value
        with_mean += meter["mean"] is not None
    return metrics, with_mean
