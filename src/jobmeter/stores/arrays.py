"""Columns out of the codec as machine words: by the standard library, or by numpy where there are many.

Importing numpy costs about as much CPU as decoding 700,000 values without it.
"""

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from jobmeter.model.steps import Number, packed
from jobmeter.stores import codec

MANY_VALUES = 700_000

Decode = Callable[[bytes], Sequence[Number]]


def decoder(values: int) -> Decode:
    """Choose how to unpack so many values."""
    return decode_fast if values > MANY_VALUES or "numpy" in sys.modules else decode


def decode(blob: bytes) -> Sequence[Number]:
    """Unpack a column without numpy."""
    return packed(codec.decode(blob))


def decode_fast(blob: bytes) -> Sequence[Number]:
    """Unpack a column by numpy."""
    try:
        return _unpack(zlib.decompress(blob))
    except (ValueError, OverflowError, struct.error, zlib.error) as error:
        raise codec.DamagedBlobError(f"cannot decode {len(blob)} bytes: {error}") from error


def _unpack(body: bytes) -> Sequence[Number]:
    import numpy as np

    code, width, first, least, count = codec.HEAD.unpack_from(body)
    form = codec.Form(code & ~codec.DIFFERENCES)
    if form is codec.Form.TEXT:
        return packed(json.loads(body[codec.HEAD.size :]))
    if len(body) - codec.HEAD.size != width * count or width > 8:
        raise ValueError("wrong length")
    planes = np.frombuffer(body, np.uint8, width * count, codec.HEAD.size).reshape(width, count)
    cells = np.zeros((count, 8), np.uint8)
    cells[:, :width] = planes.T
    words = cells.view("<u8").ravel().astype(np.uint64, copy=False)
    if form is codec.Form.BITS:
        return _words("d", np.bitwise_xor.accumulate(words).tobytes())
    # modulo 2^64 sums of whole numbers of 64 bits are exact
    words += np.uint64(least % 2**64)
    if code & codec.DIFFERENCES:
        words[0] = first % 2**64
        words = np.add.accumulate(words)
    scale = codec.SCALES.get(form)
    if scale is None:
        return _words("q", words.tobytes())
    return _words("d", (words.view(np.int64) / scale).tobytes())


def _words(kind: str, raw: bytes) -> Sequence[Number]:
    made: array[float] = array(kind)
    made.frombytes(raw)
    return made


def join(parts: Iterable[Sequence[Number]]) -> Sequence[Number]:
    """Put consecutive stretches of one column together."""
    known = list(parts)
    kinds = {part.typecode if isinstance(part, array) else "" for part in known}
    if len(kinds) != 1 or "" in kinds:
        return packed(list(chain.from_iterable(known)))
    whole: array[float] = array(kinds.pop())
    for part in known:
        whole.extend(part)
    return whole
