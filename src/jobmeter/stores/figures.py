"""Figures that let a chart be drawn without unpacking values: of a counter's rate, and of parts of a metric."""

import struct
from collections.abc import Sequence
from itertools import pairwise

from jobmeter.model.steps import Column
from jobmeter.stores import coarse, stepcolumns
from jobmeter.stores.codec import DamagedBlobError

PART_VALUES = 256
"""Values of a metric that have figures of their own: a million make a line of 4,000 points."""
_RATE = struct.Struct("<IIddddd")
_HEAD = struct.Struct("<B")
_PART = struct.Struct("<qqIIddd")
_EXACT_INT = 2**53


def pack_rate(rate: coarse.Rate) -> bytes:
    """Pack the figures of a rate."""
    return _RATE.pack(*rate)


def unpack_rate(blob: bytes) -> coarse.Rate:
    """Unpack the figures of a rate."""
    try:
        return coarse.Rate(*_RATE.unpack(blob))
    except struct.error as error:
        raise DamagedBlobError(f"cannot read figures of {len(blob)} bytes") from error


def pack_parts(steps: Sequence[int], column: Column) -> bytes | None:
    """Pack the figures of a metric's values in a block; None where floats cannot hold them."""
    if any(type(value) is int and not -_EXACT_INT <= value <= _EXACT_INT for value in column.values):
        return None
    own = steps if column.rows is None else [steps[row] for row in column.rows]
    edges = [*range(0, len(own), PART_VALUES), len(own)]
    parts = [coarse.step_piece(own[begin:end], column.values[begin:end]) for begin, end in pairwise(edges)]
    return _HEAD.pack(stepcolumns.is_rising(own)) + b"".join(_PART.pack(*part) for part in parts)


def unpack_parts(blob: bytes) -> tuple[bool, list[coarse.StepPiece]]:
    """Unpack the figures of parts, and whether no step among them goes back."""
    try:
        (is_rising,) = _HEAD.unpack_from(blob)
        return bool(is_rising), [coarse.StepPiece(*part) for part in _PART.iter_unpack(blob[_HEAD.size :])]
    except struct.error as error:
        raise DamagedBlobError(f"cannot read figures of {len(blob)} bytes") from error
