"""Lists of runs while runs come, change and go: nothing is missing between, and groups count what there is."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from support import folders, server
from support.browser import Tab
from support.server import Served
from support.waiting import waiting

MANY = 260
COME = 130


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Serve a home to which half as many runs again will come."""
    home = tmp_path / "home"
    folders.write_many(home, MANY + COME)
    later = tmp_path / "later"
    for folder in sorted(home.glob("runs/*/*"))[MANY:]:
        target = later / folder.relative_to(home)
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)
    with server.serving(home) as found:
        yield found


def rows(page: Page) -> Locator:
    return page.get_by_role("rowgroup").get_by_role("row")


def to_the_end(page: Page, last: int) -> None:
    """Scroll until the last row of the list is there."""
    page.wait_for_function(
        """last => {
            const box = document.querySelector(".table");
            box.scrollTop = box.scrollHeight;
            return [...box.querySelectorAll(".rows [role=row]")].at(-1)?.ariaRowIndex === String(last);
        }""",
        arg=last,
        polling=100,
    )


def test_more_new_runs_than_a_page_holds_leave_no_gap(tab: Tab, tmp_path: Path) -> None:
    page = tab.open()
    expect(page.get_by_role("table")).to_have_attribute("aria-rowcount", str(MANY + 1))
    to_the_end(page, MANY + 1)
    for folder in (tmp_path / "later").glob("runs/*/*"):
        target = tab.served.home / folder.relative_to(tmp_path / "later")
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)
    expect(page.get_by_role("table")).to_have_attribute("aria-rowcount", str(MANY + COME + 1))
    to_the_end(page, MANY + COME + 1)
    page.get_by_role("table").evaluate(f"table => {{ table.scrollTop = {COME - 5} * 34; }}")
    for number in (MANY + 1, MANY, MANY - 1):
        expect(page.locator(f"[title='make target{number}']")).to_have_count(1)


def test_a_run_far_down_that_matches_no_more_goes(tab: Tab) -> None:
    page = tab.open("/?q=name%3Dtrain%20or%20name%3Dlint")
    expect(page.get_by_role("table")).to_have_attribute("aria-rowcount", str(MANY // 2 + 1))
    to_the_end(page, MANY // 2 + 1)
    last = rows(page).last.get_by_role("link")
    expect(last).to_have_attribute("title", "make target1")
    run_id = (last.get_attribute("href") or "").removeprefix("/jobs/")
    assert tab.served.client.patch(f"/api/v1/runs/{run_id}", json={"name": "other"}).status_code == 200
    expect(page.get_by_role("table")).to_have_attribute("aria-rowcount", str(MANY // 2))
    expect(rows(page).last.get_by_role("link")).to_have_attribute("title", "make target3")


def test_groups_count_runs_that_begin_and_end(tab: Tab) -> None:
    page = tab.open("/?group=status&open=running")
    expect(rows(page)).to_have_text([re.compile(r"^completed 222"), re.compile(r"^failed 38")])
    with waiting(tab.served.home, "waits") as finish:
        expect(rows(page).filter(has_text=re.compile("^running 1"))).to_be_visible()
        expect(rows(page).filter(has_text="waits")).to_contain_text("running")
        expect(rows(page).filter(has_text=re.compile("^none"))).to_have_count(0)
        finish()
    expect(rows(page)).to_have_text([re.compile(r"^completed 223"), re.compile(r"^failed 38")])


@pytest.mark.parametrize("menu", ["Views", "Columns"])
def test_on_a_telephone_a_sheet_is_within_the_window(tab: Tab, menu: str) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 844})
    page = tab.open()
    page.get_by_text(menu, exact=True).click()
    box = page.locator(".menu[open] .sheet").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["y"] + box["height"] <= 844
