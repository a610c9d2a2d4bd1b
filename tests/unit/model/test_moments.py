"""A moment is written one way everywhere, and what is no date is no moment."""

import pytest

from jobmeter.model import moments
from jobmeter.model.imported import identify


def test_a_moment_is_written_to_the_millisecond() -> None:
    assert moments.iso_time(1_794_736_201.1236) == "2026-11-15T09:50:01.124Z"


def test_stamps_of_other_tools_keep_their_microseconds() -> None:
    assert moments.iso_time(1_794_736_201.123456, moments.MICROSECONDS) == "2026-11-15T09:50:01.123456Z"


@pytest.mark.parametrize("seconds", [None, float("nan"), float("inf"), 1e30, -1e30])
def test_what_is_no_date_is_no_time(seconds: float | None) -> None:
    assert moments.utc(seconds) is None
    assert moments.iso_time(seconds) is None


def test_a_start_that_is_no_date_still_gives_an_id() -> None:
    assert identify(1e30, "abcdef0123") == "19700101T000000Z-abcdef"
