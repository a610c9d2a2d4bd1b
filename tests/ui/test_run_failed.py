"""The page of a run that failed: it opens at what went wrong, and everything that tells of it leads there."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from support import commands, server
from support.browser import Tab, tab_of
from support.server import Served

MANY_FILES = "held = [open('/dev/null') for _ in range(1000)]"
LIMITED = ("sh", "-c", 'ulimit -n 64; exec "$0" -S -c "$1"', sys.executable, MANY_FILES)
MIDDLE = """
import sys, time
for number in range(3000):
    if number == 300:
        print("ModuleNotFoundError: No module named 'flash_attn'", file=sys.stderr)
    print("line", number, file=sys.stderr)
time.sleep(0.5)
sys.exit(1)
"""
LAST = "\nimport sys, time\n" + "time.sleep(0.1)\n" * 12 + "\nraise ValueError('no such optimizer: lion')\n"
SPOKEN = "import sys; print('all is well', file=sys.stderr)"
SOFT = "import sys; print('start'); print('ERROR: cannot reach the tracker', file=sys.stderr); print('end')"


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve jobs that failed with all they said on stderr, and two that went on."""
    folder = tmp_path_factory.mktemp("failed")
    python = (sys.executable, "-S", "-c")
    record(folder, LIMITED, "--name", "files", "--measurements", "wait_maxrss", code=1)
    record(folder, (*python, MIDDLE), "--name", "middle", code=1)
    record(folder, (*python, LAST), "--tag", "kind=last", code=1)
    record(folder, (*python, SPOKEN), "--name", "spoken")
    record(folder, (*python, SOFT), "--name", "soft")
    with server.serving(folder / "home") as found:
        yield found


def record(folder: Path, command: tuple[str, ...], *options: str, code: int = 0) -> None:
    often = ("--sample-interval", "0.1s", "--report-interval", "0.1s", "--capture", "all")
    done = commands.jobmeter(folder / "home", "run", "-q", *often, *options, "--", *command)
    assert done.code == code, done


@pytest.fixture
def tab(browser: Browser, failed: Served) -> Iterator[Tab]:
    with tab_of(browser, failed) as found:
        yield found


def opened(tab: Tab, name: str) -> Page:
    """Open a run by its name, or the one that has none, and wait for what analysis says."""
    query = f"name={name}" if name != "last" else "tag.kind=last"
    (run,) = tab.served.client.get("/api/v1/runs", params={"q": query}).json()["runs"]
    page = tab.open(f"/jobs/{run['run_id']}")
    expect(page.locator(".verdict b")).to_be_visible()
    return page


def output(page: Page) -> Locator:
    return page.get_by_label("Output", exact=True)


def pressed(page: Page) -> Locator:
    """The stream that is shown."""
    return output(page).locator(".title button[aria-pressed=true]")


def test_the_output_opens_in_the_stream_of_the_error(tab: Tab) -> None:
    page = opened(tab, "files")
    expect(pressed(page)).to_have_text("stderr")
    expect(output(page).locator(".line").last).to_contain_text("Too many open files")
    expect(output(page).locator(".line.at")).to_have_count(0)  # seen from the end: nothing is looked for


def test_the_output_opens_at_an_error_that_is_not_at_the_end(tab: Tab) -> None:
    page = opened(tab, "middle")
    expect(output(page).locator(".line.at")).to_contain_text("No module named 'flash_attn'")
    box, line = (output(page).locator(one).bounding_box() for one in ("pre", ".line.at"))
    assert box is not None
    assert line is not None
    assert box["y"] <= line["y"] <= box["y"] + box["height"]
    assert page.evaluate("() => scrollY") == 0  # the verdict comes first


def test_a_job_that_went_on_after_its_error_is_read_from_the_end_of_that_stream(tab: Tab) -> None:
    page = opened(tab, "soft")
    expect(pressed(page)).to_have_text("stderr")
    expect(output(page).locator(".line.at")).to_have_count(0)


def test_without_an_error_a_stream_that_has_text_is_shown_and_an_empty_one_says_so(tab: Tab) -> None:
    page = opened(tab, "spoken")
    expect(pressed(page)).to_have_text("stderr")
    expect(output(page).locator(".line")).to_contain_text("all is well")
    output(page).get_by_role("button", name="stdout").click()
    expect(output(page).locator("pre")).to_have_text("stdout is empty")
    expect(pressed(page)).to_have_text("stdout")


@pytest.mark.parametrize("way", ["tile", "event", "evidence", "arrow"])
def test_all_that_tells_of_an_error_leads_to_its_line(tab: Tab, way: str) -> None:
    page = opened(tab, "middle")
    expect(output(page).locator(".line.at")).to_be_attached()
    output(page).get_by_role("button", name="stdout").click()
    expect(output(page).locator("pre")).to_have_text("stdout is empty")
    page.evaluate("() => scrollTo(0, 0)")
    match way:
        case "tile":
            page.locator(".figures").get_by_role("button", name="1", exact=True).click()
        case "event":
            page.get_by_label("Events", exact=True).get_by_role(
                "button", name=re.compile("flash_attn")
            ).click()
        case "evidence":
            page.locator(".verdict").get_by_role("button", name="stderr").click()
        case _:
            # without the scrolling that a click of a test does itself
            output(page).get_by_role("button", name="Next error").dispatch_event("click")
    line = output(page).locator(".line.at")
    expect(line).to_contain_text("No module named 'flash_attn'")
    expect(line).to_be_in_viewport()
    expect(pressed(page)).to_have_text("stderr")


def test_settings_are_not_offered_where_none_has_a_place(tab: Tab) -> None:
    page = opened(tab, "files")
    advice = page.get_by_role("list", name="Recommendations").locator("> li")
    expect(advice.first.locator(".change")).to_contain_text(re.compile("ulimit -n"))
    expect(advice.first.locator(".change")).not_to_contain_text("not set")
    tab.settle()
    expect(page.get_by_role("button", name="Apply Recommended Settings")).to_have_count(0)


def test_without_advice_the_verdict_takes_the_width(tab: Tab) -> None:
    page = opened(tab, "spoken")
    expect(page.locator(".changes")).to_have_text(
        re.compile("What to change.*Nothing is known that would make it better")
    )
    wide = page.evaluate(
        "() => document.querySelector('.halves > div').clientWidth / document.querySelector('.halves').clientWidth"
    )
    assert wide == pytest.approx(1)
    box = page.locator(".changes").bounding_box()
    assert box is not None
    assert box["height"] < 40


def test_a_run_without_charts_has_no_controls_of_charts(tab: Tab) -> None:
    page = opened(tab, "files")
    expect(output(page)).to_be_visible()
    tab.settle()
    expect(page.locator("figure.chart")).to_have_count(0)
    expect(page.get_by_label("Smoothing")).not_to_be_visible()
    opened(tab, "middle")
    expect(page.get_by_label("Smoothing")).to_be_visible()


def test_events_of_a_short_run_are_told_apart(tab: Tab) -> None:
    times = opened(tab, "files").get_by_label("Events", exact=True).locator("time")
    expect(times.first).to_have_text("0 ms")
    assert re.fullmatch(
        r"[1-9]\d* ms|[1-9]\.\d\d s", times.last.inner_text()
    )  # a busy machine takes its time
    assert times.last.inner_text() != times.first.inner_text()


def test_a_command_of_many_lines_is_cut_after_two_and_shown_whole_on_demand(tab: Tab) -> None:
    page = opened(tab, "last")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(re.compile(r"^python[\d.]* -S -c import sys, time time\.sleep"))
    tall, line = heading.evaluate("(one) => [one.clientHeight, parseFloat(getComputedStyle(one).lineHeight)]")
    assert tall <= 2 * line + 1
    expect(page).to_have_title(re.compile("^python"))
    whole = page.get_by_role("group", name="Whole command")
    expect(whole).not_to_be_visible()
    page.locator("summary", has_text="Whole command").click()
    expect(whole).to_contain_text(sys.executable)
    expect(whole).to_contain_text("raise ValueError('no such optimizer: lion')")


def test_who_used_it_names_its_method(tab: Tab) -> None:
    who = opened(tab, "last").get_by_role("region", name="Who used it", exact=True)
    expect(who.get_by_role("columnheader", name="Peak memory (RSS)")).to_be_visible()
    expect(who).to_contain_text(
        re.compile(r"pages that processes share.*the peak of the job above is by \w+")
    )


def test_what_stands_before_a_line_is_named(tab: Tab) -> None:
    page = opened(tab, "last")
    heads = output(page).locator(".heads")
    expect(heads).to_contain_text("memory then")
    expect(output(page).locator(".line button").first).to_have_attribute(
        "title", re.compile("the job had .* of memory then")
    )


@pytest.mark.parametrize("name", ["files", "last"])
def test_nothing_is_wider_than_a_telephone_and_axe_finds_nothing(
    browser: Browser, failed: Served, name: str
) -> None:
    with tab_of(browser, failed, width=390, height=844) as tab:
        page = opened(tab, name)
        tab.settle()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
        assert tab.violations() == []
