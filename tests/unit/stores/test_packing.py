"""Packing by numpy makes the very bytes that packing without it makes."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmeter.stores import codec, packing
from jobmeter.stores.codec import Number

decimals = st.decimals(min_value=-(10**9), max_value=10**9, places=6).map(float)
columns = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40),
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=40),
    st.lists(st.integers(), min_size=1, max_size=10),
    st.lists(st.floats(), min_size=1, max_size=40),
    st.lists(decimals, min_size=1, max_size=40),
    st.lists(st.one_of(st.integers(), st.floats(), decimals), min_size=1, max_size=40),
)


@settings(max_examples=400)
@given(columns)
def test_both_ways_make_the_same_bytes(column: list[Number]) -> None:
    assert packing.pack(column) == codec.pack(column)


@pytest.mark.parametrize(
    "column",
    [
        [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308],
        [-(2**63), 2**63 - 1],
        [2**63 - 1, -(2**63), 0],
        [2**64, 2**70, -(2**70)],
        [0.0, -0.0, 1.0, 2.0],
        [9.3e15, 9.2e15],
        [1794736201.123, 1794736202.124],
        [2**53 + 1, 0.5],
        [0],
        [0.1],
    ],
)
def test_odd_columns_do_too(column: list[Number]) -> None:
    assert packing.pack(column) == codec.pack(column)


def test_a_packer_packs_alike_before_and_after_it_becomes_fast() -> None:
    packer, column = packing.Packer(), [n / 8 for n in range(packing.MANY_VALUES // 2)]
    assert [codec.decode(packer.encode(column)) for _ in range(3)] == [column] * 3
