"""Numbers as tools print them: each in base units, exactly, or None."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter.formats import quantity, stamps


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("13.1 MB", 13736346),
        ("918 B", 918),
        ("2565880K", 2627461120),
        ("1.5GiB", 1610612736),
        ("15240kb", 15605760),
        ("0", 0),
        ("-", None),
        ("[N/A]", None),
        ("12 apples", None),
        ("", None),
    ],
)
def test_a_size_is_bytes(text: str, expected: int | None) -> None:
    assert quantity.size_bytes(text) == expected


def test_a_size_without_unit_is_worth_what_the_caller_says_and_k_too() -> None:
    assert quantity.size_bytes("64000", bare=1 << 20) == 64000 << 20
    assert quantity.size_bytes("1.2kB", thousand=1000) == 1200
    assert quantity.size_bytes("1.2KiB", thousand=1000) == 1229


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3-19:42:53", 330173),
        ("00:04.410", 4.41),
        ("12:00:26", 43226),
        ("1:02:03", 3723),
        ("UNLIMITED", None),
    ],
)
def test_a_clock_duration_is_seconds(text: str, expected: float | None) -> None:
    assert quantity.clock_seconds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1m 23s", 83), ("219ms", 0.219), ("1d 2h 3m 4s", 93784), ("0ms", 0), ("-", None), ("3 parsecs", None)],
)
def test_a_span_with_units_is_seconds(text: str, expected: float | None) -> None:
    assert quantity.span_seconds(text) == expected


@pytest.mark.parametrize(
    ("text", "seconds", "zoned"),
    [
        ("2025-09-08T17:26:50+08:00", 1757323610.0, True),
        ("2025/06/19 17:48:52.457", 1750355332.457, False),
        ("2016-02-24T11:42:27.472459608-05:00", 1456332147.472459, True),
        ("1764189075", 1764189075.0, True),
        ("1674490103249", 1674490103.249, True),
        ("1718783836956328", 1718783836.956328, True),
        ("Sun May  4 04:27:32 2025", 1746332852.0, False),
        ("Sun May  4 04:27:32 PM UTC 2025", 1746376052.0, True),
        ("16 Jun 2015 11:06:42 CDT", 1434452802.0, False),
        ("2025-01-04 17:18:04,389", 1736011084.389, False),
    ],
)
def test_a_date_is_a_moment_and_says_whether_its_zone_was_named(
    text: str, seconds: float, zoned: bool
) -> None:
    assert quantity.moment(text) == quantity.Moment(seconds, zoned=zoned)


@pytest.mark.parametrize("text", ["Unknown", "N/A", "", "04/25 19:16:50", "yesterday", "2025-13-45", "99999"])
def test_what_is_no_date_or_two_is_none(text: str) -> None:
    assert quantity.moment(text) is None


def test_a_whole_number_stays_whole_and_an_endless_one_is_none() -> None:
    assert quantity.number("9007199254740993") == 9007199254740993
    assert quantity.number("2.05011812352e+11") == 205011812352.0
    assert {quantity.number(text) for text in ("nan", "inf", "1e999", "9" * 30, "0x1f", "1_000")} == {None}


@pytest.mark.parametrize(
    ("dates", "day_first", "certain"),
    [
        (["04-03-2021", "25-03-2021"], True, True),
        (["11/25/15"], False, True),
        (["04-03-2021"], True, False),
        (["04/03/2021"], False, False),
        (["none"], False, False),
    ],
)
def test_the_order_of_day_and_month_is_told_or_said_to_be_a_guess(
    dates: list[str], day_first: bool, certain: bool
) -> None:
    assert quantity.is_day_first(dates) == (day_first, certain)


def test_a_time_of_day_counts_from_midnight_in_both_halves() -> None:
    assert quantity.seconds_of_day("09:30:56 PM") == 77456
    assert quantity.seconds_of_day("12:00:01 AM") == 1
    assert quantity.seconds_of_day("13:32:39") == 48759
    assert quantity.seconds_of_day("10:32") == 37920
    assert quantity.seconds_of_day("noon") is None


def test_a_clock_notes_what_its_stamps_leave_unsaid() -> None:
    minutes = stamps.Clock.of(["12/05/2024 10:32", "12/05/2024 10:33"])
    assert minutes.seconds("12/05/2024 10:33") == 1733394780.0  # 5 December
    assert "two dates" in minutes.notes["started_at"]
    assert "no seconds" in minutes.notes["timestamps"]
    daily = stamps.Clock.of(["10:32:05"])
    assert (daily.known, daily.seconds("10:32:05")) == (True, 37925)
    assert "without dates" in daily.missing["started_at"]
    assert stamps.Clock.of(["a", "b"]).missing["started_at"].startswith("the file has no clock")
    assert stamps.Clock.of([]).known is False


@given(text=st.text(max_size=40))
def test_any_text_gives_a_value_or_none(text: str) -> None:
    for reader in (quantity.size_bytes, quantity.clock_seconds, quantity.span_seconds, quantity.moment):
        reader(text)
    quantity.number(text)
    quantity.percent(text)
    quantity.seconds_of_day(text)
    quantity.numeric_date(text, day_first=True)
