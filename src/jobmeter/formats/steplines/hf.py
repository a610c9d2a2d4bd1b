"""Rows of the Hugging Face Trainer and of TRL: a Python dict printed on a line.

Newer releases print every number as a text, losses may be negative, and `nan` is no Python literal: hence no
evaluation, only pairs. The row says no step: the bar drawn right after it does. `train_runtime` begins the
summary at the end.
"""

import re
from functools import lru_cache

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row
from jobmeter.model import metrics as meanings

_DICT = re.compile(r"\{(?P<body>'[^{}]*)\}")
_MARKS = ("'epoch'", "'learning_rate'", "'loss'", "'eval_loss'", "'train_runtime'", "'eval_runtime'")
_SUMMARY = ("train_runtime", "train_samples_per_second")
_MOSTLY = 0.7
_STEPS = ("step", "global_step")
_MOST_NAMES = 256


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    return any(mark in shape for mark in _MARKS) and _DICT.search(shape) is not None


def parse(text: str, _memory: Memory) -> Row | None:
    """Read a Trainer's dict anywhere in a line: a bar may stand before it."""
    found = _DICT.search(text)
    if found is None or not _has_mark(found["body"]):
        return None
    if text[: found.start()].endswith(('"', "(")):
        return None  # source, or a text within one
    metrics = _pairs(found["body"])
    # settings hold names, paths and switches; a Trainer's row hardly anything but numbers
    if len(metrics) < max(2, found["body"].count("': ") * _MOSTLY) or not _are_measured(tuple(metrics)):
        return None
    step = next((numbers.whole(metrics.pop(name)) for name in _STEPS if name in metrics), None)
    return Row(metrics=metrics, step=step, phase=_phase(tuple(metrics)), is_numbered_by_bar=step is None)


def _has_mark(body: str) -> bool:
    for mark in _MARKS:  # noqa: SIM110 - a generator takes as long as the rest of the search
        if mark in body:
            return True
    return False


def _pairs(body: str) -> dict[str, Number]:
    """Split the pairs of a dict that are a name and a number; a pattern would take three times as long."""
    found: dict[str, Number] = {}
    for pair in body.removeprefix("'").split(", '"):
        name, _, value = pair.partition("': ")
        given = numbers.number(value.removeprefix("'").removesuffix("'"))
        if given is not None:
            found[name] = given
    return found


@lru_cache(maxsize=_MOST_NAMES)
def _are_measured(names: tuple[str, ...]) -> bool:
    return any(map(_is_measured, names))


def _is_measured(name: str) -> bool:
    """Tell what a training measures from what it is told: a dict of settings has a learning rate too."""
    return meanings.is_loss(name) or name.startswith(
        ("eval_", "test_", "train_", "reward", "objective/", "grad_norm")
    )


@lru_cache(maxsize=_MOST_NAMES)
def _phase(names: tuple[str, ...]) -> Phase:
    if any(name in names for name in _SUMMARY):
        return Phase.SUMMARY
    evaluated = [name for name in names if name.startswith(("eval_", "test_"))]
    return Phase.EVAL if evaluated and "loss" not in names else Phase.TRAIN
