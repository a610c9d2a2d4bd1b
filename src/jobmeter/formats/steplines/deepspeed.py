"""DeepSpeed's own lines: `step=10, skipped=0, lr=[1e-05], mom=[...]` and the throughput timer's.

`RunningAvgSamplesPerSec` is an average since the start and keeps its name; `CurrSamplesPerSec` is the rate.
"""

import re

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Number, Row

_PROGRESS = re.compile(
    rf"\bstep=(?P<step>\d+), skipped=(?P<skipped>\d+), lr=\[?(?P<lr>{numbers.NUMBER})", re.IGNORECASE
)
_TIMER = re.compile(
    r"(?:\bepoch=(?P<epoch>\d+)/micro_step=\d+/global_step=|\] \d+/)(?P<step>\d+), (?P<rest>.*SamplesPerSec=.*)"
)
_PIPELINE = re.compile(
    rf"\bsteps: (?P<step>\d+) loss: (?P<loss>{numbers.NUMBER}) (?P<rest>iter time .*)", re.IGNORECASE
)
_IN_GIGABYTES = re.compile(rf"(?P<name>\w+)=(?P<value>{numbers.NUMBER})(?P<unit>GB)?")


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    return "skipped=" in shape or "SamplesPerSec=" in shape or "iter time" in shape


def parse(text: str, _memory: Memory) -> Row | None:
    """Read a progress, timer or pipeline line."""
    found = _PROGRESS.search(text) if "skipped=" in text else None
    if found is not None:
        if int(found["step"]) == 0:
            return None  # printed while the engine is set up, before any step
        metrics = numbers.numeric((name, found[name]) for name in ("lr", "skipped"))
        return Row(metrics=metrics, step=int(found["step"]))
    found = _TIMER.search(text) if "SamplesPerSec=" in text else None
    if found is not None:
        return Row(metrics=_timer(found), step=int(found["step"]))
    found = _PIPELINE.search(text) if "iter time" in text else None
    if found is None:
        return None
    metrics = numbers.numeric((("loss", found["loss"]),)) | _pipeline(found["rest"])
    return Row(metrics=metrics, step=int(found["step"]))


def _timer(found: re.Match[str]) -> dict[str, Number]:
    metrics: dict[str, Number] = {} if found["epoch"] is None else {"epoch": int(found["epoch"])}
    for pair in _IN_GIGABYTES.finditer(found["rest"]):
        value = numbers.number(pair["value"])
        if value is not None:
            metrics[f"{pair['name']}_GB" if pair["unit"] else pair["name"]] = value
    return metrics


def _pipeline(text: str) -> dict[str, Number]:
    pairs = re.findall(rf"([a-z][a-z/ ]*(?:\(s\))?): ({numbers.NUMBER})", text)
    return numbers.numeric((name.strip(), value) for name, value in pairs)
