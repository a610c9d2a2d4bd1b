"""One line of a run folder into values, however odd: a line that is no JSON object is None, and counted.

msgspec reads what the recorder writes. What it refuses but a person can still make sense of (bytes that
are not UTF-8, lone surrogates, NaN) goes through the standard library, bytes kept by surrogateescape.
"""

from datetime import UTC, datetime
from itertools import repeat

import msgspec

from jobmeter.model.run import Value
from jobmeter.model.view import Event, Step, Window

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


_decode_usage = msgspec.json.Decoder(_UsageLine).decode
_decode_object = msgspec.json.Decoder(dict[str, object]).decode


def record(line: bytes) -> Record | None:
    """Decode any record; None if the line is not one."""
    try:
        return _decode_object(line)
    except (ValueError, RecursionError):
        return _odd_record(line)


def _odd_record(line: bytes) -> Record | None:
    import json

    try:
        found = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


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
    )


def step(line: bytes) -> Step | None:
    """Decode one line of `steps.jsonl`; None if it is none."""
    found = record(line) or {}
    timestamp, count = moment(found.get("timestamp")), whole(found.get("step"))
    if timestamp is None or count is None:
        return None
    metrics = mapping(found.get("metrics")).items()
    return Step(
        timestamp=timestamp,
        step=count,
        rank=whole(found.get("rank")) or 0,
        source=text(found.get("source")) or "",
        metrics={k: float(v) for k, v in metrics if isinstance(v, int | float) and not isinstance(v, bool)},
    )


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
