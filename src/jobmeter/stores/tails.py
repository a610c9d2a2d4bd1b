"""Windows that are not yet, or never, worth a chunk: packed as they are, numbers only."""

import zlib
from collections.abc import Sequence

import msgspec

from jobmeter.model.view import Window
from jobmeter.stores import documents
from jobmeter.stores.codec import DamagedBlobError, Number

_LARGEST = 2**63
_NUMBERS = (int, float)

Row = tuple[float, int, dict[str, tuple[float, float]], dict[str, dict[str, Number]]]
_decoder = msgspec.msgpack.Decoder(list[Row])


def encode(windows: Sequence[Window]) -> bytes:
    """Pack windows; labels and tallies are left out."""
    try:
        packed = msgspec.msgpack.encode([_row(window) for window in windows])
    except (UnicodeEncodeError, OverflowError):
        packed = msgspec.msgpack.encode([_tame(_row(window)) for window in windows])
    return zlib.compress(packed, 3)


def decode(blob: bytes) -> list[Window]:
    """Unpack windows."""
    try:
        rows = _decoder.decode(zlib.decompress(blob))
    except (ValueError, zlib.error) as error:
        raise DamagedBlobError(f"cannot decode {len(blob)} bytes: {error}") from error
    return [_window(*row) for row in rows]


def _row(window: Window) -> Row:
    measured: dict[str, dict[str, Number]] = {}
    for (key, instance), value in window.values.items():
        if isinstance(value, _NUMBERS):
            measured.setdefault(key, {})[instance] = value
    return window.timestamp, window.num_samples, dict(window.clock), measured


def _tame(row: Row) -> Row:
    """Make a row of text and numbers that strict encoders refuse one that they take."""
    timestamp, num_samples, clock, measured = row
    return (
        timestamp,
        num_samples,
        {documents.clean(source): pair for source, pair in clock.items()},
        {
            documents.clean(key): {documents.clean(name): _number(value) for name, value in cells.items()}
            for key, cells in measured.items()
        },
    )


def _number(value: Number) -> Number:
    """Keep whole numbers of 64 bits whole; no kernel counts further."""
    return value if isinstance(value, float) or -_LARGEST <= value < _LARGEST else float(value)


def _window(
    timestamp: float,
    num_samples: int,
    clock: dict[str, tuple[float, float]],
    measured: dict[str, dict[str, Number]],
) -> Window:
    return Window(
        timestamp=timestamp,
        num_samples=num_samples,
        clock=clock,
        values={
            (key, instance): value for key, cells in measured.items() for instance, value in cells.items()
        },
    )
