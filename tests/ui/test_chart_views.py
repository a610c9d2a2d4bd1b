"""Charts that are sent as a link, taken between two fingers, and honest about what nobody logged."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from support import commands, server
from support.browser import Tab, tab_of
from support.server import Served

TRAINING = """
import math, time
import jobmeter
run = jobmeter.init(project="charts")
for step in range(100):
    loss = math.nan if 40 <= step <= 60 else 1 + step / 100
    run.log({"loss": loss, "=1+1": step}, step=step)
    time.sleep(0.02)
run.finish()
"""
DRAWN = """
(figure, [from, to]) => {
  const [canvas, over] = [figure.querySelector("canvas"), figure.querySelector(".u-over")];
  const probe = new OffscreenCanvas(1, 1).getContext("2d");
  probe.fillStyle = getComputedStyle(figure.querySelector(".legend i")).backgroundColor;
  probe.fillRect(0, 0, 1, 1);
  const wanted = probe.getImageData(0, 0, 1, 1).data;
  const [outer, inner] = [canvas.getBoundingClientRect(), over.getBoundingClientRect()];
  const scale = canvas.width / outer.width;
  const left = Math.round((inner.left - outer.left + from * inner.width) * scale);
  const width = Math.round((to - from) * inner.width * scale);
  const copy = new OffscreenCanvas(width, canvas.height).getContext("2d");
  copy.drawImage(canvas, -left, 0);
  const dots = copy.getImageData(0, 0, width, canvas.height).data;
  let found = 0;
  for (let at = 0; at < dots.length; at += 4) {
    if (dots[at + 3] > 200 && [0, 1, 2].every((part) => Math.abs(dots[at + part] - wanted[part]) < 24)) found += 1;
  }
  return found;
}
"""
"""Counts the dots of the first line's colour between two shares of a chart's width."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a training whose loss was no number for a while."""
    folder = tmp_path_factory.mktemp("views")
    commands.record_script(folder / "home", folder / "train.py", TRAINING, "--name", "logged")
    with server.serving(folder / "home") as found:
        yield found


def chart(page: Page, title: str) -> Locator:
    return page.locator(
        "figure", has=page.locator(".chart-title", has_text=re.compile(f"^{re.escape(title)}$"))
    )


def opened(tab: Tab, query: str = "", title: str = "loss") -> Page:
    """Open the run and wait until nothing moves any more."""
    page = tab.open(f"/jobs/{tab.run_id('logged')}{query}")
    chart(page, title).scroll_into_view_if_needed()
    expect(chart(page, title).locator("canvas")).to_be_visible()
    expect(page.locator(".verdict b")).to_be_visible()
    tab.settle()
    return page


def test_what_was_no_number_is_not_drawn_as_one(tab: Tab) -> None:
    loss = chart(opened(tab), "loss")
    loss.scroll_into_view_if_needed()
    assert loss.evaluate(DRAWN, [0.45, 0.55]) == 0
    assert loss.evaluate(DRAWN, [0.1, 0.2]) > 20
    assert loss.evaluate(DRAWN, [0.8, 0.9]) > 20


def test_a_name_that_a_spreadsheet_would_compute_is_saved_as_text(tab: Tab) -> None:
    page = opened(tab)
    with page.expect_download() as saved:
        chart(page, "=1+1").get_by_role("button", name="CSV of").click()
    assert saved.value.path().read_text().splitlines()[0] == "step,'=1+1"


def test_a_link_brings_zoom_and_smoothing_to_another_person(tab: Tab, browser: Browser) -> None:
    page = opened(tab)
    over = chart(page, "loss").locator(".u-over")
    over.hover()
    box = over.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.2 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], middle, steps=4)
    page.mouse.up()
    page.get_by_label("Smoothing").fill("0.6")
    expect(page).to_have_url(re.compile(r"zoom=[\d.]+_[\d.]+"))
    expect(page).to_have_url(re.compile(r"smooth=0\.6"))
    with tab_of(browser, tab.served) as other:
        second = other.open(page.url.removeprefix(tab.served.url))
        expect(second.get_by_role("button", name="Show the whole run")).to_be_visible()
        expect(second.get_by_label("Smoothing")).to_have_value("0.6")
        expect(chart(second, "loss").locator("canvas")).to_be_visible()
        other.settle()
        assert second.url == page.url
        second.get_by_role("button", name="Show the whole run").click()
        expect(second).to_have_url(re.compile(r"\?smooth=0\.6$"))


@pytest.fixture
def touched(browser: Browser, served: Served) -> Iterator[Tab]:
    """Open a tab on a telephone."""
    with browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    ) as context:
        found = Tab(context.new_page(), served)
        yield found
        assert found.complaints == []


def spread(page: Page, over: Locator, begin: tuple[float, ...], end: tuple[float, ...]) -> None:
    """Move one finger or two over a chart, from shares of its width to others."""
    box = over.bounding_box()
    assert box is not None
    session = page.context.new_cdp_session(page)

    def touch(kind: str, shares: tuple[float, ...]) -> None:
        points = [
            {"x": box["x"] + share * box["width"], "y": box["y"] + box["height"] / 2, "id": place}
            for place, share in enumerate(shares)
        ]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", begin)
    for part in (0.25, 0.5, 0.75, 1.0):
        touch(
            "touchMove",
            tuple(one + part * (other - one) for one, other in zip(begin, end, strict=True)),
        )
    touch("touchEnd", ())


def zoomed(page: Page) -> tuple[float, float]:
    """Read from the address what is shown."""
    expect(page).to_have_url(re.compile("zoom="))
    found = re.search(r"zoom=([\d.]+)_([\d.]+)", page.url)
    assert found is not None
    return float(found[1]), float(found[2])


def test_two_fingers_zoom_and_one_moves_along(touched: Tab) -> None:
    page = opened(touched, "?x=wall", "Memory")
    memory = chart(page, "Memory").locator(".u-over")
    memory.scroll_into_view_if_needed()
    spread(page, memory, (0.4, 0.6), (0.1, 0.9))
    expect(page.get_by_role("button", name="Show the whole run")).to_be_visible()
    begin, end = zoomed(page)
    assert end - begin < 2
    url = page.url
    spread(page, memory, (0.7,), (0.3,))
    expect(page).not_to_have_url(url)
    after = zoomed(page)
    assert after[0] > begin
    assert after[1] - after[0] == pytest.approx(end - begin, rel=0.02)
