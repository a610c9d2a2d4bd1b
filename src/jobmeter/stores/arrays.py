"""Columns out of the codec as machine words: by the standard library, or by numpy where there are many.

Importing numpy costs about as much CPU as decoding 700,000 values without it.
"""

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from jobmeter.model.steps import Number, packed
from jobmeter.stores import codec

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANY_VALUES = 700_000

Decode = Callable[[bytes], Sequence[Number]]


def decoder(values: int) -> Decode:
    """Choose how to unpack so many values."""
    return decode_fast if values > MANY_VALUES or "numpy" in sys.modules else decode


def all_of(blobs: Sequence[bytes], values: int) -> list[Sequence[Number]]:
    """Unpack columns that hold so many values together."""
    return decode_all(blobs) if decoder(values) is decode_fast else [decode(blob) for blob in blobs]


def decode(blob: bytes) -> Sequence[Number]:
    """Unpack a column without numpy."""
    return packed(codec.decode(blob))


def decode_fast(blob: bytes) -> Sequence[Number]:
    """Unpack a column by numpy."""
    return decode_all([blob])[0]


def decode_all(blobs: Sequence[bytes]) -> list[Sequence[Number]]:
    """Unpack many columns by numpy, those of one shape together: alone each costs more than its values do."""
    try:
        bodies = [zlib.decompress(blob) for blob in blobs]
        shapes: dict[_Shape, list[int]] = {}
        heads = [codec.HEAD.unpack_from(body) for body in bodies]
        for place, (code, width, _, _, count) in enumerate(heads):
            shapes.setdefault((code, width, count), []).append(place)
        found: list[Sequence[Number]] = [()] * len(bodies)
        for shape, places in shapes.items():
            columns = _unpack(shape, [heads[place] for place in places], [bodies[place] for place in places])
            for place, column in zip(places, columns, strict=True):
                found[place] = column
    except (ValueError, OverflowError, struct.error, zlib.error) as error:
        raise codec.DamagedBlobError(f"cannot decode {sum(map(len, blobs))} bytes: {error}") from error
    return found


_Shape = tuple[int, int, int]
"""Form, bytes a residual, number of values."""
_Head = tuple[int, int, int, int, int]


def _unpack(shape: _Shape, heads: Sequence[_Head], bodies: Sequence[bytes]) -> Iterable[Sequence[Number]]:
    import numpy as np

    code, width, count = shape
    form = codec.Form(code & ~codec.DIFFERENCES)
    if form is codec.Form.TEXT:
        return [packed(json.loads(body[codec.HEAD.size :])) for body in bodies]
    if any(len(body) - codec.HEAD.size != width * count for body in bodies) or width > 8:
        raise ValueError("wrong length")
    raw = b"".join(body[codec.HEAD.size :] for body in bodies)
    planes = np.frombuffer(raw, np.uint8).reshape(len(bodies), width, count)
    cells = np.zeros((len(bodies), count, 8), np.uint8)
    cells[:, :, :width] = planes.transpose(0, 2, 1)
    words = cells.view("<u8")[:, :, 0].astype(np.uint64, copy=False)
    if form is codec.Form.BITS:
        return _words("d", np.bitwise_xor.accumulate(words, axis=1))
    # modulo 2^64 sums of whole numbers of 64 bits are exact
    words = words + np.array([head[3] % 2**64 for head in heads], np.uint64)[:, np.newaxis]
    if code & codec.DIFFERENCES:
        words[:, 0] = [head[2] % 2**64 for head in heads]
        words = np.add.accumulate(words, axis=1)
    scale = codec.SCALES.get(form)
    return _words("q", words) if scale is None else _words("d", words.view(np.int64) / scale)


def _words(kind: str, rows: "NDArray[Any]") -> Iterator[Sequence[Number]]:
    for row in rows:
        made: array[float] = array(kind)
        made.frombytes(row.tobytes())
        yield made


def join(parts: Iterable[Sequence[Number]]) -> Sequence[Number]:
    """Put consecutive stretches of one column together."""
    known = list(parts)
    kinds = {part.typecode if isinstance(part, array) else "" for part in known}
    if len(kinds) != 1 or "" in kinds:
        return packed(list(chain.from_iterable(known)))
    # laid out in one piece first: growing with every part would move what is there
    one: array[float] = array(kinds.pop(), b"\0" * 8)
    whole = one * sum(map(len, known))
    room, at = memoryview(whole), 0
    for part in known:
        room[at : at + len(part)] = part  # type: ignore[call-overload]  # an array of the same kind
        at += len(part)
    return whole
