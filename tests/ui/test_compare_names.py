"""Comparing runs that nobody named: told apart by what their commands do, by how they ended, and by what they lack."""

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from support import commands, server
from support.browser import Tab
from support.server import Served

LONG = "import sys, time  # a program that begins like the others\n{}\ntime.sleep(1.2)\nsys.exit({})\n"
TRAINING = (
    "import jobmeter\nrun = jobmeter.init()\nrun.log({'loss': 2.0}, step=1)\n"
    "time.sleep(0.1)\nrun.log({'loss': 1.0}, step=2)"
)
PROGRAMS = (
    (LONG.format("print('first of all')", "0"), 0),
    (LONG.format("print('second one')", "3"), 3),
    (LONG.format(f"{TRAINING}\nrun.finish()", "0"), 0),
)
QUICK = ("--sample-interval", "0.1s", "--report-interval", "0.1s")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a home of programs that begin alike, and end otherwise."""
    home = tmp_path_factory.mktemp("unnamed") / "home"
    for program, code in PROGRAMS:
        done = commands.jobmeter(home, "run", "-q", *QUICK, "--", sys.executable, "-c", program)
        assert done.code == code, done
    with server.serving(home) as found:
        yield found


def recorded(tab: Tab) -> list[dict[str, Any]]:
    """Look up the runs, the oldest first."""
    return list(reversed(tab.served.client.get("/api/v1/runs").json()["runs"]))


def compared(tab: Tab) -> Page:
    page = tab.open(f"/compare?runs={','.join(run['run_id'] for run in recorded(tab))}")
    expect(page.get_by_role("heading", name="Compare 3 runs")).to_be_visible()
    return page


def cells(page: Page, table: str, name: str) -> Locator:
    region = page.get_by_role("region", name=table)
    return region.get_by_role("row", name=re.compile(rf"^{re.escape(name)} ")).get_by_role("cell")


def test_programs_that_begin_alike_are_told_apart_in_one_short_line(tab: Tab) -> None:
    page = compared(tab)
    links = page.get_by_label("Compared runs").get_by_role("link")
    names = links.all_inner_texts()
    assert len(set(names)) == 3
    assert all(name.startswith("python") and "/" not in name and len(name) <= 40 for name in names)
    expect(links.first).to_have_attribute("title", f"{sys.executable} -c {PROGRAMS[0][0]}")
    chart = page.locator("figure", has=page.locator(".chart-title", has_text=re.compile("^Memory$")))
    legend = chart.locator(".legend li")
    expect(legend).to_have_count(3)
    heights = [box["height"] for one in legend.all() if (box := one.bounding_box()) is not None]
    assert max(heights) < 25  # one line each
    heads = page.get_by_role("region", name="Numbers").get_by_role("columnheader")
    assert [text.strip() for text in heads.all_inner_texts()[1:]] == names


def test_settings_are_shown_from_where_they_differ(tab: Tab) -> None:
    settings = cells(compared(tab), "Settings that differ", "-c")
    shown = settings.all_inner_texts()
    assert all(text.startswith("…") for text in shown)
    assert "first" in shown[0]
    assert "second" in shown[1]
    expect(settings.nth(1)).to_have_attribute("title", PROGRAMS[1][0])


def test_how_each_run_ended_comes_first(tab: Tab) -> None:
    page = compared(tab)
    rows = page.get_by_role("region", name="Numbers").get_by_role("row")
    expect(rows.nth(1)).to_have_text(re.compile("^Why it ended"))
    expect(cells(page, "Numbers", "Why it ended")).to_have_text(["completed", "not known", "completed"])
    expect(cells(page, "Numbers", "Exit")).to_have_text(["0", "3", "0"])
    expect(cells(page, "Numbers", "Health").nth(1)).to_have_text("critical")
    page.get_by_label("only what differs").check()
    expect(cells(page, "Numbers", "Exit")).to_have_count(3)


def test_a_number_that_is_not_exact_is_marked_as_in_the_terminal(tab: Tab) -> None:
    page, runs = compared(tab), recorded(tab)
    memory = cells(page, "Numbers", "Memory peak")
    expect(memory).to_have_count(3)
    exact = [run["headline"]["memory_peak_bytes"]["exact"] for run in runs]
    assert ["~" not in text for text in memory.all_inner_texts()] == exact
    page = tab.open("/?sort=started&order=asc&columns=name,memory")
    links = page.get_by_role("rowgroup").get_by_role("row")
    expect(links).to_have_count(3)
    assert ["~" not in text for text in links.all_inner_texts()] == exact
    assert not all(exact)  # of 1.2 s of python, cached files cannot be told from what was needed


def test_runs_without_a_line_are_named_in_the_chart(tab: Tab) -> None:
    page = compared(tab)
    names = page.get_by_label("Compared runs").get_by_role("link").all_inner_texts()
    loss = page.locator("figure", has=page.locator(".chart-title", has_text=re.compile("^loss$")))
    expect(loss).to_contain_text(f"no data: {names[0]}, {names[1]}")
    page.get_by_role("button", name=f"hide {names[0]} in charts").click()
    expect(loss).to_contain_text(f"no data: {names[1]}")


def test_on_a_telephone_two_runs_are_in_sight_and_a_shade_says_there_are_more(tab: Tab) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 844})
    page = compared(tab)
    wall = cells(page, "Numbers", "Wall time")
    box = wall.nth(1).bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 390
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    shade = page.get_by_role("region", name="Numbers").evaluate(
        "box => getComputedStyle(box).backgroundAttachment"
    )
    assert "local" in shade
    label = cells(page, "Numbers", "Wall time").first.locator("xpath=../th")
    page.get_by_role("region", name="Numbers").evaluate("box => { box.scrollLeft = 200; }")
    held = label.bounding_box()
    assert held is not None
    assert held["x"] >= 0
