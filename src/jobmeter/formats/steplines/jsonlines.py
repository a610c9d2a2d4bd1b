"""JSON objects on a line of their own, or after a logger's prefix, that hold a step and something measured."""

import json
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from jobmeter.formats.steplines import clocks, numbers
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row, step_over_epochs
from jobmeter.model import metrics as meanings

_STEPS = (
    "step",
    "global_step",
    "_step",
    "iteration",
    "current_step",
    "current_steps",
    "train_step",
    "trainer/global_step",
    "num_updates",
    "iter",
    "update",
)
_TOTALS = ("total_steps", "max_steps", "num_steps", "total_iterations", "max_iters")
_CLOCKS = (
    "timestamp",
    "_timestamp",
    "ts",
    "time",
    "datetime",
    "created_at",
    "updated_at",
    "wall_time",
    "asctime",
)
_NO_METRIC = frozenset(
    (*_STEPS, *_TOTALS, "rank", "local_rank", "world_size", "pid", "n_parameters", "_runtime")
)
_CODE = ("=", "(", '"', "'")
"""Before an object these are source, or the object is within a text."""
_FIRST_MOMENT = 1e9
_MILLISECONDS = 1e11
_LAST_MOMENT = 1e14
_MOST_NAMES = 256


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    return shape.rstrip().endswith("}") and '{"' in shape


def parse(text: str, memory: Memory) -> Row | None:
    """Read an object that has a step, or an epoch, and a metric of training."""
    start = text.find('{"')
    end = text.rfind("}")
    if start < 0 or end < start or text[end + 1 :].strip() or text[:start].rstrip().endswith(_CODE):
        return None
    given = _object(text[start : end + 1])
    if given is None:
        return None
    clock, moment = _moment(given)
    metrics = {
        name: value
        for name, value in numbers.numeric(_flat(given)).items()
        if name not in _NO_METRIC and name != clock
    }
    shows, is_evaluation = _kind(tuple(metrics))
    if not shows:
        return None
    if given.get("mode") in ("val", "eval"):
        named = {name if meanings.is_evaluation(name) else f"val/{name}": metrics[name] for name in metrics}
        return Row(metrics=named, step=memory.step, phase=Phase.EVAL, timestamp=moment)
    step = _step(given, memory)
    if step is None:
        return None
    phase = Phase.EVAL if is_evaluation else Phase.TRAIN
    return Row(
        metrics=metrics,
        step=step,
        phase=phase,
        total=_first_whole(given, _TOTALS),
        timestamp=moment,
        rank=numbers.whole(given.get("rank")),
    )


def _object(text: str) -> dict[object, object] | None:
    """Read an object; None where there are braces, but no JSON."""
    try:
        given: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        # Python's own reader takes NaN, and is ten times slower
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            return None
    return given if isinstance(given, dict) else None


@lru_cache(maxsize=_MOST_NAMES)
def _kind(names: tuple[str, ...]) -> tuple[bool, bool]:
    """Tell whether metrics are of a training, and whether all of them are of an evaluation."""
    shows = any(meanings.is_loss(name) or _is_shown(name) for name in names)
    return shows, all(map(meanings.is_evaluation, names))


def _step(given: dict[object, object], memory: Memory) -> int | None:
    step, epoch = _first_whole(given, _STEPS), _first_whole(given, ("epoch",))
    if step is not None and epoch is not None and "mode" in given:
        return step_over_epochs(memory, epoch, step)  # mmcv counts within the epoch
    return epoch if step is None else step


def _flat(given: dict[object, object]) -> Iterator[tuple[object, object]]:
    """Walk an object and the objects in it."""
    for name, value in given.items():
        if isinstance(value, dict):
            yield from ((f"{name}/{inner}", item) for inner, item in value.items())
            continue
        yield name, value


def _is_shown(name: str) -> bool:
    return meanings.canonical(name) in (
        meanings.LR,
        meanings.REWARD,
        meanings.ACCURACY,
        meanings.PERPLEXITY,
        meanings.TOKENS_PER_SECOND,
        meanings.SAMPLES_PER_SECOND,
    )


def _first_whole(given: dict[object, object], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = numbers.whole(given[name]) if name in given else None
        if value is not None:
            return value
    return None


def _moment(given: dict[object, object]) -> tuple[str | None, float | None]:
    """Find the field that holds a moment, as a number or as a date; `time` is often a duration instead."""
    for name in _CLOCKS:
        value: Number | None = numbers.number(given.get(name))
        if value is None:
            read = clocks.read(str(given[name])) if isinstance(given.get(name), str) else None
            if read is not None:
                return name, read[0]
            continue
        if _FIRST_MOMENT <= value < _LAST_MOMENT:
            return name, value / 1000 if value >= _MILLISECONDS else float(value)
    return None, None
