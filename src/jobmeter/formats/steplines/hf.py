"""Rows of the Hugging Face Trainer and of TRL: a Python dict printed on a line.

Newer releases print every number as a text, losses may be negative, and `nan` is no Python literal: hence no
evaluation, only pairs. The row says no step: the bar drawn right after it does. `train_runtime` begins the
summary at the end.
"""

import re

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row
from jobmeter.model import metrics as meanings

_DICT = re.compile(r"\{(?P<body>'[^{}]*)\}")
_MARKS = ("'epoch'", "'learning_rate'", "'loss'", "'eval_loss'", "'train_runtime'", "'eval_runtime'")
_SUMMARY = ("train_runtime", "train_samples_per_second")
_MOSTLY = 0.7
_STEPS = ("step", "global_step")


def parse(text: str, _memory: Memory) -> Row | None:
    """Read a Trainer's dict anywhere in a line: a bar may stand before it."""
    if not any(mark in text for mark in _MARKS):
        return None
    found = _DICT.search(text)
    if found is None or not any(mark in found["body"] for mark in _MARKS):
        return None
    if text[: found.start()].endswith(('"', "(")):
        return None  # source, or a text within one
    metrics = _pairs(found["body"])
    # settings hold names, paths and switches; a Trainer's row hardly anything but numbers
    if len(metrics) < max(2, found["body"].count("': ") * _MOSTLY) or not any(map(_is_measured, metrics)):
        return None
    step = next((numbers.whole(metrics.pop(name)) for name in _STEPS if name in metrics), None)
    return Row(metrics=metrics, step=step, phase=_phase(metrics), is_numbered_by_bar=step is None)


def _pairs(body: str) -> dict[str, Number]:
    """Split the pairs of a dict that are a name and a number; a pattern would take three times as long."""
    pairs = (pair.partition("': ") for pair in body.removeprefix("'").split(", '"))
    return numbers.numeric((name, value.removeprefix("'").removesuffix("'")) for name, _, value in pairs)


def _is_measured(name: str) -> bool:
    """Tell what a training measures from what it is told: a dict of settings has a learning rate too."""
    return meanings.is_loss(name) or name.startswith(
        ("eval_", "test_", "train_", "reward", "objective/", "grad_norm")
    )


def _phase(metrics: dict[str, Number]) -> Phase:
    if any(name in metrics for name in _SUMMARY):
        return Phase.SUMMARY
    evaluated = [name for name in metrics if name.startswith(("eval_", "test_"))]
    return Phase.EVAL if evaluated and "loss" not in metrics else Phase.TRAIN
