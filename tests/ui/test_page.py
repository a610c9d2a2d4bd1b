"""What a person sees and does on the page, in a real browser, with runs that were really recorded."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from support.browser import Tab
from support.waiting import waiting


def test_the_runs_are_listed_with_what_they_used(tab: Tab) -> None:
    page = tab.open()
    rows = page.get_by_role("row")
    expect(rows).to_have_count(5)  # four runs and the head
    expect(rows.nth(1)).to_contain_text("broken")
    expect(rows.nth(1)).to_contain_text("failed")
    expect(rows.nth(4)).to_contain_text("first")
    expect(rows.nth(4)).to_contain_text(re.compile(r"\d MiB"))
    expect(page.get_by_text("4 runs", exact=True)).to_be_visible()


def test_the_token_leaves_the_address_and_stays_in_the_tab(tab: Tab) -> None:
    page = tab.open("/?q=name%3Dfirst")
    expect(page.get_by_role("row")).to_have_count(2)
    assert page.url == f"{tab.served.url}/?q=name%3Dfirst"
    page.reload()
    expect(page.get_by_role("row")).to_have_count(2)


def test_without_a_token_one_is_asked_for(tab: Tab) -> None:
    page = tab.page
    page.goto(tab.served.url)
    page.get_by_label("Token").fill(tab.served.token)
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("row")).to_have_count(5)
    assert all("401" in one for one in tab.complaints)
    tab.complaints.clear()


def test_a_filter_narrows_the_list_and_stands_in_the_address(tab: Tab) -> None:
    page = tab.open()
    page.keyboard.press("/")
    page.keyboard.type("status=failed")
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page).to_have_url(re.compile(r"q=status%3Dfailed"))
    page.get_by_label("Search or filter runs").fill("project=vision and name=second")
    expect(page.get_by_role("row").nth(1)).to_contain_text("second")


def test_a_filter_that_is_none_says_so(tab: Tab) -> None:
    page = tab.open("/?q=" + "wall%3E%3E")
    expect(page.get_by_role("alert")).to_be_visible()
    tab.settle()  # it is asked once more when the stream is there
    tab.complaints.clear()  # the browser tells of the answer 400 itself


def test_a_facet_is_a_click(tab: Tab) -> None:
    page = tab.open()
    page.get_by_role("button", name=re.compile("^vision")).click()
    expect(page.get_by_role("row")).to_have_count(4)
    page.get_by_role("button", name=re.compile("^vision")).click()
    expect(page.get_by_role("row")).to_have_count(5)


def test_columns_sort(tab: Tab) -> None:
    page = tab.open()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("broken")
    page.get_by_role("button", name=re.compile("^Run")).click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("third")
    expect(page).to_have_url(re.compile("sort=name&order=asc"))


def test_a_run_says_why_it_failed(tab: Tab) -> None:
    page = tab.open()
    page.get_by_role("link", name="broken").click()
    summary = page.get_by_label("Summary")
    expect(summary).to_contain_text("Performance Analysis")
    expect(summary).to_contain_text("flash_attn")
    expect(summary).to_contain_text("import_error")
    expect(summary).to_contain_text("Peak memory")
    assert page.url.endswith(f"/jobs/{tab.run_id('broken')}")
    output = page.get_by_label("Output", exact=True)
    output.get_by_role("button", name="stderr", exact=True).click()
    expect(output.locator("pre")).to_contain_text("No module named 'flash_attn'")


def drawn_pixels(page: Page, title: str) -> int:
    """Count the pixels of a chart that are not its ground."""
    return int(
        page.evaluate(
            """title => {
                const figure = [...document.querySelectorAll("figure")].find(
                    (one) => one.querySelector(".chart-title").textContent === title);
                const canvas = figure?.querySelector("canvas");
                if (!canvas) return 0;
                const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
                let count = 0;
                for (let at = 3; at < data.length; at += 4) if (data[at] > 0) count += 1;
                return count;
            }""",
            title,
        )
    )


def test_charts_are_drawn_and_zoomed_together(tab: Tab) -> None:
    page = tab.open(f"/jobs/{tab.run_id('first')}")
    expect(page.locator(".chart-title", has_text="loss")).to_be_visible()
    expect(page.locator(".chart-title", has_text="Memory").first).to_be_visible()
    page.wait_for_function("() => document.querySelectorAll('figure canvas').length >= 3")
    assert drawn_pixels(page, "loss") > 1000
    assert drawn_pixels(page, "Memory") > 1000
    over = page.locator("figure", has=page.locator(".chart-title", has_text="loss")).locator(".u-over")
    # nothing above pushes the chart down any more
    expect(page.locator(".verdict b")).to_be_visible()
    tab.settle()
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 40, steps=5)
    page.mouse.up()
    expect(page.get_by_role("button", name="whole run").first).to_be_visible()
    over.dblclick()
    expect(page.get_by_role("button", name="whole run")).to_have_count(0)


def test_numbers_of_a_chart_are_saved(tab: Tab, tmp_path: Path) -> None:
    page = tab.open(f"/jobs/{tab.run_id('first')}")
    figure = page.locator("figure", has=page.locator(".chart-title", has_text="loss"))
    with page.expect_download() as saved:
        figure.get_by_role("button", name="CSV").click()
    saved.value.save_as(tmp_path / "loss.csv")
    rows = (tmp_path / "loss.csv").read_text().splitlines()
    assert rows[0] == "step,loss"
    assert rows[1] == "0,3.2"
    assert len(rows) == 201


def test_runs_are_laid_side_by_side(tab: Tab) -> None:
    page = tab.open()
    for name in ("first", "second"):
        page.get_by_label(f"pick {tab.run_id(name)}").check()
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="Compare")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("^Memory peak"))).to_contain_text("MiB")
    expect(page.locator(".legend").first).to_contain_text("second")


def test_a_run_that_goes_on_moves_on_the_page(tab: Tab) -> None:
    page = tab.open("/live")
    expect(page.get_by_text("Nothing runs now")).to_be_visible()
    with waiting(tab.served.home, "waiting") as finish:
        expect(page.get_by_role("link", name="waiting")).to_be_visible()
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        finish()
    expect(page.get_by_text("Nothing runs now")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/live", "/campaigns"])
def test_axe_finds_nothing_serious_where_there_is_nothing_yet(tab: Tab, path: str, scheme: str) -> None:
    tab.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page = tab.open(path)
    expect(page.locator("main code").first).to_be_visible()
    assert tab.violations() == []


@pytest.mark.parametrize(
    ("path", "sign"),
    [
        ("/", "[role=rowgroup] [role=row]"),
        ("/live", ".empty code"),
        ("/campaigns", ".empty code"),
        ("/jobs/first", ".verdict b"),
    ],
)
def test_nothing_is_wider_than_a_telephone(tab: Tab, path: str, sign: str) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 844})
    page = tab.open(path.replace("first", tab.run_id("first")) if "first" in path else path)
    expect(page.locator(sign).first).to_be_visible()
    tab.settle()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_the_first_load_is_small(tab: Tab) -> None:
    page = tab.open()
    expect(page.get_by_role("link", name="first")).to_be_visible()
    loaded: int = page.evaluate(
        """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
            .filter((one) => !one.name.includes("/api/"))
            .reduce((sum, one) => sum + one.encodedBodySize, 0)"""
    )
    assert 10_000 < loaded <= 120_000


def test_any_run_is_a_few_letters_away(tab: Tab) -> None:
    page = tab.open("/live")
    page.keyboard.press("Control+k")
    page.get_by_label("Go to a run or a page").fill("seco")
    expect(page.get_by_role("option", name=re.compile("^second"))).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="second")).to_be_visible()


def test_the_keys_are_told(tab: Tab) -> None:
    page = tab.open()
    expect(page.get_by_role("link", name="first")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("compare the picked")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_run_is_tagged_and_the_tag_taken_off(tab: Tab) -> None:
    page = tab.open(f"/jobs/{tab.run_id('third')}")
    people = page.get_by_label("Notes and tags")
    people.get_by_label("Tag", exact=True).fill("keep=yes")
    people.get_by_label("Note", exact=True).fill("the one for the paper")
    people.get_by_role("button", name="Add").click()
    expect(people).to_contain_text("keep=yes")
    expect(people).to_contain_text("the one for the paper")
    people.get_by_label("take tag keep off").click()
    expect(people).not_to_contain_text("keep=yes")


def test_deleting_can_be_undone(tab: Tab) -> None:
    page = tab.open(f"/jobs/{tab.run_id('third')}")
    # the browser itself complains of what is asked for before and answered after
    tab.settle()
    page.get_by_label("Notes and tags").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("link", name="first")).to_be_visible()
    expect(page.get_by_role("link", name="third")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="third")).to_be_visible()
