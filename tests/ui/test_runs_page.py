"""The page of all runs: found by a filter that helps to write itself, laid out as one likes, picked and acted on."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from support import folders, server
from support.browser import Tab, tab_of
from support.waiting import waiting

MANY = 520
GLANCES = "**/api/v1/runs/glances*"


@pytest.fixture(scope="module")
def long(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """Open a tab on a home of many runs."""
    home = tmp_path_factory.mktemp("long") / "home"
    folders.write_many(home, MANY)
    with server.serving(home) as served, tab_of(browser, served, height=900) as tab:
        yield tab


def rows(page: Page) -> Locator:
    return page.get_by_role("rowgroup").get_by_role("row")


def titles(page: Page) -> Locator:
    return page.locator(".head [role=columnheader] button")


def offers(page: Page) -> Locator:
    return page.get_by_role("listbox", name="What may come next")


def search(page: Page) -> Locator:
    return page.get_by_label("Search or filter runs")


def counted(page: Page) -> tuple[int, int]:
    """Read of how many runs the list says why they ended, and of how many that nobody looked."""
    causes = page.get_by_label("Narrow down").get_by_label("why it ended")
    text = causes.inner_text()
    known = re.findall(r"^\w+\s+(\d+)$", text, re.MULTILINE)
    left = re.findall(r"(\d+) not looked at yet", text)
    return sum(map(int, known)), sum(map(int, left))


def test_runs_that_nobody_looked_at_are_counted_until_they_came_in_sight(long: Tab) -> None:
    held: list[Route] = []
    long.page.route(GLANCES, lambda route: held.append(route))
    page = long.open("/?q=status%3Dfailed%20and%20name%3Dlint")
    left = page.get_by_text("not looked at yet")
    expect(left).to_be_visible()
    total = rows(page).count()
    assert total > 5
    assert sum(counted(page)) == total
    for route in held:
        route.continue_()
    page.unroute(GLANCES)
    expect(left).to_have_count(0)
    assert counted(page) == (total, 0)


def test_only_rows_in_sight_exist_and_the_last_is_reached_page_by_page(long: Tab) -> None:
    cursors: list[str] = []
    long.page.on("request", lambda request: cursors.append(request.url) if "cursor=" in request.url else None)
    page = long.open()
    expect(page.get_by_role("table")).to_have_attribute("aria-rowcount", str(MANY + 1))
    assert 20 < rows(page).count() < 60
    deadline = time.monotonic() + 30
    while not page.locator("[title='make target0']").count():
        assert time.monotonic() < deadline
        page.get_by_role("table").evaluate("table => { table.scrollTop = table.scrollHeight; }")
        page.wait_for_timeout(50)
    expect(rows(page).last).to_have_attribute("aria-rowindex", str(MANY + 1))
    expect(rows(page).last.get_by_role("link")).to_have_attribute("title", "make target0")
    assert rows(page).count() < 60
    assert len(cursors) == 2  # 100, then twice as many as 400
    page.get_by_role("table").evaluate("table => { table.scrollTop = 300 * 34; }")
    expect(rows(page).filter(has=page.locator("[title='make target209']"))).to_have_count(1)


def test_keys_walk_pick_and_open(long: Tab) -> None:
    page = long.open("/?sort=started")
    expect(rows(page).first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Shift+X")
    expect(page.get_by_role("toolbar")).to_contain_text("3 picked")
    page.get_by_label("Pick all that are loaded").check()
    expect(page.get_by_role("toolbar")).to_contain_text("100 picked")
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_role("toolbar")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/jobs/2026"))


def test_moments_have_seconds(long: Tab) -> None:
    page = long.open("/?columns=name,started&sort=started")
    cell = rows(page).first.get_by_role("cell").nth(2).locator("span")
    expect(cell).to_have_text(re.compile(r"^(\d\d-\d\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d \d\d:\d\d)$"))
    expect(cell).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$"))


def test_the_list_is_saved_whole(long: Tab, tmp_path: Path) -> None:
    page = long.open("/?q=status%3Dfailed&sort=wall&columns=name,status,wall,exit")
    expect(page.get_by_text("75 runs", exact=True)).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    saved.value.save_as(tmp_path / "runs.csv")
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert saved.value.suggested_filename == "runs.csv"
    assert lines[0] == "run_id,name,status,wall,exit"
    assert len(lines) == 76
    assert all(re.fullmatch(r"2026\w+-\w{6},\w+,failed,[\d.]+,2", line) for line in lines[1:])


def test_a_filter_is_completed_field_by_operator_by_value(tab: Tab) -> None:
    page = tab.open()
    expect(rows(page)).to_have_count(4)
    search(page).press_sequentially("stat")
    expect(offers(page).get_by_role("option").first).to_have_text(re.compile("^status"))
    page.keyboard.press("Tab")
    expect(search(page)).to_have_value("status")
    expect(offers(page).get_by_role("option", name=re.compile("^status!= is another"))).to_be_visible()
    page.keyboard.type("=")
    expect(offers(page).get_by_role("option").first).to_have_text(re.compile(r"completed\s*3 runs"))
    page.keyboard.type("fa")
    page.keyboard.press("Tab")
    expect(search(page)).to_have_value("status=failed ")
    expect(rows(page)).to_have_count(1)
    expect(offers(page).get_by_role("option", name="and", exact=True)).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type("name~zzz")
    expect(page.get_by_text("No run matches.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(offers(page).get_by_role("option")).to_have_count(0)
    search(page).fill("status=failed ")
    page.keyboard.press("Tab")  # nothing was chosen: the filter is left as it is
    expect(search(page)).not_to_be_focused()
    expect(search(page)).to_have_value("status=failed ")


def test_a_filter_that_is_not_whole_yet_is_not_asked_for(tab: Tab) -> None:
    page = tab.open()
    expect(rows(page)).to_have_count(4)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/v1/runs?" in request.url else None)
    search(page).fill("wall")
    expect(page).to_have_url(re.compile("q=wall$"))
    search(page).press(">")
    expect(page.get_by_text("unfinished")).to_be_visible()
    expect(rows(page)).to_have_count(0)  # what matches the word "wall"
    assert not any("wall%3E" in url for url in asked)
    page.keyboard.type("1ms and (name=first or name=second")
    expect(page.get_by_text("unfinished")).to_be_visible()
    page.keyboard.type(")")
    expect(rows(page)).to_have_count(2)


def test_several_values_of_a_facet_are_a_choice(tab: Tab) -> None:
    page = tab.open()
    facets = page.get_by_label("Narrow down")
    statuses = facets.get_by_label("status", exact=True)
    statuses.get_by_role("button", name="failed 1").click()
    expect(rows(page)).to_have_count(1)
    statuses.get_by_role("button", name="completed 3").click()
    expect(rows(page)).to_have_count(4)
    expect(search(page)).to_have_value("(status=failed or status=completed)")
    statuses.get_by_role("button", name="failed 1").click()
    facets.get_by_role("button", name="team=core 3").click()
    expect(search(page)).to_have_value("status=completed and tag.team=core")
    expect(rows(page)).to_have_count(3)


def test_columns_are_chosen_moved_and_widened_and_stay_so(tab: Tab) -> None:
    page = tab.open()
    expect(rows(page)).to_have_count(4)
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("loss", exact=True).check()
    page.get_by_label("Host", exact=True).uncheck()
    page.get_by_role("button", name="move Exit up").click()
    page.keyboard.press("Escape")
    first = ["Run", "Status", "Health", "Project", "Started ↓", "Took", "CPU"]
    expect(titles(page)).to_have_text([*first, "Peak memory", "Exit", "Memory", "loss"])
    expect(page.get_by_role("row", name=re.compile("first"))).to_contain_text(re.compile(r"0\.3\d"))
    page.get_by_role("button", name="Exit").press("Alt+ArrowLeft")
    page.get_by_role("button", name="Status").drag_to(page.get_by_role("button", name="Took"))
    moved = [
        "Run",
        "Health",
        "Project",
        "Started ↓",
        "Took",
        "Status",
        "CPU",
        "Exit",
        "Peak memory",
        "Memory",
    ]
    expect(titles(page)).to_have_text([*moved, "loss"])
    edge = page.get_by_role("separator", name="Width of Project")
    before = edge.locator("..").bounding_box()
    edge.press("ArrowRight")
    box = edge.bounding_box()
    assert box is not None
    assert before is not None
    page.mouse.move(box["x"] + 4, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 54, box["y"] + 10, steps=3)
    page.mouse.up()
    after = edge.locator("..").bounding_box()
    assert after is not None
    assert after["width"] == pytest.approx(before["width"] + 66, abs=2)
    page = tab.open("/?")
    expect(rows(page)).to_have_count(4)
    expect(titles(page)).to_have_text([*moved, "loss"])
    kept = page.get_by_role("separator", name="Width of Project").locator("..").bounding_box()
    assert kept is not None
    assert kept["width"] == pytest.approx(after["width"], abs=2)
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("button", name="As at first").click()
    expect(titles(page)).to_have_text([*first, "Peak memory", "Memory", "Exit", "Host"])


def test_a_view_has_a_name_and_is_a_link(tab: Tab) -> None:
    page = tab.open("/?q=project%3Dvision&sort=wall&columns=name,wall")
    expect(rows(page)).to_have_count(3)
    page.get_by_text("Views", exact=True).click()
    page.get_by_label("Name of the view").fill("slow ones")
    page.get_by_role("button", name="Save").click()
    page = tab.open("/?")
    expect(rows(page)).to_have_count(4)
    page.get_by_text("Views", exact=True).click()
    page.get_by_role("link", name="slow ones").click()
    expect(rows(page)).to_have_count(3)
    expect(titles(page)).to_have_text(["Run", "Took ↓"])
    expect(page.get_by_text("View: slow ones")).to_be_visible()
    page.get_by_label("forget the view slow ones").click()
    expect(page.get_by_role("link", name="slow ones")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("View: slow ones").click()
    expect(page.get_by_role("link", name="slow ones")).to_be_visible()


def test_runs_stand_in_groups_with_their_counts(tab: Tab) -> None:
    page = tab.open()
    page.get_by_label("Group by").select_option("project")
    expect(rows(page)).to_have_text([re.compile("^vision 3"), re.compile("^none 1")])
    rows(page).get_by_role("button", name="none 1").click()
    expect(rows(page).nth(2)).to_contain_text("broken")
    rows(page).get_by_role("button", name="vision 3").click()
    expect(rows(page)).to_have_count(6)
    page.reload()
    expect(rows(page)).to_have_count(6)
    page.get_by_label("Group by").select_option("tag team")
    expect(rows(page)).to_have_text([re.compile("^core 3"), re.compile("^none 1")])


def test_rows_show_health_and_how_the_run_went(tab: Tab) -> None:
    page = tab.open("/?columns=name,status,health,memory_line,loss_line")
    broken, first = (
        page.get_by_role("row", name=re.compile("broken")),
        page.get_by_role("row", name=re.compile("first")),
    )
    expect(broken.get_by_text("critical")).to_be_visible()
    expect(first.get_by_role("img", name=re.compile(r"rss|mem.*: .*MiB to .*MiB"))).to_be_visible()
    expect(first.get_by_role("img", name=re.compile(r"^loss: 0\.3\d* to 3"))).to_be_visible()
    expect(broken.get_by_role("img", name=re.compile("loss"))).to_have_count(0)


def test_the_picked_are_tagged_and_that_is_undone(tab: Tab) -> None:
    page = tab.open("/?columns=name,tags")
    for name in ("first", "third"):
        page.get_by_label(f"pick {tab.run_id(name)}").check()
    page.get_by_label("Tag for the picked").fill("team=paper")
    page.get_by_role("button", name="Tag", exact=True).click()
    expect(rows(page).filter(has_text="team=paper")).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(rows(page).filter(has_text="team=core")).to_have_count(3)


def test_the_picked_are_deleted_at_once_and_come_back(tab: Tab) -> None:
    page = tab.open()
    for name in ("second", "third"):
        page.get_by_label(f"pick {tab.run_id(name)}").check()
    page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    expect(rows(page)).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(rows(page)).to_have_count(4)


def test_a_run_begins_and_ends_in_the_list_by_itself(tab: Tab) -> None:
    page = tab.open("/?q=name%3Dwaits")
    expect(page.get_by_text("No run matches.")).to_be_visible()
    with waiting(tab.served.home, "waits") as finish:
        expect(rows(page).get_by_text("running")).to_be_visible()
        finish()
    expect(rows(page).get_by_text("completed")).to_be_visible()
    run_id = tab.run_id("waits")
    assert tab.served.client.delete(f"/api/v1/runs/{run_id}", params={"purge": True}).status_code == 200
    expect(rows(page)).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_with_everything_open(tab: Tab, scheme: str) -> None:
    tab.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page = tab.open("/?group=project&open=vision")
    expect(page.get_by_role("img").first).to_be_visible()
    page.get_by_label(f"pick {tab.run_id('first')}").check()
    page.get_by_text("Columns", exact=True).click()
    search(page).fill("status=")  # letter by letter, "status" would be searched for on the way
    expect(offers(page).get_by_role("option").first).to_be_visible()
    assert tab.violations() == []


def test_on_a_telephone_all_of_it_is_within_reach(tab: Tab) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 844})
    page = tab.open()
    health = rows(page).get_by_text("good", exact=True).first
    box = health.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 380
    page.get_by_label(f"pick {tab.run_id('first')}").check()
    page.get_by_role("button", name="Narrow down").click()
    page.get_by_role("button", name="failed 1").click()
    expect(rows(page)).to_have_count(1)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
