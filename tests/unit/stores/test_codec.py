import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmeter.stores import codec
from jobmeter.stores.codec import Number


def bits(column: list[Number]) -> list[int | bytes]:
    return [struct.pack("<d", value) if isinstance(value, float) else value for value in column]


def returned(column: list[Number]) -> list[Number]:
    return codec.decode(codec.encode(column))


@settings(max_examples=200)
@given(st.lists(st.integers(), min_size=1, max_size=50))
def test_whole_numbers_of_any_size_come_back(column: list[int]) -> None:
    assert bits(returned(list(column))) == column


@settings(max_examples=300)
@given(st.lists(st.floats(), min_size=1, max_size=50))
def test_floats_come_back_bit_for_bit(column: list[float]) -> None:
    found = returned(list(column))
    # all NaN compare by their bits too, payload included
    assert bits(found) == bits(list(column))


@settings(max_examples=200)
@given(
    st.lists(st.decimals(min_value=-(10**9), max_value=10**9, places=6).map(float), min_size=1, max_size=50)
)
def test_decimal_fractions_come_back_bit_for_bit(column: list[float]) -> None:
    assert bits(returned(list(column))) == bits(list(column))


@settings(max_examples=200)
@given(st.lists(st.one_of(st.integers(), st.floats(allow_nan=False)), min_size=1, max_size=50))
def test_mixtures_come_back_equal(column: list[Number]) -> None:
    assert returned(column) == column


@pytest.mark.parametrize(
    "column",
    [
        [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308],
        [2**53 + 1, 2**63 - 1, -(2**63)],
        [-(2**63), 2**63 - 1],
        [2**63 - 1, -(2**63)],
        [2**64, 2**70, -(2**70)],
        [0.0, -0.0],
        [1794736201.123, 1794736202.124],
        [0],
        [0.1],
    ],
)
def test_hard_columns_come_back(column: list[Number]) -> None:
    assert bits(returned(column)) == bits(column)


def test_a_constant_takes_a_few_bytes() -> None:
    assert len(codec.encode([734003200] * 600)) < 40


def test_what_a_recorder_writes_is_small() -> None:
    rss = [4096 * (50000 + place * 37 % 101) for place in range(600)]
    assert len(codec.encode(rss)) < 600
    seconds = [round(3.6 + (place * 7919 % 1000) / 2500, 6) for place in range(600)]
    assert len(codec.encode(seconds)) < 2 * 600


@pytest.mark.parametrize("cut", [0, 1, 5, 20, -1])
def test_a_cut_blob_is_damage(cut: int) -> None:
    blob = codec.encode([1, 5, 2, 9] * 50)
    with pytest.raises(codec.DamagedBlobError):
        codec.decode(blob[:cut])


def test_every_flipped_bit_is_found() -> None:
    column: list[Number] = [1, 5, 2, 9, 77, 3]
    blob = codec.encode(column)
    for place in range(len(blob) * 8):
        flipped = bytearray(blob)
        flipped[place // 8] ^= 1 << place % 8
        try:
            assert codec.decode(bytes(flipped)) == column  # a bit of the header that says nothing
        except codec.DamagedBlobError:
            continue
