"""OpenMMLab, old (mmcv) and new (mmengine): `Epoch(train) [1][10/200]  lr: ... loss: ...`, `Iter [50/40000]`.

Lines of validation batches carry no result; the line of the whole validation does.
"""

import re

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row, step_in_epochs

_NEW = re.compile(
    r"(?P<by>Epoch|Iter)\((?P<mode>train|val|test)\)\s*(?:\[\s*(?P<epoch>\d+)\s*\]\s*)?"
    r"\[\s*(?P<n>\d+)\s*/\s*(?P<total>\d+)\s*\](?P<rest>.*)"
)
_OLD = re.compile(
    r"\b(?P<by>Epoch|Iter)(?P<mode>\(val\))?\s*\[(?P<epoch>\d+)\]\[(?P<n>\d+)(?:/(?P<total>\d+))?\]\t(?P<rest>.*)"
)
_OLD_ITER = re.compile(r"- INFO - Iter \[(?P<n>\d+)/(?P<total>\d+)\]\s+(?P<rest>lr: .*)")
_PAIR = re.compile(
    rf"(?P<name>[A-Za-z][\w./@= ()-]*?): (?P<value>{numbers.NUMBER})(?=,|\s|$)(?! -?\d)", re.IGNORECASE
)
_LONGEST = 4_000
_TIMES = frozenset(("time", "data_time", "memory", "eta"))


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    return any(pattern.search(shape) for pattern in (_NEW, _OLD_ITER, _OLD))


def parse(text: str, memory: Memory) -> Row | None:
    """Read a line of training or the result of a validation."""
    if "Epoch" not in text and "Iter" not in text:
        return None
    found = _NEW.search(text)
    if found is not None:
        return _row(found["mode"], found, memory)
    found = _OLD_ITER.search(text)
    if found is not None:
        return Row(metrics=_metrics(found["rest"]), step=int(found["n"]), total=int(found["total"]))
    found = _OLD.search(text)
    if found is None or not (found["mode"] or found["total"]):
        return None
    return _row("val" if found["mode"] else "train", found, memory)


def _row(mode: str, found: re.Match[str], memory: Memory) -> Row | None:
    metrics = _metrics(found["rest"])
    position, total = int(found["n"]), int(found["total"] or found["n"])
    epoch = found["epoch"]
    if mode != "train":
        results = {name: value for name, value in metrics.items() if name not in _TIMES}
        named = {
            name if name.startswith(mode) else f"{mode}/{name}": value for name, value in results.items()
        }
        return Row(metrics=named, step=memory.step, phase=Phase.EVAL) if named else None
    if not metrics:
        return None
    if epoch is None:
        return Row(metrics=metrics, step=position, total=total)
    metrics["epoch"] = int(epoch)
    step = step_in_epochs(memory, int(epoch), position, total, counts_from_zero=False)
    return Row(metrics=metrics, step=step)


def _metrics(text: str) -> dict[str, Number]:
    metrics = numbers.matched(_PAIR, text[:_LONGEST])
    metrics.pop("eta", None)
    return metrics
