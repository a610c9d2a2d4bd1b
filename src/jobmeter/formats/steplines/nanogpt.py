"""nanoGPT (`iter 9: loss nan, time 263.68ms, mfu 0.01%`), its speedruns (`step:1/1530 train_loss:10.8 ...`), and
the log files of llm.c (`s:250 trl:6.2 lr:0.0006 norm:1.2`, `s:250 tel:6.3`) and build-nanogpt (`250 train 6.2`).

`step_avg:nanms` and `mfu -100.00%` are words for "not measured yet"; the speedruns' clock restarts at step 11.
"""

import re

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row

_ITERATION = re.compile(r"(?<!\w)iter (?P<step>\d+): (?P<rest>loss .*)")
_EVALUATION = re.compile(r"(?<!\w)step (?P<step>\d+): (?P<rest>train loss .*)")
_SENTENCES = (("iter ", _ITERATION, Phase.TRAIN), ("step ", _EVALUATION, Phase.EVAL))
_SPEEDRUN = re.compile(r"(?<![\w'\"])step:(?P<step>\d+)(?:/(?P<total>\d+))? (?P<rest>[a-z].*)")
_SPACED = re.compile(
    rf"(?P<name>[a-z][a-z_ ]*?) (?P<value>{numbers.NUMBER})(?P<unit>ms|s|%)?(?=,|\s|$)", re.IGNORECASE
)
_GLUED = re.compile(rf"(?P<name>\w+):(?P<value>{numbers.NUMBER})(?P<unit>ms|s|%)?(?=\s|$)", re.IGNORECASE)


_LLMC = re.compile(r"s:(?P<step>\d+) (?P<rest>(?:trl|tel|eval):.*)")
_PLAIN = re.compile(rf"(?P<step>\d+) (?P<name>train|val|hella) (?P<value>{numbers.NUMBER})", re.IGNORECASE)
_NAMES = {
    "trl": "train_loss",
    "tel": "val_loss",
    "train": "train_loss",
    "val": "val_loss",
    "eval": "hellaswag accuracy",
    "hella": "hellaswag accuracy",
}
"""What the abbreviations of the log files mean."""


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    if "loss" not in shape:
        return bool(_LLMC.fullmatch(shape) or _PLAIN.fullmatch(shape.rstrip()))
    return any(pattern.search(shape) for pattern in (_ITERATION, _EVALUATION, _SPEEDRUN))


def parse(text: str, _memory: Memory) -> Row | None:
    """Read an iteration, an evaluation, or a line of a speedrun."""
    if "loss" not in text:
        return _abbreviated(text)
    for mark, pattern, phase in _SENTENCES:
        found = pattern.search(text) if mark in text else None
        if found is not None:
            metrics = _metrics(_SPACED, found["rest"])
            return Row(metrics=metrics, step=int(found["step"]), phase=phase) if metrics else None
    found = _SPEEDRUN.search(text) if "step:" in text else None
    if found is None:
        return None
    metrics = _metrics(_GLUED, found["rest"])
    if not any("loss" in name for name in metrics):
        return None
    phase = Phase.TRAIN if any(name in metrics for name in ("train_loss", "loss")) else Phase.EVAL
    return Row(metrics=metrics, step=int(found["step"]), total=numbers.whole(found["total"]), phase=phase)


def _abbreviated(text: str) -> Row | None:
    found = _LLMC.fullmatch(text) or _PLAIN.fullmatch(text.rstrip())
    if found is None:
        return None
    given = found.groupdict()
    pairs = (
        {given["name"]: numbers.number(given["value"])}
        if "name" in given
        else _metrics(_GLUED, given["rest"])
    )
    metrics = {_NAMES.get(name, name): value for name, value in pairs.items() if value is not None}
    phase = Phase.TRAIN if "train_loss" in metrics else Phase.EVAL
    return Row(metrics=metrics, step=int(found["step"]), phase=phase) if metrics else None


def _metrics(pattern: re.Pattern[str], text: str) -> dict[str, Number]:
    metrics = numbers.matched(pattern, text)
    if metrics.get("mfu_percent", 0) < 0:
        del metrics["mfu_percent"]
    return metrics
