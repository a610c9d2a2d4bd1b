"""Comparing when something is amiss: a run that is not answered, runs of one name, runs measured otherwise."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from support import commands, server
from support.browser import Tab
from support.server import Served

TRAINING = """
import time
import jobmeter
run = jobmeter.init()
for step in range(20):
    run.log({"loss": 2.0 / (step + 1)}, step=step)
    time.sleep(0.02)
for step in range(10, 40):  # resumed from a checkpoint
    run.log({"loss": 1.0 / (step + 1)}, step=step)
    time.sleep(0.02)
run.finish()
"""
QUICK = ("--sample-interval", "0.1s", "--report-interval", "0.1s")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a home of two trainings of one name, and of one of another."""
    folder = tmp_path_factory.mktemp("compared")
    home, script = folder / "home", folder / "train.py"
    script.write_text(TRAINING)
    for name in ("twin", "twin", "other"):
        done = commands.jobmeter(home, "run", "-q", "--name", name, *QUICK, "--", sys.executable, str(script))
        assert done.code == 0, done
    with server.serving(home) as found:
        yield found


def ids(tab: Tab, name: str) -> list[str]:
    """Look up the runs of a name, the newest first."""
    found = tab.served.client.get("/api/v1/runs", params={"q": f"name={name}"}).json()["runs"]
    return [one["run_id"] for one in found]


def chart(page: Page, title: str) -> Locator:
    return page.locator("figure", has=page.locator(".chart-title", has_text=re.compile(f"^{title}$")))


def head(page: Page, title: str, path: Path) -> str:
    """Save the numbers of a chart and read what its columns are called."""
    with page.expect_download() as saved:
        chart(page, title).get_by_role("button", name="CSV").click()
    saved.value.save_as(path)
    return path.read_text().splitlines()[0]


def test_a_run_that_is_not_answered_is_told_and_asked_for_again(tab: Tab) -> None:
    twin, other = ids(tab, "twin")[0], ids(tab, "other")[0]
    tab.page.route(f"**/api/v1/runs/{other}", lambda route: route.abort())
    page = tab.open(f"/compare?runs={twin},{other}")
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Compare 2 runs")).to_be_visible()
    tab.complaints.clear()  # the browser tells of the broken request itself


def test_lines_that_are_not_answered_are_told(tab: Tab) -> None:
    twin, other = ids(tab, "twin")[0], ids(tab, "other")[0]
    tab.page.route(re.compile(f"/runs/{other}/series"), lambda route: route.abort())
    page = tab.open(f"/compare?runs={twin},{other}")
    overlay = page.get_by_role("region", name="Overlay")
    expect(overlay.get_by_role("alert")).to_contain_text("The server cannot be reached")
    page.unroute_all()
    overlay.get_by_role("button", name="Try again").click()
    expect(overlay.get_by_role("alert")).to_have_count(0)
    expect(chart(page, "Memory").locator(".legend")).to_contain_text("other")
    tab.complaints.clear()  # the browser tells of the broken request itself


def test_runs_of_one_name_are_told_apart(tab: Tab, tmp_path: Path) -> None:
    first, second = ids(tab, "twin")
    other = ids(tab, "other")[0]
    page = tab.open(f"/compare?runs={first},{second},{other}")
    names = [f"twin …{first[-6:]}", f"twin …{second[-6:]}", "other"]
    expect(page.get_by_label("Compared runs").get_by_role("link")).to_have_text(names)
    expect(chart(page, "loss").locator(".legend li")).to_have_count(3)
    assert head(page, "loss", tmp_path / "loss.csv") == ",".join(["seconds", *names])


def measured_by(tab: Tab, keys: dict[str, list[str]]) -> None:
    """Let runs have been measured by other keys: each has the memory of its own under them."""

    def other(route: Route) -> None:
        answer = route.fetch()
        told: dict[str, Any] = answer.json()
        memory = next(one for one in told["series"] if one["key"].endswith("rss_total"))
        named = next(found for run_id, found in keys.items() if run_id in route.request.url)
        route.fulfill(response=answer, json=told | {"series": [memory | {"key": key} for key in named]})

    tab.page.route(re.compile("/series"), other)


def test_of_several_measurements_one_that_all_have_is_compared(tab: Tab, tmp_path: Path) -> None:
    twin, other = ids(tab, "twin")[0], ids(tab, "other")[0]
    measured_by(tab, {twin: ["cgroup_mem_current", "proc_rss_total"], other: ["proc_rss_total"]})
    page = tab.open(f"/compare?runs={twin},{other}")
    assert head(page, "Memory", tmp_path / "memory.csv") == "seconds,twin,other"


def test_what_was_measured_otherwise_is_named(tab: Tab, tmp_path: Path) -> None:
    twin, other = ids(tab, "twin")[0], ids(tab, "other")[0]
    measured_by(tab, {twin: ["cgroup_mem_current"], other: ["proc_rss_total"]})
    page = tab.open(f"/compare?runs={twin},{other}")
    wanted = 'seconds,"twin, cgroup_mem_current","other, proc_rss_total"'
    assert head(page, "Memory", tmp_path / "memory.csv") == wanted


def test_time_over_steps_that_went_back_is_that_of_the_last_life(tab: Tab, tmp_path: Path) -> None:
    twin, other = ids(tab, "twin")[0], ids(tab, "other")[0]
    page = tab.open(f"/compare?runs={twin},{other}&x=step")
    head(page, "Memory", tmp_path / "memory.csv")
    steps = [float(line.split(",")[0]) for line in (tmp_path / "memory.csv").read_text().splitlines()[1:]]
    assert steps == sorted(steps)
    assert len(steps) > 2
    assert max(steps) <= 39


def test_a_quick_enter_adds_no_run_that_was_found_before(tab: Tab) -> None:
    twin = ids(tab, "twin")[0]
    held: list[Route] = []
    tab.page.route(f"**/api/v1/runs/{twin}", lambda route: held.append(route), times=1)
    with tab.page.expect_request(f"**/api/v1/runs/{twin}"):
        page = tab.open(f"/compare?runs={twin}")
    page.get_by_label("Add a run").fill("name=other")
    held[0].continue_()
    expect(
        page.get_by_role("link", name="twin")
    ).to_be_visible()  # what is written stays though the run comes late
    expect(page.get_by_label("Runs to add").get_by_role("button")).to_have_count(1)
    page.get_by_label("Add a run").fill("name=otherwise")
    page.get_by_label("Add a run").press("Enter")
    expect(page.get_by_label("Runs to add")).to_have_count(0)
    expect(page.get_by_role("heading", name="One more run to compare")).to_be_visible()


def test_a_run_that_was_opened_by_its_name_is_compared_by_its_id(tab: Tab) -> None:
    page = tab.open("/jobs/other")
    expect(page.get_by_role("heading", name="other")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_label("Go to a run or a page").fill("compare this")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"runs={ids(tab, 'other')[0]}$"))
    tab.settle()  # what the page of the run asked for is answered before it is left for good
