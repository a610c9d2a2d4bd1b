"""Steps that are not yet, or never, worth a block: packed as they are."""

import zlib
from collections.abc import Sequence

import msgspec

from jobmeter.model.steps import Number, Step
from jobmeter.stores import documents
from jobmeter.stores.codec import DamagedBlobError

_LARGEST = 2**63

_Row = tuple[int, float | None, dict[str, int | float | str]]
_decoder = msgspec.msgpack.Decoder(list[_Row])


def encode(steps: Sequence[Step]) -> bytes:
    """Pack the steps of one writer, source and rank."""
    packed = [(step.step, step.timestamp, _cells(step.metrics)) for step in steps]
    return zlib.compress(msgspec.msgpack.encode(packed), 3)


def decode(blob: bytes) -> list[Step]:
    """Unpack steps; who told them is known to whoever keeps the blob."""
    try:
        found = _decoder.decode(zlib.decompress(blob))
        return [
            Step(timestamp=timestamp, step=step, rank=0, source="", metrics=_numbers(cells))
            for step, timestamp, cells in found
        ]
    except (ValueError, zlib.error) as error:
        raise DamagedBlobError(f"cannot decode {len(blob)} bytes: {error}") from error


def _cells(metrics: dict[str, Number]) -> dict[str, int | float | str]:
    return {
        name if name.isascii() else documents.clean(name): value
        if isinstance(value, float) or -_LARGEST <= value < _LARGEST
        else str(value)
        for name, value in metrics.items()
    }


def _numbers(cells: dict[str, int | float | str]) -> dict[str, Number]:
    """Read back what was too large for a machine word."""
    if str not in set(map(type, cells.values())):
        return cells  # type: ignore[return-value]  # numbers only
    return {name: int(value) if isinstance(value, str) else value for name, value in cells.items()}
