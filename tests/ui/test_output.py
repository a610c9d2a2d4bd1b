"""A job's output on its page: every line can be reached and read, however short, long or many lines are."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from support import commands, server
from support.browser import Tab, tab_of
from support.server import Served

MIDDLE = 15_000
LINES = 30_000
WIDE = "wide " * 200
JOB = f"""
import sys, time
print("the first line", flush=True)
time.sleep(1.5)
for number in range({LINES}):
    if number == {MIDDLE}:
        print("ModuleNotFoundError: No module named 'flash_attn'", file=sys.stderr)
    print(number, file=sys.stderr)
for number in range(2000):
    print("step", number)
print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. {WIDE}")
print("the last line", flush=True)
sys.exit(1)
"""
HELD_BACK = """
(part) => {
  const own = window.fetch;
  window.released = new Promise((resolve) => (window.release = resolve));
  let isFirst = true;
  window.fetch = async (address, ...rest) => {
    const isHeld = isFirst && String(address).includes(part);
    if (isHeld) isFirst = false;
    const answer = await own(address, ...rest);
    if (isHeld) await window.released;
    return answer;
  };
}
"""
"""Keeps the first answer of an address back until it is released."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a job that wrote very many short lines, a very long one, and an error on both streams."""
    folder = tmp_path_factory.mktemp("output")
    named = ("--name", "written", "--capture", "all")
    commands.record_script(folder / "home", folder / "job.py", JOB, *named, code=1)
    with server.serving(folder / "home") as found:
        yield found


@pytest.fixture
def tab(browser: Browser, written: Served) -> Iterator[Tab]:
    with tab_of(browser, written) as found:
        yield found


def opened(tab: Tab) -> Locator:
    """Open the run, and give its output once it is there."""
    page = tab.open(f"/jobs/{tab.run_id('written')}")
    output = page.get_by_label("Output", exact=True)
    expect(output.locator("pre")).to_contain_text("the last line")
    return output


def numbers(output: Locator) -> list[int]:
    """Read the numbers that are shown as lines."""
    texts = output.locator(".line > span").all_inner_texts()
    return [int(text) for text in texts if text.strip().isdigit()]


def test_a_long_error_wraps_and_is_read_in_full(tab: Tab) -> None:
    line = opened(tab).locator(".line.error", has_text="OutOfMemoryError")
    expect(line).to_have_count(1)
    wide, tall, of_one = line.evaluate(
        "(line) => [line.scrollWidth - line.clientWidth, line.clientHeight, line.nextSibling.clientHeight]"
    )
    assert wide <= 0
    assert tall > 2 * of_one
    style = line.evaluate("(line) => getComputedStyle(line.lastChild)")
    assert style["color"] == line.evaluate("(line) => getComputedStyle(line.nextSibling).color")


def test_an_error_among_very_short_lines_is_the_line_that_is_marked(tab: Tab) -> None:
    output = opened(tab)
    output.get_by_role("button", name=re.compile("No module named")).first.click()
    marked = output.locator(".line.at")
    expect(marked).to_contain_text("No module named 'flash_attn'")
    expect(marked).to_be_in_viewport()
    around = numbers(output)
    assert around[0] < MIDDLE - 50
    assert around == list(range(around[0], around[0] + len(around)))


def test_a_jump_ahead_of_what_is_shown_marks_nothing_else_on_the_way(tab: Tab) -> None:
    output = opened(tab)
    output.get_by_role("button", name=re.compile("No module named")).first.click()
    expect(output.locator(".line.at")).to_contain_text("flash_attn")
    output.get_by_role("button", name=re.compile("CUDA out of memory")).first.click()
    expect(output.locator(".line.at")).to_contain_text("Tried to allocate")
    expect(output.locator(".line.at")).to_be_in_viewport()


def test_earlier_lines_leave_none_out(tab: Tab) -> None:
    output = opened(tab)
    output.get_by_role("button", name="stderr").click()
    expect(output.locator("pre")).to_contain_text(str(LINES - 1))
    for count in (400, 4_400, 8_400):
        expect(output.locator(".line")).to_have_count(count, timeout=20_000)
        shown = numbers(output)
        assert shown == list(range(LINES - count, LINES))
        output.get_by_role("button", name="Earlier lines").click()


def test_later_lines_of_a_search_are_lines_that_were_searched_for(tab: Tab) -> None:
    output = opened(tab)
    output.get_by_role("button", name="stderr").click()
    expect(output.locator("pre")).to_contain_text(str(LINES - 1))
    output.get_by_label("Search the output").fill("77")
    expect(output.get_by_role("status")).to_have_text("400+ lines")
    output.get_by_role("button", name="Later lines").click()
    expect(output.locator(".line")).to_have_count(800)
    assert all("77" in str(number) for number in numbers(output))


def test_another_stream_is_shown_from_its_end(tab: Tab) -> None:
    output = opened(tab)
    output.get_by_role("button", name=re.compile("No module named")).first.click()
    expect(output.locator(".line.at")).to_be_visible()
    output.get_by_role("button", name="stdout").click()
    expect(output.locator("pre")).to_contain_text("the last line")
    expect(output.locator(".line.at")).to_have_count(0)


def test_output_that_cannot_be_read_says_so_and_is_tried_again(tab: Tab) -> None:
    def refused(route: Route) -> None:
        route.fulfill(status=503, json={"detail": "the disk is away", "hint": "mount it"})

    tab.page.route("**/logs?*", refused)
    page = tab.open(f"/jobs/{tab.run_id('written')}")
    output = page.get_by_label("Output", exact=True)
    expect(output.get_by_role("alert")).to_contain_text("The disk is away.")
    page.unroute("**/logs?*", refused)
    output.get_by_role("button", name="Try again").click()
    expect(output.locator("pre")).to_contain_text("the last line")
    expect(output.get_by_role("alert")).to_have_count(0)
    assert all("503" in complaint for complaint in tab.complaints)
    tab.complaints.clear()


def happened(page: Page, name: str) -> Locator:
    return page.get_by_label("Events", exact=True).get_by_role("button", name=re.compile(f"\\b{name}\\b"))


def test_a_moment_leads_to_the_charts(tab: Tab) -> None:
    opened(tab)
    page = tab.page
    expect(page.locator("figure.chart canvas").first).to_be_visible()
    happened(page, "ended").click()
    expect(page.locator("figure.chart").first).to_be_in_viewport()


def test_of_two_moments_the_one_that_was_picked_last_is_shown(tab: Tab) -> None:
    opened(tab)
    page = tab.page
    tab.settle()
    page.evaluate(HELD_BACK, "at=")
    with page.expect_response(re.compile(r"/logs\?.*at=")):
        happened(page, "started").click()
    with page.expect_response(re.compile(r"/logs\?.*at=")):
        happened(page, "ended").click()
    marked = page.get_by_label("Output", exact=True).locator(".line.at")
    expect(marked).to_contain_text("the last line")
    page.evaluate("() => window.release()")
    tab.settle()
    expect(marked).to_contain_text("the last line")


def test_what_a_report_tells_is_marked_in_charts_that_were_there_before_it(tab: Tab) -> None:
    tab.page.add_init_script(f"({HELD_BACK})('/report')")
    page = tab.open(f"/jobs/{tab.run_id('written')}")
    canvas = page.locator("figure.chart canvas").first
    expect(canvas).to_be_visible()
    tab.settle()
    before = canvas.evaluate("(canvas) => canvas.toDataURL()")
    page.evaluate("() => window.release()")
    expect(page.locator(".verdict b")).to_be_visible()
    page.wait_for_function(
        "(before) => document.querySelector('figure.chart canvas').toDataURL() !== before", arg=before
    )


@pytest.mark.parametrize("what", ["report", "context", "processes"])
def test_a_run_that_is_over_is_asked_for_once(tab: Tab, what: str) -> None:
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    opened(tab)
    expect(tab.page.get_by_label("Who used it", exact=True).get_by_role("table")).to_be_visible()
    tab.settle()
    assert len([one for one in asked if one.endswith(f"/{what}")]) == 1
