"""Rounds of boosted trees: `[10] train-rmse:0.38 test-rmse:0.40` of XGBoost and LightGBM, CatBoost's `10: learn: 0.5`.

What misleads: after an early stop the best round is printed once more, and is no new one.
"""

import re

from jobmeter.formats.steplines import loggers, numbers
from jobmeter.formats.steplines.row import Memory, Phase, Row
from jobmeter.model import metrics as meanings

_NAME = r"(?:\w+-[\w@.-]+|\w+'s [\w@ .-]+)"
_ROUND = re.compile(
    rf"\[(?P<step>\d+)\](?P<rest>(?:\s+{_NAME}:\s?{numbers.NUMBER}(?:\s?\+\s?{numbers.NUMBER})?)+)\s*",
    re.IGNORECASE,
)
_SCORE = re.compile(rf"(?P<name>{_NAME}):\s?(?P<value>{numbers.NUMBER})", re.IGNORECASE)
_CATBOOST = re.compile(
    rf"(?P<step>\d+):\tlearn: (?P<learn>{numbers.NUMBER})(?:\ttest: (?P<test>{numbers.NUMBER}))?"
    r"(?:\tbest: \S+ \(\d+\))?\ttotal: \S.*",
    re.IGNORECASE,
)
_TAB = "]\t"


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    if "\tlearn: " in shape:
        return True
    if _TAB not in shape and not shape.startswith("["):
        return False
    return bool(_ROUND.fullmatch(shape) or _ROUND.fullmatch(loggers.message(shape)))


def parse(text: str, memory: Memory) -> Row | None:
    """Read one round."""
    found = _CATBOOST.fullmatch(text) if "\tlearn: " in text else None
    if found is not None:
        scores = numbers.numeric((name, found[name]) for name in ("learn", "test"))
        return Row(metrics=scores, step=int(found["step"]))
    if _TAB not in text and not text.startswith("["):
        return None
    found = _ROUND.fullmatch(text) or _ROUND.fullmatch(loggers.message(text))
    if found is None:
        return None
    step = int(found["step"])
    if _TAB in memory.last_row and 0 < step < (memory.step or 0):
        return None
    given = numbers.matched(_SCORE, found["rest"])
    scores = {name.replace("'s ", "_"): value for name, value in given.items()}
    phase = Phase.EVAL if all(map(meanings.is_evaluation, scores)) else Phase.TRAIN
    return Row(metrics=scores, step=step, phase=phase)
