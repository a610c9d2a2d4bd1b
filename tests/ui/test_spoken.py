"""The page by keys and by ear, and where the browser has no clipboard: focus, what is read out, what is copied."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from support import folders, server
from support.browser import Tab
from support.server import Served
from support.waiting import waiting

ALERTS = """
[rules.memory-above-1-mib]
key = "memory"
value = "1MiB"
for = "0s"
severity = "critical"
"""
NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a home of a few runs, of which any that uses memory is told of."""
    home = tmp_path_factory.mktemp("spoken") / "home"
    folders.write_many(home, 4)
    (home / "alerts.toml").write_text(ALERTS)
    with server.serving(home) as found:
        yield found


def test_who_had_the_focus_has_it_again_after_a_dialog(tab: Tab) -> None:
    page = tab.open("/sizing")
    page.get_by_role("link", name="Live").focus()
    page.keyboard.press("Control+k")
    expect(page.get_by_label("Go to a run or a page")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("link", name="Live")).to_be_focused()


def test_one_dialog_leads_to_another(tab: Tab) -> None:
    page = tab.open("/sizing")
    page.keyboard.press("Control+k")
    page.get_by_label("Go to a run or a page").fill("keys")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.wait_for_function("() => new Promise((done) => setTimeout(() => done(true), 100))")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_another_page_begins_at_its_content(tab: Tab) -> None:
    page = tab.open("/sizing")
    page.get_by_role("link", name="Campaigns").click()
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("Control+k")
    page.get_by_label("Go to a run or a page").fill("sizing")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/sizing$"))
    expect(page.locator("#main")).to_be_focused()


def test_what_was_done_is_read_out_where_it_was_listened_before(tab: Tab) -> None:
    page = tab.open("/?columns=name")
    spoken = page.locator(".notice[role=status]")
    expect(spoken).to_be_empty()
    page.get_by_role("checkbox", name=re.compile("^pick ")).first.check()
    kept = spoken.element_handle()
    page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    expect(spoken).to_contain_text("1 run is in the bin")
    assert page.evaluate("([one, other]) => one === other", [kept, spoken.element_handle()])
    page.get_by_role("button", name="Undo").click()


def test_a_new_alert_is_read_out(tab: Tab) -> None:
    page = tab.open("/live")
    expect(page.get_by_text("Nothing runs now")).to_be_visible()
    spoken = page.locator("main [role=status]")
    expect(spoken).to_be_empty()
    with waiting(tab.served.home, "greedy"):
        expect(spoken).to_have_text(re.compile("^Critical: .* the threshold is above 1 MiB"))


def test_a_silent_server_is_not_called_live(tab: Tab) -> None:
    page = tab.page
    page.clock.install()
    tab.open("/live")
    badge = page.locator("main .title .badge")
    expect(badge).to_have_text("live")
    page.clock.fast_forward(35_000)
    expect(badge).to_have_text(re.compile(r"^3\d s ago$"))


@pytest.fixture
def bare(tab: Tab) -> Page:
    """Open a page as over plain HTTP from afar: without a clipboard to write to."""
    tab.page.add_init_script(NO_CLIPBOARD)
    return tab.open("/?q=make")


def pasted(page: Page) -> str:
    """Paste what was copied, as a person would."""
    page.get_by_label("Name of the view").fill("")
    page.get_by_label("Name of the view").press("Control+v")
    return page.get_by_label("Name of the view").input_value()


def test_a_link_is_copied_without_a_clipboard(bare: Page) -> None:
    bare.get_by_text("Views", exact=True).click()
    bare.get_by_role("button", name="Copy link").click()
    expect(bare.locator(".notice")).to_have_text("The link to this view is copied")
    assert pasted(bare) == bare.url


def test_what_cannot_be_copied_is_not_said_to_be(bare: Page) -> None:
    bare.evaluate("() => { document.execCommand = () => false; }")
    bare.get_by_text("Views", exact=True).click()
    bare.get_by_role("button", name="Copy link").click()
    expect(bare.locator(".notice")).to_contain_text("lets nothing be copied here")
