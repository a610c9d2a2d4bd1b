"""Pages with nothing to show yet: each has its heading, and says what would bring something."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from support import server
from support.browser import Tab, tab_of


@pytest.fixture(scope="module")
def empty(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """Open a tab on a home without a run."""
    with server.serving(tmp_path_factory.mktemp("empty") / "home") as served, tab_of(browser, served) as tab:
        yield tab


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        ("/", "Runs"),
        ("/live", "Nothing runs now"),
        ("/compare", "Compare"),
        ("/campaigns", "Campaigns"),
        ("/sizing", "Sizing"),
    ],
)
def test_every_page_has_its_heading(empty: Tab, path: str, heading: str) -> None:
    page = empty.open(path)
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    empty.settle()


@pytest.mark.parametrize("path", ["/", "/live"])
def test_an_example_is_called_one(empty: Tab, path: str) -> None:
    page = empty.open(path)
    expect(page.locator(".empty")).to_contain_text("Put jobmeter run -- in front of any command")
    expect(page.locator(".empty")).to_contain_text(re.compile("for example:", re.IGNORECASE))
    empty.settle()


def test_the_page_of_campaigns_says_what_one_is(empty: Tab) -> None:
    page = empty.open("/campaigns")
    expect(page.get_by_text("A campaign is one build that is run again and again")).to_be_visible()
    empty.settle()


def test_on_a_telephone_a_command_is_whole_and_can_be_copied_and_the_theme_chosen(empty: Tab) -> None:
    empty.page.set_viewport_size({"width": 390, "height": 844})
    page = empty.open("/campaigns")
    for part in (page.locator(".command code"), page.get_by_role("button", name="Copy")):
        box = part.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390
    assert page.locator(".command code").evaluate("code => code.scrollWidth <= code.clientWidth + 1")
    page.get_by_role("button", name="Theme: system").click()
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_sizing_names_the_job_that_lacks_fewest_runs(tab: Tab) -> None:
    page = tab.open("/sizing")
    expect(page.get_by_text("none of them often enough")).to_be_visible()
    expect(page.get_by_text("After two runs of a job that ended well")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^Closest is .*: 1 of 2 runs that ended well\.$"))).to_be_visible()
    tab.settle()
