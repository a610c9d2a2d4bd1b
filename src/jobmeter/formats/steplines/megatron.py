"""Megatron-LM and its relatives: `iteration 1/ 500000 | consumed samples: 32 | ... | lm loss: 3.0E+00 | ... |`.

Every line ends with `number of nan iterations: 0`: the word nan in a line says nothing.
"""

import re
from functools import lru_cache

from jobmeter.formats.steplines import numbers, shapes
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row

_ITERATION = re.compile(r"\biteration\s+(?P<step>\d+)\s*(?:/\s*(?P<total>\d+|infinity))?\s*\|")
_EVALUATION = re.compile(
    r"(?P<set>validation|test|valid) loss at (?:iteration )?(?P<step>\d+)?[^|]*\|", re.IGNORECASE
)
_BARE = re.compile(rf"\s*(?P<name>[a-z][a-z -]*[a-z])\s+(?P<value>{numbers.NUMBER})\s*", re.IGNORECASE)
_SHOWN = 2


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    return "iteration" in shape and "|" in shape


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
    places, is_certain = _places(shapes.of(text))
    return numbers.values(text, places if is_certain else _places.__wrapped__(text)[0])


@lru_cache(maxsize=shapes.MOST)
def _places(shape: str) -> tuple[tuple[numbers.Spelled, ...], bool]:
    """Find the fields of lines of a shape, and whether they have the same names in all of them."""
    places: list[numbers.Spelled] = []
    is_certain = True
    start = 0
    for field in shape.split("|"):
        named = _colon(field) or _bare(field)
        if named is not None:
            name, (begin, end) = named
            places.append((name.strip(), start + begin, start + end, numbers.reader_of(field[begin:end])))
            is_certain = is_certain and shapes.is_name(shape, (start, start + len(name)))
        start += len(field) + 1
    return tuple(places), is_certain


def _colon(field: str) -> tuple[str, shapes.Span] | None:
    name, colon, value = field.rpartition(":")
    # some print the value and its mean: 13100.0/13240.9
    value = value.partition("/")[0] if "/" not in name else value
    if not colon or numbers.number(value) is None:
        return None
    return name, (len(name) + 1, len(name) + 1 + len(value))


def _bare(field: str) -> tuple[str, shapes.Span] | None:
    """Read a field of the first releases, which wrote no colons."""
    bare = _BARE.fullmatch(field)
    if bare is None or numbers.number(bare["value"]) is None:
        return None
    return bare["name"], bare.span("value")
