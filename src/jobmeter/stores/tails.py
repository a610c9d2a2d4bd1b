"""Windows that are not yet, or never, worth a chunk: packed by what they have in common, numbers only.

Most windows of a run name the same keys, so names are written once for all windows of a kind.
"""

import zlib
from collections.abc import Sequence

import msgspec

from jobmeter.model.view import Window
from jobmeter.stores import documents
from jobmeter.stores.codec import DamagedBlobError, Number, storable

_LARGEST = 2**63
_NUMBERS = frozenset((int, float))
_LEVEL = 3
_MARK = b"\1"
"""Begins what is packed so; zlib begins older blobs, of rows that name every key."""

Name = tuple[str, str]
Clock = dict[str, tuple[float, float]]
Row = tuple[float, int, Clock, int, list[Number]]
"""When, how many samples, the clock of each source, which names, and the values of these."""
Packed = tuple[list[list[Name]], list[Row]]
OldRow = tuple[float, int, Clock, dict[str, dict[str, Number]]]

_decoder = msgspec.msgpack.Decoder(Packed)
_old_decoder = msgspec.msgpack.Decoder(list[OldRow])


def encode(windows: Sequence[Window]) -> bytes:
    """Pack windows; labels and tallies are left out."""
    packed = _packed(windows)
    try:
        raw = msgspec.msgpack.encode(packed)
    except (UnicodeEncodeError, OverflowError):
        raw = msgspec.msgpack.encode(_tame(packed))
    return _MARK + zlib.compress(raw, _LEVEL)


def decode(blob: bytes) -> list[Window]:
    """Unpack windows."""
    try:
        if blob[:1] != _MARK:
            return [_old_window(*row) for row in _old_decoder.decode(zlib.decompress(blob))]
        kinds, rows = _decoder.decode(zlib.decompress(blob[1:]))
        return [_window(kinds, row) for row in rows]
    except (ValueError, IndexError, zlib.error) as error:
        raise DamagedBlobError(f"cannot decode {len(blob)} bytes: {error}") from error


def _packed(windows: Sequence[Window]) -> Packed:
    kinds: dict[tuple[Name, ...], int] = {}
    rows: list[Row] = []
    names_before: list[Name] | None = None
    kind = 0
    for window in windows:
        values = list(window.values.values())
        names = list(window.values)
        if not _NUMBERS.issuperset(map(type, values)):
            told = [(name, value) for name, value in window.values.items() if type(value) in _NUMBERS]
            names, values = [name for name, _ in told], [value for _, value in told]
        if names != names_before:
            names_before = names
            kind = kinds.setdefault(tuple(names), len(kinds))
        rows.append((window.timestamp, window.num_samples, dict(window.clock), kind, values))  # type: ignore[arg-type]  # numbers
    return [list(names) for names in kinds], rows


def _tame(packed: Packed) -> Packed:
    """Make text and numbers that strict encoders refuse such that they take."""
    kinds, rows = packed
    return (
        [[(documents.clean(key), documents.clean(instance)) for key, instance in names] for names in kinds],
        [
            (
                at,
                samples,
                {documents.clean(source): pair for source, pair in clock.items()},
                kind,
                _whole(values),
            )
            for at, samples, clock, kind, values in rows
        ],
    )


def _whole(values: list[Number]) -> list[Number]:
    """Keep whole numbers of 64 bits whole; asked here, for there are very many."""
    return [
        value if isinstance(value, float) or -_LARGEST <= value < _LARGEST else storable(value)
        for value in values
    ]


def _window(kinds: list[list[Name]], row: Row) -> Window:
    timestamp, num_samples, clock, kind, values = row
    return Window(
        timestamp=timestamp,
        num_samples=num_samples,
        clock=clock,
        values=dict(zip(kinds[kind], values, strict=True)),
    )


def _old_window(
    timestamp: float, num_samples: int, clock: Clock, measured: dict[str, dict[str, Number]]
) -> Window:
    return Window(
        timestamp=timestamp,
        num_samples=num_samples,
        clock=clock,
        values={
            (key, instance): value for key, cells in measured.items() for instance, value in cells.items()
        },
    )
