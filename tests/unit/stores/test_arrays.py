"""Two ways to unpack a column, one answer."""

import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter.stores import arrays, codec

NUMBERS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
    st.lists(st.floats(), min_size=1),
    st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)), min_size=1),
    st.lists(st.integers(-(2**80), 2**80) | st.floats(allow_nan=False), min_size=1),
)


@given(NUMBERS)
def test_numpy_unpacks_what_the_standard_library_does(column: list[int | float]) -> None:
    blob = codec.encode(column)
    fast, slow = arrays.decode_fast(blob), arrays.decode(blob)
    assert type(fast) is type(slow)
    assert [repr(value) for value in fast] == [repr(value) for value in slow]


@pytest.mark.parametrize("kind", [arrays.decode, arrays.decode_fast])
def test_a_damaged_column_is_no_answer(kind: arrays.Decode) -> None:
    blob = codec.encode([1.25, 2.5, math.pi])
    for damaged in (b"", blob[:-3], b"\0" + blob[1:]):
        with pytest.raises(codec.DamagedBlobError):
            kind(damaged)


def test_stretches_of_different_kinds_become_what_holds_both() -> None:
    assert arrays.join([array("q", [1, 2]), array("q", [3])]) == array("q", [1, 2, 3])
    assert arrays.join([array("q", [1]), array("d", [2.5])]) == array("d", [1.0, 2.5])
    assert arrays.join([array("q", [2**53 + 1]), array("d", [2.5])]) == [2**53 + 1, 2.5]
    assert arrays.join([[2**70], array("q", [1])]) == [2**70, 1]
