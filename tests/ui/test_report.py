"""A report in a file: the run's page without a server, also in a frame that may do nothing but run scripts."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Frame, Page, Request, expect

from support import commands, server
from support.browser import Tab
from support.server import Served

EVIL = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>"
TRAINING = f"""
import sys, time
import jobmeter
run = jobmeter.init(project="vision", config={{"train": {{"batch_size": 8}}, "lr": 1e-3}})
for step in range(2000):
    run.log({{"loss": 2 / (step + 1)}}, step=step)
    time.sleep(0.0005)
run.event("batch_size_changed", {{"old": 4, "new": 8}})
run.finish()
print({EVIL!r})
print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of"
      " 23.65 GiB of which 1.20 GiB is free.", file=sys.stderr)
for number in range(1200):
    print("after it, line", number, file=sys.stderr)
sys.exit(1)
"""
_AXE = Path(__file__).resolve().parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
Theme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a home of its own with a training that dies and has a hostile name."""
    folder = tmp_path_factory.mktemp("report")
    script = folder / "train.py"
    script.write_text(TRAINING)
    done = commands.jobmeter(
        folder / "home", "run", "-q", "--name", EVIL, "--capture", "all", "--sample-interval", "0.1s",
        "--report-interval", "0.2s", "--", sys.executable, str(script),
    )  # fmt: skip
    assert done.code == 1, done
    with server.serving(folder / "home") as found:
        yield found


@pytest.fixture(scope="module")
def report(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of that training."""
    file = tmp_path_factory.mktemp("written") / "report.html"
    written = commands.jobmeter(served.home, "report", "last", "-o", str(file))
    assert written.code == 0, written.complaint
    return file


@contextmanager
def opened(browser: Browser, address: str, *, width: int = 1440, theme: Theme = "light") -> Iterator[Page]:
    """Open an address, and hold it to complaining of nothing, asking nobody and running nothing foreign."""
    with browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme) as context:
        page = context.new_page()
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: _note(request, address, wrong))
        page.goto(address)
        yield page
        assert wrong == []


def _note(request: Request, address: str, wrong: list[str]) -> None:
    if not request.url.startswith((address, "about:", "blob:", "data:")):
        wrong.append(request.url)


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """Open the report as a file."""
    with opened(browser, report.as_uri()) as found:
        yield found


def drawn(page: Page | Frame) -> list[bool]:
    """Tell of each chart whether anything is drawn in it."""
    found: list[bool] = page.evaluate(
        """() => [...document.querySelectorAll(".plot")].map((plot) => {
            const canvas = plot.querySelector("canvas");
            if (!canvas || !canvas.width) return false;
            const dots = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            return dots.some((value) => value !== 0);
        })"""
    )
    return found


def test_a_report_says_what_happened_and_what_to_change(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(EVIL)
    analysed = page.locator("section", has=page.get_by_role("heading", name="Performance Analysis"))
    expect(analysed).to_contain_text("CUDA")
    expect(analysed).to_contain_text("batch_size")
    assert page.title().startswith(EVIL)


def test_the_settings_that_are_advised_stand_in_the_file(page: Page) -> None:
    page.get_by_role("button", name="Apply Recommended Settings").click()
    made = page.get_by_role("dialog")
    expect(made.get_by_label("Changes")).to_contain_text('"batch_size": 4')
    expect(made.get_by_label("Config of the new job")).to_have_value(re.compile('"batch_size": 4'))


def test_the_output_is_searched_without_a_server(page: Page) -> None:
    output = page.get_by_label("Output", exact=True)
    output.get_by_role("button", name="stderr").click()
    expect(output.locator("pre")).to_contain_text("after it, line 1199")
    search = output.get_by_label("Search the output")
    search.fill("line 1034")
    expect(output.locator("pre")).to_contain_text("after it, line 1034")
    expect(output.locator("pre")).not_to_contain_text("line 1035")


def test_an_error_leads_to_its_place_in_the_output(page: Page) -> None:
    output = page.get_by_label("Output", exact=True)
    output.get_by_role("button", name=re.compile("OutOfMemoryError")).first.click()
    expect(output.locator("pre")).to_contain_text("Tried to allocate 2.00 GiB")
    expect(output.locator("pre")).to_contain_text("after it, line 3")


def test_the_steps_that_are_kept_are_told_as_such(page: Page) -> None:
    steps = page.get_by_label("Steps", exact=True)
    expect(steps).to_contain_text(re.compile(r"\d{3} steps of 2,000"))
    steps.get_by_role("button", name="last").click()
    expect(steps.locator(".last")).to_contain_text("1,999")
    expect(steps.get_by_role("table")).not_to_contain_text("…")


def test_nothing_can_be_changed_in_a_file(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    expect(page.get_by_label("Add a note")).to_have_count(0)
    expect(page.get_by_label("Note", exact=True)).to_be_hidden()
    link = page.locator("a[href^='/']").first
    if link.count():
        link.dispatch_event("click")
    expect(page.get_by_role("heading", level=1)).to_have_text(EVIL)


def test_ai_toolkit_shows_it_as_a_tab(browser: Browser, report: Path) -> None:
    """In the frame of its page: by its text, without an origin, with scripts and nothing else."""
    with opened(browser, "about:blank") as page:
        page.set_content('<iframe sandbox="allow-scripts" style="width:1200px;height:800px"></iframe>')
        page.evaluate(
            "html => { document.querySelector('iframe').srcdoc = html }",
            report.with_name("report.html").read_text(),
        )
        tab = page.frame_locator("iframe")
        expect(tab.get_by_role("heading", name="Performance Analysis")).to_be_visible()
        expect(tab.locator(".plot canvas").first).to_be_visible()
        frame = page.frames[1]
        assert frame.url == "about:srcdoc"
        time = frame.locator("select").first
        values = time.evaluate("(one) => [...one.options].map((option) => option.value)")
        for value in [*values, values[0]]:
            time.select_option(value)
            expect(frame.locator("select").first).to_have_value(value)
        assert drawn(frame)[0]


def test_a_report_is_printed_light_and_whole(browser: Browser, report: Path) -> None:
    with opened(browser, report.as_uri(), theme="dark") as page:
        page.wait_for_function("() => document.querySelectorAll('.plot').length > 4")
        expect(page.locator(".plot canvas").first).to_be_visible()
        assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
        assert not all(drawn(page))
        page.emulate_media(media="print", color_scheme="dark")
        page.evaluate("() => { dispatchEvent(new Event('beforeprint')) }")
        assert page.evaluate("() => document.documentElement.dataset.theme") == "light"
        assert all(drawn(page))
        expect(page.get_by_role("button", name="Apply Recommended Settings")).to_be_hidden()
        expect(page.get_by_text("Errors", exact=True).locator("..")).to_contain_text("1")
        page.evaluate("() => { dispatchEvent(new Event('afterprint')) }")
        assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
        assert page.pdf(format="A4", print_background=True).startswith(b"%PDF")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, report: Path, theme: Theme) -> None:
    with opened(browser, report.as_uri(), theme=theme) as page:
        expect(page.locator(".plot canvas").first).to_be_visible()
        page.evaluate(_AXE.read_text())
        found: dict[str, Any] = page.evaluate("() => axe.run()")
        assert [
            f"{one['id']}: {node['html'][:120]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ] == []


def test_nothing_is_wider_than_a_telephone(browser: Browser, report: Path) -> None:
    with opened(browser, report.as_uri(), width=390) as page:
        page.locator(".plot").first.scroll_into_view_if_needed()
        expect(page.locator(".plot canvas").first).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_a_report_answers_all_that_the_page_asks_a_server(tab: Tab, report: Path, browser: Browser) -> None:
    """A panel that asks something new must be able to ask a report too."""
    asked: set[str] = set()
    tab.page.on("request", lambda request: asked.add(urlsplit(request.url).path))
    ids = tab.served.client.get("/api/v1/runs", params={"limit": 1}).json()["runs"]
    live = tab.open(f"/jobs/{ids[0]['run_id']}")
    expect(live.locator(".plot canvas").first).to_be_visible()
    expect(live.get_by_label("Output", exact=True)).to_be_visible()
    tab.settle()
    about = {path for path in asked if path.startswith((f"/api/v1/runs/{ids[0]['run_id']}", "/api/jobs/"))}
    with opened(browser, report.as_uri()) as page:
        expect(page.locator(".plot canvas").first).to_be_visible()
        packed = page.evaluate(
            """async () => {
                const text = document.getElementById("answers").textContent;
                const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
                const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
                return Object.keys((await new Response(plain).json()).answers);
            }"""
        )
    kept = {name.split("?")[0] for name in packed}
    assert {path for path in about if not path.endswith("/stream")} - kept == set()
    assert len(about) > 4
