"""One line of a run folder into values, however odd: a line that is no JSON object is None, and counted.

msgspec reads what the recorder writes. What it refuses but a person can still make sense of (bytes that
are not UTF-8, lone surrogates, NaN) goes through the standard library, bytes kept by surrogateescape.
"""

import re
from datetime import UTC, datetime
from itertools import repeat
from typing import Annotated

import msgspec

from jobmeter.model.run import Value
from jobmeter.model.steps import Number, Step, from_json
from jobmeter.model.view import Event, Window

Record = dict[str, object]
Clock = dict[str, tuple[float, float]]
Cell = Value | dict[str, int]

_SCALARS = frozenset((int, float, str))


class _Names(dict[str, tuple[str, str]]):
    """Key and empty instance by key: the same tuple every time, so that equal windows compare fast."""

    def __missing__(self, key: str) -> tuple[str, str]:
        name = self[key] = (key, "")
        return name


class _UsageLine(msgspec.Struct):
    timestamp: datetime
    measurements: dict[str, object]
    num_samples: int = 1
    clock: Clock = {}


_Word = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_WORD = 2**63


class _StepLine(msgspec.Struct, gc=False):
    step: _Word
    metrics: dict[str, _Word | float]
    timestamp: datetime | None = None
    rank: _Word = 0
    source: str = ""


class _WordedStepLine(msgspec.Struct, gc=False):
    step: _Word
    metrics: dict[str, _Word | float | str]
    timestamp: datetime | None = None
    rank: _Word = 0
    source: str = ""


_decode_step = msgspec.json.Decoder(_StepLine).decode
_decode_worded_step = msgspec.json.Decoder(_WordedStepLine).decode
_decode_usage = msgspec.json.Decoder(_UsageLine).decode
_decode_object = msgspec.json.Decoder(dict[str, object]).decode


def record(line: bytes) -> Record | None:
    """Decode any record; None if the line is not one."""
    try:
        found = _decode_object(line)
        return found if _HUGE.search(line) is None else mapping(_spelt(found))
    except (ValueError, RecursionError):
        return _odd_record(line)


def _odd_record(line: bytes) -> Record | None:
    import json

    try:
        found = _spelt(json.loads(line.decode("utf-8", "surrogateescape")))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


_HUGE = re.compile(rb"\d{309}")


def _spelt(value: object) -> object:
    """Write whole numbers that no float is near as text: whatever calculates with one of them would end."""
    match value:
        case dict():
            return {name: _spelt(one) for name, one in value.items()}
        case list():
            return [_spelt(one) for one in value]
        case int() if not -_LARGEST <= value <= _LARGEST:
            return str(value)
        case _:
            return value


def moment(text: object) -> float | None:
    """Read an ISO 8601 time as seconds since the epoch; one without a zone is UTC."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return _seconds(found)


def _seconds(found: datetime) -> float:
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


class WindowReader:
    """Lines of `usage.jsonl` into windows; counts the lines that are none."""

    def __init__(self) -> None:
        self.bad = 0
        self._names = _Names()

    def read(self, lines: list[bytes]) -> list[Window]:
        """Decode what can be decoded, in order; an empty line is nothing."""
        windows = []
        for line in lines:
            window = self._window(line)
            if window is not None:
                windows.append(window)
            elif line.strip():
                self.bad += 1
        return windows

    def _window(self, line: bytes) -> Window | None:
        try:
            found = _decode_usage(line)
        except (ValueError, RecursionError):
            return self._odd_window(line)
        return Window(
            timestamp=_seconds(found.timestamp),
            num_samples=found.num_samples,
            clock=found.clock,
            values=self._values(found.measurements),
        )

    def _odd_window(self, line: bytes) -> Window | None:
        found = record(line)
        if found is None:
            return None
        timestamp, measured, samples = (
            moment(found.get("timestamp")),
            found.get("measurements"),
            found.get("num_samples"),
        )
        if timestamp is None or not isinstance(measured, dict):
            return None
        return Window(
            timestamp=timestamp,
            num_samples=samples if isinstance(samples, int) else 1,
            clock=_clock(found.get("clock")),
            values=self._values(measured),
        )

    def _values(self, measured: dict[str, object]) -> dict[tuple[str, str], Cell]:
        if _SCALARS.issuperset(map(type, measured.values())):
            return dict(zip(map(self._names.__getitem__, measured), measured.values(), strict=True))  # type: ignore[arg-type]  # all scalars
        values: dict[tuple[str, str], Cell] = {}
        for key, value in measured.items():
            if isinstance(value, dict):
                cells = value if _SCALARS.issuperset(map(type, value.values())) else _cells(value)
                values.update(zip(zip(repeat(key), cells), cells.values(), strict=False))
            elif type(value) in _SCALARS:
                values[self._names[key]] = value  # type: ignore[assignment]  # one of the scalars
        return values


def _cells(raw: Record) -> dict[str, Cell]:
    return {instance: cell for instance, value in raw.items() if (cell := _cell(value)) is not None}


def _cell(raw: object) -> Cell | None:
    """Accept a value or a tally; null and true are no measurements."""
    if isinstance(raw, dict):
        return {str(state): seen for state, seen in raw.items() if isinstance(seen, int)}
    return raw if type(raw) in _SCALARS else None  # type: ignore[return-value]  # one of the scalars


def _clock(raw: object) -> Clock:
    clock: Clock = {}
    for source, pair in raw.items() if isinstance(raw, dict) else ():
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(end, int | float) for end in pair):
            clock[str(source)] = float(pair[0]), float(pair[1])
    return clock


def event(line: bytes) -> Event | None:
    """Decode one line of `events.jsonl`; None if it is none."""
    found = record(line)
    timestamp = None if found is None else moment(found.get("timestamp"))
    if found is None or timestamp is None:
        return None
    return Event(
        timestamp=timestamp,
        type=str(found.get("type", "unknown")),
        details=mapping(found.get("details")),
        config=mapping(found.get("config")),
        measurements={
            k: v for k, v in mapping(found.get("measurements")).items() if isinstance(v, int | float | str)
        },
        rank=whole(found.get("rank")),
    )


def step(line: bytes) -> Step | None:
    """Decode one line of a `steps` file; None if it is none."""
    try:
        found = _decode_step(line)
    except (ValueError, RecursionError):
        return _worded_step(line)
    return _made(found.timestamp, found.step, found.rank, found.source, found.metrics)


def _made(moment: datetime | None, count: int, rank: int, source: str, metrics: dict[str, Number]) -> Step:
    """Make a step in half the time its own frozen `__init__` takes; long runs have millions."""
    made: Step = object.__new__(Step)
    _set_timestamp(made, None if moment is None else _seconds(moment))
    _set_step(made, count)
    _set_rank(made, rank)
    _set_source(made, source)
    _set_metrics(made, metrics)
    return made


_set_timestamp, _set_step, _set_rank, _set_source, _set_metrics = (
    Step.__dict__[name].__set__ for name in ("timestamp", "step", "rank", "source", "metrics")
)


def _worded_step(line: bytes) -> Step | None:
    """Read a step with values that are not finite."""
    try:
        found = _decode_worded_step(line)
    except (ValueError, RecursionError):
        return _odd_step(line)
    metrics = {key: value for key, raw in found.metrics.items() if (value := from_json(raw)) is not None}
    return _made(found.timestamp, found.step, found.rank, found.source, metrics)


def _odd_step(line: bytes) -> Step | None:
    """Read a step with values that are very large or no metrics at all, or with an odd time."""
    found = record(line) or {}
    count, rank = whole(found.get("step")), whole(found.get("rank")) or 0
    if count is None or not -_WORD <= count < _WORD or not -_WORD <= rank < _WORD:
        return None
    metrics = {key: from_json(value) for key, value in mapping(found.get("metrics")).items()}
    return Step(
        timestamp=moment(found.get("timestamp")),
        step=count,
        rank=rank,
        source=text(found.get("source")) or "",
        metrics={key: value for key, value in metrics.items() if value is not None and _fits(value)},
    )


def _fits(value: Number) -> bool:
    """Refuse whole numbers that no float is near: no store sorts them, no chart shows them."""
    return isinstance(value, float) or -_LARGEST <= value <= _LARGEST


def mapping(raw: object) -> Record:
    """Take a JSON object, or nothing."""
    return raw if isinstance(raw, dict) else {}


def text(raw: object) -> str | None:
    """Take a JSON string, or nothing."""
    return raw if isinstance(raw, str) else None


def whole(raw: object) -> int | None:
    """Take a whole number, or nothing."""
    return raw if isinstance(raw, int) and not isinstance(raw, bool) else None


def number(raw: object) -> float | None:
    """Take a finite number, or nothing."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    # a whole number may be too large for any float, and for every store
    return raw if -_LARGEST <= raw <= _LARGEST else None


_LARGEST = 1.7e308
