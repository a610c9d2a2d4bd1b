"""Answers that are kept fresh by their tag, and parameters nobody knows."""

from typing import Any, cast

import pytest

from jobmeter.web import answering


class Asker:
    """As much of a request as an answer looks at."""

    def __init__(self, method: str = "GET", **headers: str) -> None:
        self.method = method
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def answer(asker: Asker, document: object, changed_at: float | None = None) -> Any:
    return answering.answer(cast("answering.Asked", asker), document, changed_at=changed_at)


TAG = answer(Asker(), {"a": 1}).headers["ETag"]


def test_the_same_bytes_have_the_same_tag() -> None:
    assert answer(Asker(), {"a": 1}).headers["ETag"] == TAG
    assert answer(Asker(), {"a": 2}).headers["ETag"] != TAG


@pytest.mark.parametrize("tags", [TAG, f"W/{TAG}", f'"other", {TAG}', "*"])
def test_who_has_it_is_not_sent_it_again(tags: str) -> None:
    found = answer(Asker(if_none_match=tags), {"a": 1})
    assert (found.status_code, found.content, found.headers["ETag"]) == (304, None, TAG)


def test_who_has_another_is_sent_it() -> None:
    assert answer(Asker(if_none_match='"other"'), {"a": 1}).content == b'{"a":1}'


def test_what_was_changed_is_answered_whoever_has_it() -> None:
    assert answer(Asker("PATCH", if_none_match=TAG), {"a": 1}).status_code == 200


@pytest.mark.parametrize(
    ("since", "status"),
    [
        ("Sun, 15 Nov 2026 09:50:01 GMT", 304),
        ("Sun, 15 Nov 2026 09:50:00 GMT", 200),
        ("yesterday", 200),
        ("", 200),
    ],
)
def test_times_count_where_there_is_no_tag(since: str, status: int) -> None:
    found = answer(Asker(if_modified_since=since), {}, changed_at=1794736201.9)
    assert (found.status_code, found.headers["Last-Modified"]) == (status, "Sun, 15 Nov 2026 09:50:01 GMT")


def test_a_second_that_goes_on_is_no_time_to_hold_on_to() -> None:
    # a second change within it would have the same date
    asker = cast("answering.Asked", Asker())
    first = answering.answer(asker, {"a": 1}, changed_at=1000.2, now=1000.9)
    assert "Last-Modified" not in first.headers
    later = answering.answer(asker, {"a": 1}, changed_at=1000.2, now=1001.0)
    assert later.headers["Last-Modified"] == "Thu, 01 Jan 1970 00:16:40 GMT"


def test_a_tag_counts_before_a_time() -> None:
    asker = Asker(if_none_match='"other"', if_modified_since="Sun, 15 Nov 2026 09:50:01 GMT")
    assert answer(asker, {}, changed_at=1794736201.0).status_code == 200


def test_numbers_that_are_none_are_null() -> None:
    assert answer(Asker(), {"loss": float("nan")}).content == b'{"loss":null}'


def test_lists_are_read_by_comma() -> None:
    assert answering.listed(None) == ()
    assert answering.listed(" a, b,,c ") == ("a", "b", "c")
