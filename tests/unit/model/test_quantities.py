"""Amounts and dates as people type them."""

import time
from collections.abc import Iterator

import pytest

from jobmeter.model import quantities
from jobmeter.model.quantities import Dimension, Moment, Quantity

NOW = 1_800_000_000.0


@pytest.fixture(autouse=True, scope="module")
def _two_hours_east() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC-2")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("3", 3, Dimension.NUMBER),
        ("-2.5", -2.5, Dimension.NUMBER),
        ("1e3", 1000, Dimension.NUMBER),
        (".5", 0.5, Dimension.NUMBER),
        ("50%", 50, Dimension.PERCENT),
        ("4GiB", 4294967296, Dimension.BYTES),
        ("4gib", 4294967296, Dimension.BYTES),
        ("4G", 4294967296, Dimension.BYTES),
        ("4GB", 4000000000, Dimension.BYTES),
        ("500MB", 500000000, Dimension.BYTES),
        ("500 MiB", 524288000, Dimension.BYTES),
        ("1M", 1048576, Dimension.BYTES),
        ("1.5k", 1536, Dimension.BYTES),
        ("7B", 7, Dimension.BYTES),
        ("90s", 90, Dimension.SECONDS),
        ("250ms", 0.25, Dimension.SECONDS),
        ("2m", 120, Dimension.SECONDS),
        ("2min", 120, Dimension.SECONDS),
        ("2h", 7200, Dimension.SECONDS),
        ("7d", 604800, Dimension.SECONDS),
        ("1w", 604800, Dimension.SECONDS),
    ],
)
def test_an_amount_is_read_in_base_units(text: str, value: float, dimension: Dimension) -> None:
    assert quantities.parse_quantity(text) == Quantity(value, dimension)


@pytest.mark.parametrize(
    "text", ["", "GiB", "nan", "inf", "1e999", "1e308w", "4 XiB", "1_000", "0x10", "1,5", "٣", "5 % x"]
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    assert quantities.parse_quantity(text) is None


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-11-01", 1793484000.0, 1793570399.999999),
        ("2026-11-01T12:30", 1793529000.0, 1793529059.999999),
        ("2026-11-01T12:30:15", 1793529015.0, 1793529015.0),
        ("2026-11-01T12:30:15Z", 1793536215.0, 1793536215.0),
        ("2026-11-01T12:30Z", 1793536200.0, 1793536259.999999),
        ("2026-11-01T12:30:00+02:00", 1793529000.0, 1793529000.0),
        ("-7d", NOW - 604800, NOW - 604800),
        ("-90s", NOW - 90, NOW - 90),
    ],
)
def test_a_date_covers_what_it_names_in_local_time(text: str, first: float, last: float) -> None:
    assert quantities.parse_moment(text, now=NOW) == Moment(first, last)


@pytest.mark.parametrize(
    "text", ["", "7d", "yesterday", "2026-13-01", "2026-11-01T99", "9999-12-31", "20261101", "-4GiB", "12"]
)
def test_what_is_no_date_is_refused(text: str) -> None:
    assert quantities.parse_moment(text, now=NOW) is None
