"""fairseq: JSON within a line with every number as a text, and its `simple` format.

`train_inner` rows are steps; `valid` rows and the averages of an epoch name their update themselves.
"""

import json
import re

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row

_JSON = re.compile(r"[\[|]\s*(?P<kind>train_inner|train|valid|test)\s*[\]|].*?(?P<object>\{\"epoch\".*\})")
_SIMPLE = re.compile(r"\|\s*(?P<kind>train_inner|train|valid|test)\s*\|\s*epoch\s+(?P<epoch>\d+)(?P<rest>.*)")
_OLD = re.compile(
    r"^\| epoch (?P<epoch>\d+)(?P<inner>:\s+\d+ / \d+)?(?: \| (?P<kind>valid|test) on '[^']*' subset)?"
    r"(?P<rest>.*num_updates.*)"
)
"""Before 0.9: `| epoch 001:    100 / 1000 loss=8.1, ...`, `| epoch 001 | valid on 'valid' subset | loss 7.1 | ...`."""
_EQUAL = re.compile(rf"(?P<name>\w+)=(?P<value>{numbers.NUMBER})(?=,|\s|$)", re.IGNORECASE)
_BARRED = re.compile(rf"\|\s*(?P<name>\w+) (?P<value>{numbers.NUMBER})(?=\s|$)", re.IGNORECASE)
_UPDATES = ("num_updates", "train_num_updates", "valid_num_updates", "test_num_updates")


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    return "epoch" in shape and bool(_OLD.match(shape) or _JSON.search(shape) or _SIMPLE.search(shape))


def parse(text: str, memory: Memory) -> Row | None:
    """Read a row of the json or the simple log format."""
    if "epoch" not in text:
        return None
    found = _OLD.match(text)
    if found is not None:
        kind = found["kind"] or ("train_inner" if found["inner"] else "train")
        return _of_text(kind, int(found["epoch"]), found["rest"], memory)
    if "train" not in text and "valid" not in text and "test" not in text:
        return None
    found = _JSON.search(text)
    if found is not None:
        return _row(found["kind"], _object(found["object"]), memory)
    found = _SIMPLE.search(text)
    if found is None:
        return None
    return _of_text(found["kind"], int(found["epoch"]), found["rest"], memory)


def _of_text(kind: str, epoch: int, text: str, memory: Memory) -> Row | None:
    metrics = numbers.matched(_EQUAL if kind == "train_inner" else _BARRED, text)
    metrics["epoch"] = epoch
    if kind in ("valid", "test"):
        metrics = {_prefixed(kind, name): value for name, value in metrics.items()}
    return _row(kind, metrics, memory)


def _prefixed(kind: str, name: str) -> str:
    return name if name in ("epoch", "num_updates") or name.startswith(kind) else f"{kind}_{name}"


def _object(text: str) -> dict[str, Number]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return numbers.numeric(value.items()) if isinstance(value, dict) else {}


def _row(kind: str, metrics: dict[str, Number], memory: Memory) -> Row | None:
    given = next((metrics.pop(name) for name in _UPDATES if name in metrics), None)
    step = memory.step if given is None else numbers.whole(given)
    if step is None or len(metrics) < 2:  # an epoch alone is nothing
        return None
    return Row(metrics=metrics, step=step, phase=Phase.TRAIN if kind.startswith("train") else Phase.EVAL)
