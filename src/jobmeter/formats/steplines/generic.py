"""The last resort: any line with the word of a step and the word of a loss, each with its number.

Conservative on purpose: settings, source code, tracebacks and prose hold both words too. A line that is nothing
but `name: number` pairs with a loss among them is a row even without a step; rows are then counted.
"""

import re

from jobmeter.formats.steplines import loggers, numbers
from jobmeter.formats.steplines.row import (
    Memory,
    Number,
    Phase,
    Row,
    step_in_epochs,
    step_in_laps,
    step_over_epochs,
)
from jobmeter.model import metrics as meanings

_LONGEST = 8_000
_STEP = re.compile(
    r"(?<![\w./-])"
    r"(?P<name>global[_ ]?step|steps?|(?:acc|cur|global)_iter|iter(?:ation)?s?|updates?|batch(?:[_ ](?:idx|id))?|it|"
    r"episodes?)\b"
    r"(?:\.{3}|\s*[:=#])?\s*[\[(]?\s*(?P<step>\d+(?:,\d{3})*)(?:\s*/\s*(?P<total>\d+(?:,\d{3})*))?(?![\w.%]|,\d)",
    re.IGNORECASE,
)
_EPOCH = re.compile(
    r"(?<![\w./-])(?:(?:epoch|ep)s?\b(?:\.{3}|\s*[:=#])?\s*[\[(]?|train\()\s*(?P<epoch>\d+)(?:\.\d+)?(?:\s*/\s*(?P<total>\d+))?(?![\w%])",
    re.IGNORECASE,
)
_LOSS = re.compile(
    r"(?<![\w/])(?P<name>(?:[A-Za-z][\w@/-]* )?[\w/-]*(?:loss(?:es)?|ppl|perplexity|nll|bpb|reward|acc(?:uracy)?))\b"
    rf"\s*(?:[:=]|\bis\b|\s)\s*(?P<value>{numbers.NUMBER})\s?(?P<unit>{numbers.UNIT})?(?![\w]|[.,]\d)",
    re.IGNORECASE,
)
_FIELD = re.compile(
    rf"\s*(?P<name>[A-Za-z][\w/]*(?: [A-Za-z][\w/]*)?) (?P<value>{numbers.NUMBER})"
    rf"\s?(?P<unit>{numbers.UNIT})?\s*(?:\([^()]*\))?\s*",
    re.IGNORECASE,
)
_CODE = re.compile(r"[{}]|\bdef |\breturn\b|\bFile \"|\bimport |\w\(.*\bloss\b.*[,=].*\)\s*$|://|==|%[sdf]")
_PAIR = rf"(?:[A-Za-z][\w@./ -]*\s?[:=]\s?{numbers.NUMBER}\s?(?:{numbers.UNIT})?\s?(?:[,;|]\s?|\s|$))"
_ONLY_PAIRS = re.compile(rf"\s?{_PAIR}{{2,}}", re.IGNORECASE)
_ONE_PAIR = re.compile(rf"\s?{_PAIR}+", re.IGNORECASE)
_ONE_LOSS = re.compile(rf"\s?[\w ]*loss\s?[:=]?\s?{numbers.NUMBER}\s?", re.IGNORECASE)
_ONLY_LOSS = re.compile(
    r"\s?(?:(?:batch|train(?:ing)?|total|mean|average|avg|running|step|current|meta|iter(?:ation)?)[ _])*loss\s?[:=]\s?"
    r"(?:-?\d+\.\d+(?:e[-+]?\d+)?|nan)\s?",
    re.IGNORECASE,
)
_OTHER_LOSS = re.compile(
    r"(?:stop|packet|profit|heat|weight|path|insertion|return|data|job)[ _/-]?(?:and[ _])?loss", re.I
)
"""Losses of traders, networks and engineers."""
_MANY = 3
_BLANKS = re.compile(r"\s+")
_WITHIN_EPOCH = re.compile(r"\b(?:batch|step|iter(?:ation)?)\b", re.IGNORECASE)
_STEP_WORDS = (
    "step",
    "steps",
    "iter",
    "iters",
    "iteration",
    "iterations",
    "global_step",
    "update",
    "updates",
)
_NO_METRIC = frozenset(
    (
        *_STEP_WORDS,
        "acc_iter",
        "cur_iter",
        "batch",
        "batch_id",
        "batch_idx",
        "episode",
        "it",
        "epoch",
        "epochs",
        "ep",
        "rank",
        "time",
        "elapsed",
        "eta",
        "took",
    )
)
_CALLER = re.compile(r"(?<![\w./-])[\w./-]+\.(?:py|c|cc|cpp|cu|h):\d+(?::\w+)?")
"""Where a logger says it was called."""
_RANK = re.compile(r"(?<![\w-])rank\s*[:=]\s*(?P<rank>\d{1,6})(?!\w)", re.IGNORECASE)


def parse(text: str, memory: Memory) -> Row | None:
    """Read a line that says where training stands and how well it does."""
    if len(text) > _LONGEST or loggers.note_heading(text, memory) or _CODE.search(text):
        return None
    text = _CALLER.sub("", text)
    metrics = _metrics(text)
    if not any(map(_is_result, metrics)):
        return None
    phase = Phase.EVAL if _is_evaluation(text, metrics) else Phase.TRAIN
    body = _BLANKS.sub(" ", loggers.message(text))
    row = _of_step(body, metrics, memory) or _of_epoch(body, metrics, memory)
    if row is not None:
        rank = _RANK.search(body)
        row.phase, row.rank = phase, int(rank["rank"]) if rank else None
        return row
    has_steps = memory.step is not None and not memory.counted
    if not (_ONLY_PAIRS.fullmatch(body) or (_ONLY_LOSS.fullmatch(body) and not has_steps)):
        return None
    return Row(
        metrics=metrics, step=None, phase=phase if memory.counted or memory.step is None else Phase.EVAL
    )


def _of_step(body: str, metrics: dict[str, Number], memory: Memory) -> Row | None:
    """Read a row that says its step, or its place within an epoch."""
    step, epoch = _STEP.search(body), _EPOCH.search(body)
    number = numbers.whole(step["step"]) if step else None
    if step is None or number is None:
        return None
    total = numbers.whole(step["total"]) if step["total"] else None
    is_batch = step["name"].lower().startswith("batch")
    memory.has_steps = True
    if epoch is None:
        place = step_in_laps(memory, number, total)
        return Row(metrics=metrics, step=place, total=total if place == number else None)
    if total is None and not is_batch:
        return Row(metrics=metrics, step=step_over_epochs(memory, int(epoch["epoch"]), number))
    if total is not None:
        place = step_in_epochs(memory, int(epoch["epoch"]), number, total, counts_from_zero=False)
        return Row(metrics=metrics, step=place)
    memory.has_steps = False  # a batch of an epoch whose size nobody said: the rows are counted
    return Row(metrics=metrics | {"epoch": int(epoch["epoch"]), "batch": number})


def _of_epoch(body: str, metrics: dict[str, Number], memory: Memory) -> Row | None:
    """Read a row that says its epoch, or stands below a line that does."""
    found = _EPOCH.search(body)
    if found is not None:
        epoch, total = int(found["epoch"]), numbers.whole(found["total"]) if found["total"] else None
    elif _is_below_heading(body, memory):
        epoch, total = memory.heading or 0, memory.heading_total
    else:
        return None
    memory.heading, memory.heading_total = epoch, total
    if any(map(_WITHIN_EPOCH.search, metrics)) or _is_one_of_many(epoch, metrics, memory):
        return Row(metrics=metrics | {"epoch": epoch})  # `Epoch 1 - Batch loss: 0.5` comes many times
    if memory.counted or memory.has_bars or memory.has_steps:
        return Row(metrics=metrics, step=memory.step)  # an epoch's result among its steps
    return Row(metrics=metrics, step=epoch, total=total)


def _is_below_heading(body: str, memory: Memory) -> bool:
    """Tell losses that stand below the line of their epoch; among numbered rows they are of an evaluation."""
    if memory.heading is None or memory.has_steps:
        return False
    return bool(_ONE_PAIR.fullmatch(body) or _ONE_LOSS.fullmatch(body))


def _is_one_of_many(epoch: int, metrics: dict[str, Number], memory: Memory) -> bool:
    """Tell a row that comes again and again within its epoch; two may be those of two ranks."""
    names = "|".join(metrics)
    if memory.many_names == names:
        return True
    is_same = memory.epoch_row == f"{epoch}|{names}"
    memory.epoch_rows = memory.epoch_rows + 1 if is_same else 1
    memory.epoch_row = f"{epoch}|{names}"
    if memory.epoch_rows < _MANY or memory.has_steps or memory.has_bars or memory.counted:
        return False
    memory.many_names, memory.counted = names, memory.epoch_rows - 1
    return True


def _metrics(text: str) -> dict[str, Number]:
    found = numbers.pairs(text)
    for match in _LOSS.finditer(text):
        value = numbers.number(match["value"])
        name = numbers.with_unit(match["name"].strip(), match["unit"])
        if value is not None and not any(known.endswith(name) for known in found):
            found[name] = value
    found = _fields(text) | found if "|" in text else found
    return {
        name: value for name, value in found.items() if name.lower().split()[-1].strip("[(") not in _NO_METRIC
    }


def _fields(text: str) -> dict[str, Number]:
    """Read `| norm 15.3 | lr 8.57e-07 |`, where bars stand for colons."""
    matches = filter(None, map(_FIELD.fullmatch, text.split("|")))
    return numbers.numeric(
        (numbers.with_unit(match["name"], match["unit"]), match["value"]) for match in matches
    )


def _is_result(name: str) -> bool:
    if _OTHER_LOSS.search(name):
        return False
    return meanings.is_loss(name) or meanings.canonical(name).removeprefix("eval_") in (
        meanings.ACCURACY,
        meanings.PERPLEXITY,
        meanings.REWARD,
    )


def _is_evaluation(text: str, metrics: dict[str, Number]) -> bool:
    losses = [name for name in metrics if meanings.is_loss(name)]
    if losses:
        return all(map(meanings.is_evaluation, losses))
    return re.search(r"\b(?:eval\w*|val(?:id\w*)?|test)\b", text, re.IGNORECASE) is not None
