"""What is live on the page: nothing is missed before the first word and between two, and nothing is held in vain."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from support import commands, server, watching
from support.browser import Tab
from support.server import Served

STREAM = "**/api/v1/stream*"
SLOW = """
() => {
  const own = window.fetch;
  window.fetch = async (address, init) => {
    const answer = await own(address, init);
    if (!String(address).endsWith("/report")) return answer;
    await new Promise((resolve) => setTimeout(resolve, 4000));
    if (init?.signal?.aborted) throw new DOMException("it was given up", "AbortError");
    return answer;
  };
}
"""
"""Every report takes longer than a run that speaks gives it."""
LOOKED_AT = """
(state) => {
  Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a home of its own: runs that go on are recorded into it."""
    home = tmp_path_factory.mktemp("streams") / "home"
    done = commands.jobmeter(home, "run", "-q", "--name", "short", "--", "true")
    assert done.code == 0, done
    with server.serving(home) as found:
        yield found


def ids(served: Served) -> set[str]:
    found = served.client.get("/api/v1/runs", params={"q": f"name={watching.NAME}"}).json()["runs"]
    return {str(run["run_id"]) for run in found}


@contextmanager
def going_on(served: Served) -> Iterator[tuple[watching.Job, str]]:
    """Record a job, and give its run once something was measured; others of its name were there before."""
    before = ids(served)
    with watching.running(served.home) as job:
        deadline = time.monotonic() + 30
        while not (new := ids(served) - before) or not measured(served, min(new)):
            assert time.monotonic() < deadline, "the run never appeared"
            time.sleep(0.1)
        yield job, min(new)


def measured(served: Served, run_id: str) -> bool:
    return bool(served.client.get(f"/api/v1/runs/{run_id}/series").json()["series"])


def test_a_run_that_ends_before_the_first_word_is_told(tab: Tab) -> None:
    held: list[Route] = []
    page = tab.page
    page.route(STREAM, lambda route: held.append(route), times=1)
    with going_on(tab.served) as (job, run_id):
        tab.open(f"/jobs/{run_id}")
        expect(page.locator("main .badge", has_text="running").first).to_be_visible(timeout=20_000)
        expect(page.get_by_text("follows")).to_be_visible()
        job.finish()
    page.wait_for_function("() => document.querySelector('main .badge')?.textContent === 'running'")
    held[0].continue_()
    expect(page.locator("main .badge", has_text="completed").first).to_be_visible(timeout=20_000)
    expect(page.get_by_text("follows")).to_have_count(0)


def test_an_answer_that_takes_longer_than_news_do_is_shown(tab: Tab) -> None:
    tab.page.add_init_script(f"({SLOW})()")
    with going_on(tab.served) as (_, run_id):
        page = tab.open(f"/jobs/{run_id}")
        expect(page.locator(".verdict b")).to_be_visible(timeout=20_000)


def test_a_tab_that_nobody_looks_at_gives_its_connection_back(tab: Tab) -> None:
    page = tab.page
    page.clock.install()
    run_id = tab.run_id("short")
    with page.expect_request(STREAM.replace("*", "**")):
        tab.open(f"/jobs/{run_id}")
    expect(page.get_by_label("Notes and tags")).to_be_visible()
    page.evaluate(LOOKED_AT, "hidden")
    with page.expect_event("requestfailed", lambda request: "/stream" in request.url):
        page.clock.fast_forward(11_000)
    tab.served.client.patch(f"/api/v1/runs/{run_id}", json={"tags": {"while": "away"}}).raise_for_status()
    with page.expect_request(STREAM.replace("*", "**")):
        page.evaluate(LOOKED_AT, "visible")
    expect(page.get_by_label("Notes and tags")).to_contain_text("while=away", timeout=15_000)


def test_another_filter_and_another_page_keep_the_connection(tab: Tab) -> None:
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page = tab.open()
    expect(page.get_by_role("link", name="short")).to_be_visible()
    page.get_by_label("Search or filter runs").fill("name=nothing")
    expect(page.get_by_role("link", name="short")).to_have_count(0)
    page.get_by_label("Search or filter runs").fill("name=short")
    page.get_by_role("link", name="short").click()
    expect(page.get_by_label("Notes and tags")).to_be_visible()
    tab.settle()
    assert asked.count("/api/v1/stream") == 1
    assert (
        asked.count("/api/v1/runs") == 4
    )  # the first, once more when the stream was there, and one a filter


def test_a_token_that_ends_while_the_page_is_open_is_asked_for(tab: Tab) -> None:
    page = tab.page
    page.route(STREAM, lambda route: route.fulfill(status=401, json={"detail": "no"}))
    tab.open()
    expect(page.get_by_role("heading", name="The token was refused")).to_be_visible()
    page.unroute(STREAM)
    assert all("401" in complaint for complaint in tab.complaints)
    tab.complaints.clear()


def test_a_link_with_another_token_is_taken_where_the_page_already_is(tab: Tab) -> None:
    page = tab.open("/", token=tab.served.token[::-1])
    expect(page.get_by_role("heading", name="The token was refused")).to_be_visible()
    page.evaluate("() => (window.isSamePage = true)")
    tab.open()
    expect(page.get_by_role("link", name="short")).to_be_visible()
    assert page.evaluate("() => window.isSamePage")
    assert page.evaluate("() => location.hash") == ""
    assert all("401" in complaint for complaint in tab.complaints)
    tab.complaints.clear()


@pytest.fixture
def saved(served: Served, tmp_path: Path) -> Path:
    """Save the report of a run that goes on."""
    file = tmp_path / "report.html"
    with going_on(served) as (_, run_id):
        written = commands.jobmeter(served.home, "report", run_id, "-o", str(file))
        assert written.code == 0, written.complaint
    return file


def test_a_report_of_a_run_that_went_on_stays_what_it_was(browser: Browser, saved: Path) -> None:
    with browser.new_context() as context:
        page: Page = context.new_page()
        page.clock.install(time="2040-01-01T00:00:00Z")
        page.goto(saved.as_uri())
        expect(page.locator("main .badge", has_text="running").first).to_be_visible()
        duration = page.locator(".figure", has_text="Duration")
        expect(duration).to_have_text(re.compile(r"Duration[\d.]+ s ?so far"))
        expect(page.locator("figure.chart").first).to_be_visible()
        expect(page.locator("figure.chart .badge")).to_have_count(0)
        expect(page.get_by_text("follows")).to_have_count(0)
