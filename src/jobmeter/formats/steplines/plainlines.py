"""What any line of text says of a training by its shape alone: its metrics, its step, its epoch, and where they stand.

Conservative on purpose: settings, source code, tracebacks and prose hold the words of training too.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from jobmeter.formats.steplines import loggers, numbers, shapes
from jobmeter.formats.steplines.shapes import Span
from jobmeter.model import metrics as meanings

_STEP = re.compile(
    r"(?<![\w./-])"
    r"(?P<name>global[_ ]?step|steps?|(?:acc|cur|global)_iter|num_updates|iter(?:ation)?s?|updates?|"
    r"batch(?:[_ ](?:idx|id))?|it|episodes?)\b"
    r"(?:\.{3}|\s*[:=#])?\s*(?:\[|(?<!\w)\()?\s*(?P<number>\d+(?:,\d{3})*)(?:\s*/\s*(?P<total>\d+(?:,\d{3})*))?(?![\w.%]|,\d)",
    re.IGNORECASE,
)
_EPOCH = re.compile(
    r"(?<![\w./-])(?P<name>(?:epoch|ep)s?\b(?:\.{3}|\s*[:=#])?\s*[\[(]?|train\()\s*(?P<number>\d+)(?:\.\d+)?"
    r"(?:\s*/\s*(?P<total>\d+))?(?![\w%])",
    re.IGNORECASE,
)
_LOSS = re.compile(
    r"(?<![\w/])(?P<name>(?:(?!(?:with|and|the|has|its|at|in)\b)[A-Za-z][\w@/-]* )?"
    r"[\w/-]*(?:loss(?:es)?|ppl|perplexity|nll|bpb|reward|acc(?:uracy)?))\b"
    rf"\s*(?:[:=]|\bis\b|\s)\s*(?P<value>{numbers.NUMBER})\s?(?P<unit>{numbers.UNIT})?(?!\w|[.,]\w)",
    re.IGNORECASE,
)
_FIELD = re.compile(
    rf"\s*(?P<name>[A-Za-z][\w/]*(?: [A-Za-z][\w/]*)?) (?P<value>{numbers.NUMBER})"
    rf"\s?(?P<unit>{numbers.UNIT})?\s*(?:\([^()]*\))?\s*",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[{}]|\d ?(?:->|=>|→) ?-?\d|\\n|[=(] ?[a-z]?[\"']|\bdef |\breturn\b|\bFile \"|\bimport |\w\(.*\bloss\b.*[,=].*\)\s*$|://|==|%[sdf]"
)
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
_BITS = re.compile(r"(?:^|[\W_])(?:nll|bpb|bits_per_byte)$", re.IGNORECASE)
_ALIGNED = re.compile(r"\w {2,}= ")
"""A block of figures of the whole run, as the Trainer prints at its end."""
_BLANKS = re.compile(r"\s+")
_WITHIN_EPOCH = re.compile(r"\b(?:batch|step|iter(?:ation)?)\b", re.IGNORECASE)
_SPLIT = r"(?P<split>eval(?:uation|uating)?|val(?:id(?:ation|ating)?)?|test(?:ing)?|dev|cv)"
_OF_SPLIT = re.compile(
    rf"^\W*{_SPLIT}(?![\w./@-])|[|\[(]\s*{_SPLIT.replace('split', 'field')}\s*[|\])]"
    rf"|\b(?:phase|split|mode|subset|dataset)\s*[:=]\s*{_SPLIT.replace('split', 'said')}\b",
    re.IGNORECASE,
)
"""A line that is about data held back: `val Loss: 0.1 Acc: 0.9`, `Epoch 5 | test | loss 0.6`, `split=val loss=0.6`."""
_HELD_BACK = re.compile(r"\b(?:eval\w*|val(?:id\w*)?|test)\b", re.IGNORECASE)
_NO_METRIC = frozenset(
    (
        "step",
        "steps",
        "iter",
        "iters",
        "iteration",
        "iterations",
        "global_step",
        "num_updates",
        "update",
        "updates",
        "acc_iter",
        "cur_iter",
        "batch",
        "batch_id",
        "batch_idx",
        "idx",
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
_CALLER = re.compile(
    r"(?<![\w./-])[\w./-]+\.(?:py|c|cc|cpp|cu|h):\d+(?::\w+)?|(?<![\w./-])[\w.]+:[\w<>]+:\d+(?= - )"
)
"""Where a logger says it was called."""
_RANK = re.compile(r"(?<![\w-])rank\s*[:=]\s*(?P<rank>\d{1,6})(?!\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a line says how far something is."""

    name: str
    number: Span
    total: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What lines of one shape say, and where."""

    values: tuple[numbers.Spelled, ...]
    is_evaluation: bool
    is_of_split: bool
    """The whole line is about data held back: a step in it may be a batch of them."""
    step: Place | None
    epoch: Place | None
    rank: Span | None
    is_pairs: bool
    """It is nothing but pairs of names and numbers."""
    is_loss: bool
    """It is nothing but a loss."""
    may_be_below_heading: bool
    """It is a loss or pairs, as they stand below the line of their epoch."""
    is_within_epoch: bool
    """Its metrics are those of a batch or a step."""


def read(text: str) -> Said | None:
    """Find what a line says; None where it tells no result of a training."""
    said, is_certain = _said(shapes.of(text))
    return said if is_certain else _said.__wrapped__(text)[0]


def may_say(shape: str) -> bool:
    """Tell whether lines may tell a result that are this one, with a zero for every digit."""
    if _CODE.search(shape):
        return False
    rest = _Rest(shape)
    rest.replace(_CALLER, "")
    # of what stands between commas only names that are known count, and a name may be known by its digit
    return bool(_values(rest.text) or _fields(rest.text, ","))


@lru_cache(maxsize=shapes.MOST)
def _said(shape: str) -> tuple[Said | None, bool]:
    if _CODE.search(shape):
        return None, True
    rest = _Rest(shape)
    rest.replace(_CALLER, "")
    values = _values(rest.text)
    if not any(map(_is_result, values)):
        return None, True
    spans = [(name, rest.origin(found.value)) for name, found in values.items()]
    is_certain = all(shapes.is_name(shape, rest.origin(found.name)) for found in values.values())
    is_evaluation = _is_evaluation(rest.text, values)
    rest.cut(len(rest.text) - len(loggers.message(rest.text)))
    rest.replace(_BLANKS, " ")
    split = _split(rest.text)
    if split is not None:
        spans = [(_of_split(name, split), span) for name, span in spans]
    rank = _RANK.search(rest.text)
    said = Said(
        values=tuple((name, *span, numbers.reader_of(shape[slice(*span)])) for name, span in spans),
        is_evaluation=is_evaluation or split is not None,
        is_of_split=split is not None,
        step=_place(_STEP, rest),
        epoch=_place(_EPOCH, rest),
        rank=rest.origin(rank.span("rank")) if rank else None,
        is_pairs=_ONLY_PAIRS.fullmatch(rest.text) is not None,
        is_loss=_ONLY_LOSS.fullmatch(rest.text) is not None and _ALIGNED.search(shape) is None,
        may_be_below_heading=bool(_ONE_PAIR.fullmatch(rest.text) or _ONE_LOSS.fullmatch(rest.text)),
        is_within_epoch=any(map(_WITHIN_EPOCH.search, values)),
    )
    return said, is_certain


class _Rest:
    """What is left of a text, and where in it each character stood."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._places = list(range(len(text)))

    def replace(self, pattern: re.Pattern[str], by: str) -> None:
        """Put at most one character in place of all that a pattern finds."""
        parts: list[str] = []
        places: list[int] = []
        done = 0
        for found in pattern.finditer(self.text):
            parts += self.text[done : found.start()], by
            places += self._places[done : found.start() + len(by)]
            done = found.end()
        self.text = "".join((*parts, self.text[done:]))
        self._places = places + self._places[done:]

    def cut(self, length: int) -> None:
        """Drop the beginning."""
        self.text, self._places = self.text[length:], self._places[length:]

    def origin(self, span: Span) -> Span:
        """Say where a part of it stood."""
        return self._places[span[0]], self._places[span[1] - 1] + 1


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a metric's name and value stand."""

    name: Span
    value: Span


def _place(pattern: re.Pattern[str], rest: _Rest) -> Place | None:
    found = pattern.search(rest.text)
    if found is None:
        return None
    total = rest.origin(found.span("total")) if found["total"] else None
    return Place(name=found["name"].lower(), number=rest.origin(found.span("number")), total=total)


def _values(text: str) -> dict[str, _Found]:
    found = dict(_measured(numbers.PAIR.finditer(text[: numbers.LONGEST])))
    for name, place in _measured(_LOSS.finditer(text)):
        if not any(known.endswith(name) for known in found):
            found[name] = place
    if "|" in text:
        found = _fields(text, "|") | found
    elif ", " in text:
        listed = _fields(text, ",")
        found |= {name: listed[name] for name in listed if name not in found and meanings.is_known(name)}
    return {
        name: place for name, place in found.items() if name.lower().split()[-1].strip("[(") not in _NO_METRIC
    }


def _fields(text: str, mark: str) -> dict[str, _Found]:
    """Read `| norm 15.3 | lr 8.57e-07 |`, where bars or commas part what has no colons."""
    found: dict[str, _Found] = {}
    start = 0
    for field in text.split(mark):
        match = _FIELD.fullmatch(text, start, start + len(field))
        if match is not None:
            name = numbers.with_unit(match["name"], match["unit"])
            found[name] = _Found(match.span("name"), match.span("value"))
        start += len(field) + 1
    return found


def _measured(matches: Iterable[re.Match[str]]) -> Iterator[tuple[str, _Found]]:
    for match in matches:
        value = numbers.number(match["value"])
        name = numbers.with_unit(match["name"].strip(), match["unit"])
        if value is not None and not numbers.is_unmeasured(name, value):
            yield name, _Found(match.span("name"), match.span("value"))


def _is_result(name: str) -> bool:
    if _OTHER_LOSS.search(name):
        return False
    if _BITS.search(name):
        return True
    return meanings.is_loss(name) or meanings.canonical(name).removeprefix("eval_") in (
        meanings.ACCURACY,
        meanings.PERPLEXITY,
        meanings.REWARD,
    )


def _split(text: str) -> str | None:
    """Find whose data a line is about, where they are not those of the training."""
    found = _OF_SPLIT.search(text)
    if found is None:
        return None
    word = (found["split"] or found["field"] or found["said"]).lower()
    return next(short for short in ("eval", "val", "test", "dev", "cv") if word.startswith(short)).replace(
        "cv", "val"
    )


def _of_split(name: str, split: str) -> str:
    if meanings.is_evaluation(name) or not _is_result(name):
        return name
    return f"{split} {name}"


def _is_evaluation(text: str, names: Iterable[str]) -> bool:
    losses = [name for name in names if meanings.is_loss(name)]
    if losses:
        return all(map(meanings.is_evaluation, losses))
    return _HELD_BACK.search(text) is not None
