"""Columns into the codec's blobs by numpy, where it is there or enough is packed to be worth its import.

The bytes are those that `codec` makes: who reads them cannot tell.
"""

import sys
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jobmeter.stores import codec
from jobmeter.stores.codec import Form, Number

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANY_VALUES = 300_000
"""Packing so many without numpy costs as much as importing it."""
_INT64 = 2**63
_EXACT_INT = 2**53


class Packer:
    """Packs columns; keeps count of them, so that whoever packs for long does it fast."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values = 0

    def encode(self, column: Sequence[Number]) -> bytes:
        """Pack a column of at least one number."""
        self._values += len(column)
        if self._values > MANY_VALUES or "numpy" in sys.modules:
            return zlib.compress(pack(column), codec.LEVEL)
        return codec.encode(column)


def pack(column: Sequence[Number]) -> bytes:
    """Lay a column out as `codec` does, by numpy."""
    import numpy as np

    types = set(map(type, column))
    if types == {int}:
        try:
            return _pack_whole(Form.WHOLE, np.array(column, np.int64))
        except OverflowError:
            return codec.pack(column)
    if int in types and not all(-_EXACT_INT <= value <= _EXACT_INT for value in column if type(value) is int):
        return codec.pack(column)
    floats = np.array(column, np.float64)
    for form, scale in codec.SCALES.items():
        scaled = _scaled(floats, scale)
        if scaled is not None:
            return _pack_whole(form, scaled)
    bits = floats.view(np.uint64)
    residuals = bits.copy()
    residuals[1:] ^= bits[:-1]
    return _pack_residuals(Form.BITS.value, 0, 0, residuals)


def _scaled(floats: "NDArray[Any]", scale: float) -> "NDArray[Any] | None":
    """Scale to whole numbers; None unless dividing them again gives every bit back."""
    import numpy as np

    # three values tell most columns that will not do
    if len(floats) > 3 and _scaled(floats[:3], scale) is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.rint(floats * scale)
    # false for what is not finite, too
    if not (np.abs(rounded) < _INT64).all():
        return None
    whole = rounded.astype(np.int64)
    return whole if (whole / scale).tobytes() == floats.tobytes() else None


def _pack_whole(form: Form, values: "NDArray[Any]") -> bytes:
    import numpy as np

    least, largest = int(values.min()), int(values.max())
    if least == largest:
        return codec.HEAD.pack(form.value, 0, least, least, len(values))
    if largest - least >= _INT64:
        return codec.pack_whole(form, values.tolist())
    steps = np.diff(values)
    low, high = int(steps.min()), int(steps.max())
    if high - low < largest - least:
        residuals = np.zeros(len(values), np.uint64)
        residuals[1:] = steps - low
        return _pack_residuals(form.value | codec.DIFFERENCES, int(values[0]), low, residuals)
    return _pack_residuals(form.value, int(values[0]), least, (values - least).astype(np.uint64))


def _pack_residuals(form: int, first: int, least: int, residuals: "NDArray[Any]") -> bytes:
    import numpy as np

    width = (int(residuals.max()).bit_length() + 7) // 8
    cells = residuals.astype("<u8").view(np.uint8).reshape(len(residuals), 8)
    planes = cells[:, :width].T.tobytes()
    return codec.HEAD.pack(form, width, first, least, len(residuals)) + planes
