"""Pages of runs: cursors that hold, questions that cannot be read, counts by what runs have in common."""

import base64
import json
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import run_pages
from jobmeter.service.run_pages import Asked
from support import folders


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    home = tmp_path_factory.mktemp("pages")
    folders.write_many(home, 23)
    return str(home)


def walk(home: str, asked: Asked) -> list[str]:
    found: list[str] = []
    cursor = None
    for _ in range(50):
        page = run_pages.page(
            home, Asked(q=asked.q, sort=asked.sort, reverse=asked.reverse, limit=asked.limit, cursor=cursor)
        )
        found += [run.run_id for run in page.runs]
        cursor = page.next
        if cursor is None:
            return found
    raise AssertionError("pages without an end")


@pytest.mark.parametrize("sort", ["started", "name", "wall", "tag.k", "exit_code", "cgroup_mem_peak"])
@pytest.mark.parametrize("reverse", [False, True])
def test_pages_put_together_are_the_whole_list(home: str, sort: str, reverse: bool) -> None:
    whole = run_pages.page(home, Asked(sort=sort, reverse=reverse, limit=1000))
    assert walk(home, Asked(sort=sort, reverse=reverse, limit=4)) == [run.run_id for run in whole.runs]
    assert (whole.total, whole.next) == (23, None)


def test_a_filter_counts_what_matches_on_all_pages(home: str) -> None:
    page = run_pages.page(home, Asked(q="status=failed", limit=2))
    assert (len(page.runs), page.total) == (2, 4)
    assert len(walk(home, Asked(q="status=failed", limit=2))) == 4


def test_words_are_searched_for(home: str) -> None:
    assert run_pages.page(home, Asked(q="target7")).total == 1


@pytest.mark.parametrize("q", [None, "", "  "])
def test_without_a_filter_all_runs_match(home: str, q: str | None) -> None:
    assert run_pages.page(home, Asked(q=q)).total == 23


def test_only_the_keys_that_are_named_are_shown(home: str) -> None:
    page = run_pages.page(home, Asked(limit=1)).as_record(("status", "run_id", "signal"))
    (run,) = page["runs"]  # type: ignore[misc]
    assert list(run) == ["status", "run_id"]


def packed(*parts: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "!",
        "abc",
        "é",
        "A" * 3000,
        packed(1, None, None, folders.RUN_ID),
        packed(1, None, None),
        packed("x", None, None, folders.RUN_ID),
        packed(1, {"a": 1}, None, folders.RUN_ID),
        packed(1, None, None, "../../etc/passwd"),
        base64.urlsafe_b64encode(b'[1,1e999,null,"20261115T095001Z-7f3a9c"]').decode(),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    ],
)
def test_a_cursor_that_is_none_is_refused(home: str, cursor: str) -> None:
    with pytest.raises(UsageError, match="the cursor is not of this question"):
        run_pages.page(home, Asked(cursor=cursor))


@pytest.mark.parametrize("number", [10**18 * 10, -(2**63) - 1, 10**400])
def test_a_cursor_with_a_number_no_store_holds_is_refused(home: str, number: int) -> None:
    digest = run_pages._digest(Asked(sort="wall"))
    with pytest.raises(UsageError, match="the cursor is not of this question"):
        run_pages.page(home, Asked(sort="wall", cursor=packed(digest, number, 1.0, folders.RUN_ID)))


def test_a_cursor_of_another_question_is_refused(home: str) -> None:
    cursor = run_pages.page(home, Asked(limit=2)).next
    with pytest.raises(UsageError, match="the cursor is not of this question"):
        run_pages.page(home, Asked(limit=2, reverse=True, cursor=cursor))
    assert run_pages.page(home, Asked(limit=5, cursor=cursor)).total == 23


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (Asked(limit=0), "a page holds 1 to 1000 runs, not 0"),
        (Asked(limit=1001), "a page holds 1 to 1000 runs, not 1001"),
        (Asked(sort="nonsense"), "there is no such field to sort by"),
        (Asked(q="x" * 5000), "a filter has at most 4000 letters"),
    ],
)
def test_what_cannot_be_asked_is_told(home: str, asked: Asked, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        run_pages.page(home, asked)
    assert str(caught.value) == sentence
    assert caught.value.hint


def test_runs_are_counted_by_fields_and_tags(home: str) -> None:
    assert run_pages.facets(home, "name=lint", ["status", "tag", "signal"]) == {
        "status": [{"value": "completed", "count": 4}, {"value": "failed", "count": 1}],
        "tag": [{"value": "k=v", "count": 5}],
        "signal": [],
    }


@pytest.mark.parametrize("names", [[], ["nonsense"], ["status"] * 13])
def test_what_cannot_be_counted_by_is_told(home: str, names: list[str]) -> None:
    with pytest.raises(UsageError):
        run_pages.facets(home, None, names)


def test_keys_are_chosen_by_comma() -> None:
    assert run_pages.chosen(None, ("a", "b")) == ()
    assert run_pages.chosen("b, a,b", ("a", "b")) == ("b", "a")


@pytest.mark.parametrize("names", ["", ",", "a,c"])
def test_keys_that_are_not_there_are_refused(names: str) -> None:
    with pytest.raises(UsageError, match="there is no such key to select"):
        run_pages.chosen(names, ("a", "b"))


def test_a_home_without_runs_has_an_empty_page(tmp_path: Path) -> None:
    page = run_pages.page(str(tmp_path), Asked())
    assert page.as_record() == {"runs": [], "next": None, "total": 0}
