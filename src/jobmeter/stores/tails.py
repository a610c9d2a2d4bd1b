"""Windows that are not yet, or never, worth a chunk: packed as they are, numbers only."""

import zlib
from collections.abc import Sequence

import msgspec

from jobmeter.model.view import Window
from jobmeter.stores import documents
from jobmeter.stores.codec import DamagedBlobError, Number

_LARGEST = 2**63

Row = tuple[float, int, dict[str, tuple[float, float]], dict[str, dict[str, Number]]]
_decoder = msgspec.msgpack.Decoder(list[Row])


def encode(windows: Sequence[Window]) -> bytes:
    """Pack windows; labels and tallies are left out."""
    rows = [_row(window) for window in windows]
    return zlib.compress(msgspec.msgpack.encode(rows), 3)


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
        if isinstance(value, int | float):
            measured.setdefault(_text(key), {})[_text(instance)] = _number(value)
    clock = {_text(source): pair for source, pair in window.clock.items()}
    return window.timestamp, window.num_samples, clock, measured


def _text(text: str) -> str:
    return text if text.isascii() else documents.clean(text)


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
