"""Megatron-LM and its relatives: `iteration 1/ 500000 | consumed samples: 32 | ... | lm loss: 3.0E+00 | ... |`.

Every line ends with `number of nan iterations: 0`: the word nan in a line says nothing.
"""

import re

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row

_ITERATION = re.compile(r"\biteration\s+(?P<step>\d+)\s*(?:/\s*(?P<total>\d+|infinity))?\s*\|")
_EVALUATION = re.compile(
    r"(?P<set>validation|test|valid) loss at (?:iteration )?(?P<step>\d+)?[^|]*\|", re.IGNORECASE
)
_BARE = re.compile(rf"\s*(?P<name>[a-z][a-z -]*[a-z])\s+(?P<value>{numbers.NUMBER})\s*", re.IGNORECASE)
_SHOWN = 2


def parse(text: str, memory: Memory) -> Row | None:
    """Read an iteration line or the result of an evaluation."""
    if "iteration" not in text or "|" not in text:
        return None
    found = _EVALUATION.search(text) if " loss at " in text.lower() else None
    if found is not None:
        metrics = {
            f"{found['set'].lower()} {name}": value for name, value in _fields(text[found.end() :]).items()
        }
        step = numbers.whole(found["step"]) if found["step"] else memory.step
        return Row(metrics=metrics, step=step, phase=Phase.EVAL) if metrics else None
    found = _ITERATION.search(text)
    if found is None:
        return None
    metrics = _fields(text)
    if len(metrics) < _SHOWN:
        return None
    return Row(metrics=metrics, step=int(found["step"]), total=numbers.whole(found["total"]))


def _fields(text: str) -> dict[str, Number]:
    fields: dict[str, Number] = {}
    for field in text.split("|"):
        name, colon, value = field.rpartition(":")
        # some print the value and its mean: 13100.0/13240.9
        given = numbers.number(value.partition("/")[0] if "/" not in name else value) if colon else None
        bare = _BARE.fullmatch(field) if given is None else None
        if bare is not None:  # the first releases wrote no colons
            name, given = bare["name"], numbers.number(bare["value"])
        if given is not None:
            fields[name.strip()] = given
    return fields
