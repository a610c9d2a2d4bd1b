"""Meter style: `Epoch: [0][ 1/32] Time 60.794 (60.732) Loss 5.3125 (4.3000)`, and torchvision's with colons.

The value is the one before the parentheses, which hold a running mean. Lines of test batches are no steps; the
result of the whole test (` * Acc@1 70.3 Acc@5 89.9`) belongs to the step before it.
"""

import re
from functools import lru_cache

from jobmeter.formats.steplines import numbers, shapes
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


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    # a zero stands for the one of `Acc@1`
    return "* Acc@0" in shape or bool(_HEAD.search(shape) or _BRACKETS.match(shape))


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
    shown = text[:_LONGEST]
    places, with_mean, is_certain = _places(shapes.of(shown))
    if not is_certain:
        places, with_mean, _ = _places.__wrapped__(shown)
    return numbers.values(shown, places), with_mean


@lru_cache(maxsize=shapes.MOST)
def _places(shape: str) -> tuple[tuple[numbers.Spelled, ...], int, bool]:
    """Find the meters in lines of a shape, how many show a mean, and whether their names are the same in all."""
    places: list[numbers.Spelled] = []
    with_mean = 0
    is_certain = True
    for meter in _METER.finditer(shape):
        if numbers.number(meter["value"]) is None:
            continue
        name = numbers.with_unit(meter["name"].strip(), meter["unit"])
        places.append((name, *meter.span("value"), numbers.reader_of(meter["value"])))
        with_mean += meter["mean"] is not None
        is_certain = is_certain and shapes.is_name(shape, meter.span("name"))
    return tuple(places), with_mean, is_certain
