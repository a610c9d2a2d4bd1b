"""The labels of a chart's axes: whole, however wide they are."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from support import commands, server
from support.browser import Tab, tab_of
from support.server import Served

COUNTED = """
import time
import jobmeter
run = jobmeter.init(project="labels", config={})
for number in range(11):
    run.log({"tokens": 1e12 * number}, step=1_000_000 * number)
    time.sleep(0.05)
run.finish()
"""
AT_EDGES = """
(canvas) => {
  const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const pixels = (left) => context.getImageData(left, 0, 2, canvas.height).data;
  const inked = (left) => pixels(left).some((value, place) => place % 4 === 3 && value > 0);
  return [inked(0), inked(canvas.width / 2), inked(canvas.width - 2)];
}
"""
"""Whether anything is drawn at the left edge of a chart, in its middle and at its right edge: at an edge it was cut."""


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a training that counts in trillions, over millions of steps."""
    folder = tmp_path_factory.mktemp("labels")
    commands.record_script(folder / "home", folder / "train.py", COUNTED, "--name", "counted")
    with server.serving(folder / "home") as found:
        yield found


@pytest.fixture
def tab(browser: Browser, counted: Served) -> Iterator[Tab]:
    with tab_of(browser, counted) as found:
        yield found


def test_no_label_is_cut_at_an_edge(tab: Tab) -> None:
    page = tab.open(f"/jobs/{tab.run_id('counted')}")
    canvas = page.locator("figure.chart", has_text="tokens").locator("canvas").first
    expect(canvas).to_be_visible()
    tab.settle()
    assert canvas.evaluate(AT_EDGES) == [False, True, False]
