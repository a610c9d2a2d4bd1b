"""Charts and output of a run: what hands and keys do with them, and that a live run loses nothing on the way."""

import os
import re
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from support import commands, recorder, server, watching
from support.browser import Tab, tab_of
from support.server import Served

AWAY_SECONDS = float(os.environ.get("JOBMETER_UI_AWAY_SECONDS", "5"))
"""How long the network is off, and then the tab frozen; bench/ui_charts.py takes a minute for each."""
TRAINING = """
import math, sys, time
import jobmeter
run = jobmeter.init(project="charts", config={"lr": 1e-3})
held = []
for step in range(2400):
    run.log({"loss": 3 * math.exp(-step / 600) + 0.2, "lr": 1e-3 * (1 - step / 4000)}, step=step)
    if step % 20 == 0:
        held.append(bytearray(4_000_000))
        print(f"step {step} of 2400", flush=True)
        time.sleep(0.03)
    if step == 1200:
        run.event("batch_size_changed", {"old": 32, "new": 64})
run.finish()
for module in ("flash_attn", "bitsandbytes"):
    print(f"ModuleNotFoundError: No module named '{module}'", flush=True)
    for number in range(60):
        print(f"after {module}: {number}", flush=True)
sys.exit(1)
"""


@pytest.fixture(scope="module")
def charted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a training of 2,400 steps and four seconds that printed two errors."""
    folder = tmp_path_factory.mktemp("charts")
    script = folder / "train.py"
    script.write_text(TRAINING)
    often = ("--sample-interval", "0.1s", "--report-interval", "0.1s")
    done = commands.jobmeter(
        folder / "home",
        "run",
        "-q",
        "--name",
        "charted",
        "--capture",
        "all",
        *often,
        "--",
        sys.executable,
        str(script),
    )
    assert done.code == 1, done
    with server.serving(folder / "home") as found:
        yield found


@pytest.fixture
def tab(browser: Browser, charted: Served) -> Iterator[Tab]:
    with tab_of(browser, charted, height=1600) as found:
        yield found


def opened(tab: Tab, query: str = "") -> Page:
    """Open the run and wait for its first charts."""
    page = tab.open(f"/jobs/{tab.run_id('charted')}{query}")
    expect(chart(page, "loss").locator("canvas")).to_be_visible()
    return page


def chart(page: Page, title: str) -> Locator:
    return page.locator("figure", has=page.locator(".chart-title", has_text=re.compile(f"^{title}$")))


def dragged(page: Page, title: str, begin: float, end: float) -> None:
    """Drag from one share of a chart's width to another."""
    over = chart(page, title).locator(".u-over")
    over.hover()  # waits until it stands still and nothing covers it
    box = over.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * begin, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, box["y"] + box["height"] / 2 + 9, steps=5)
    page.mouse.up()


def csv_rows(page: Page, title: str) -> list[str]:
    """Save a chart's numbers."""
    with page.expect_download() as saved:
        chart(page, title).get_by_role("button", name=f"CSV of {title}").click()
    return saved.value.path().read_text().splitlines()


def ends(page: Page, title: str) -> tuple[float, float]:
    """Read between which values of its axis a chart has points."""
    rows = csv_rows(page, title)[1:]
    return float(rows[0].split(",")[0]), float(rows[-1].split(",")[0])


def test_a_part_that_is_zoomed_to_is_read_at_full_resolution(tab: Tab) -> None:
    page = opened(tab)
    expect(chart(page, "loss").locator(".legend")).to_contain_text("loss 0.2")
    with page.expect_response(re.compile(r"/steps\?metrics=loss.*from=")) as answered:
        dragged(page, "loss", 0.4, 0.5)
    (line,) = answered.value.json()["series"]
    assert set(line["n"]) == {1}
    assert line["step"] == list(range(line["step"][0], line["step"][-1] + 1))
    assert len(line["step"]) == pytest.approx(
        480, abs=60
    )  # a tenth of the run, and half as much at both sides


def test_one_zoom_holds_for_all_charts_and_a_double_click_ends_it(tab: Tab) -> None:
    page = opened(tab)
    with page.expect_request(re.compile(r"/steps\?metrics=loss.*from=")):
        dragged(page, "Memory", 0.4, 0.6)
    expect(page.get_by_role("button", name="whole run").nth(3)).to_be_visible()
    chart(page, "loss").locator(".u-over").dblclick()
    expect(page.get_by_role("button", name="whole run")).to_have_count(0)


def shown_x(page: Page, title: str) -> str:
    """Read the place under the crosshair."""
    return chart(page, title).locator(".legend-x").inner_text()


def test_one_crosshair_crosses_all_charts(tab: Tab) -> None:
    page = opened(tab)
    over = chart(page, "loss").locator(".u-over")
    over.scroll_into_view_if_needed()
    over.hover()
    expect(chart(page, "loss").locator(".legend-x")).to_have_text(re.compile(r"^step 1,[12]\d\d$"))
    expect(chart(page, "Memory").locator(".legend-x")).to_have_text(re.compile(r"^[\d.]+ s$"))
    page.mouse.move(5, 5)
    expect(page.locator(".legend-x")).to_have_count(0)


def test_shift_and_a_drag_move_along(tab: Tab) -> None:
    page = opened(tab)
    with page.expect_request(re.compile(r"/steps\?metrics=loss.*from=")):
        dragged(page, "loss", 0.4, 0.6)
    page.keyboard.down("Shift")
    # half the width to the left, from 40 % of the run to 30 %, and half the width before that
    with page.expect_request(lambda request: abs(first_step(request.url) - 2400 * 0.2) < 60):
        dragged(page, "loss", 0.2, 0.7)
    page.keyboard.up("Shift")


def first_step(url: str) -> float:
    """Read from which step on a chart asks for the loss."""
    found = re.search(r"/steps\?metrics=loss.*from=(-?\d+)", url)
    return float("inf") if found is None else float(found.group(1))


@pytest.mark.parametrize(
    ("axis", "name", "last"),
    [("step", "step", 2399), ("relative", "seconds", 60), ("wall", "epoch_seconds", 4e9)],
)
def test_every_chart_lies_along_the_axis_that_is_chosen(tab: Tab, axis: str, name: str, last: float) -> None:
    page = opened(tab)
    page.get_by_label("Along").select_option(axis)
    expect(page).to_have_url(re.compile(f"x={axis}"))
    for title in ("loss", "Memory"):
        assert csv_rows(page, title)[0].startswith(f"{name},")
        begin, end = ends(page, title)
        assert begin < end
        if title == "loss" and axis == "step":
            assert (begin < 20, end) == (True, last)
        else:
            assert begin >= 0
            assert end <= last


def test_smoothing_leaves_the_raw_line_behind_and_the_numbers_as_they_are(tab: Tab) -> None:
    page = opened(tab)
    chart(page, "lr").scroll_into_view_if_needed()
    tab.settle()  # as fine as it gets
    before, numbers = ink(page, "lr"), csv_rows(page, "lr")
    page.get_by_label("Smoothing").fill("0.98")
    # the smoothed line lags behind, and the raw one is still there
    page.wait_for_function("(least) => window.ink('lr') > least", arg=1.1 * before)
    assert csv_rows(page, "lr") == numbers


def ink(page: Page, title: str) -> int:
    """Count what is drawn in a chart; looked at in a copy, for reading a canvas often makes the browser complain."""
    page.evaluate("""() => {
        window.ink = (title) => {
            const figure = [...document.querySelectorAll("figure")].find(
                (one) => one.querySelector(".chart-title").textContent === title);
            const canvas = figure.querySelector("canvas");
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
            copy.drawImage(canvas, 0, 0);
            const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
            return new Uint32Array(data.buffer).reduce((sum, pixel) => sum + (pixel >>> 24 > 0 ? 1 : 0), 0);
        };
    }""")
    return int(page.evaluate("(title) => window.ink(title)", title))


def test_a_logarithm_has_other_ticks(tab: Tab) -> None:
    page = opened(tab)
    shades = picture(page, "loss")
    page.get_by_label("logarithmic").check()
    expect(page).to_have_url(re.compile("log=1"))
    recorder.wait_for(lambda: picture(page, "loss") != shades, 30)


def picture(page: Page, title: str) -> bytes:
    """Save a chart as a picture."""
    with page.expect_download() as saved:
        chart(page, title).get_by_role("button", name=f"PNG of {title}").click()
    return saved.value.path().read_bytes()


def test_a_chart_is_saved_as_a_picture(tab: Tab) -> None:
    page = opened(tab)
    found = picture(page, "Memory")
    assert found.startswith(b"\x89PNG")
    width, height = int.from_bytes(found[16:20]), int.from_bytes(found[20:24])
    assert (width > 300, height) == (True, 224)  # the plot and the title above it


def test_charts_out_of_sight_are_neither_drawn_nor_read(tab: Tab) -> None:
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.page.set_viewport_size({"width": 900, "height": 500})
    page = tab.open(f"/jobs/{tab.run_id('charted')}")
    last = page.locator("figure.chart").last
    expect(last).to_be_attached()
    tab.settle()
    expect(last.locator("canvas")).to_have_count(0)
    assert not any("keys=host_mem_available" in one for one in asked)
    last.scroll_into_view_if_needed()
    expect(last.locator("canvas")).to_be_visible()


def test_minima_and_maxima_of_a_coarse_line_are_kept(tab: Tab) -> None:
    page = opened(tab)
    rows = csv_rows(page, "loss")
    assert rows[0] == "step,loss,loss min,loss max"
    assert len(rows) <= 501
    assert max(float(row.split(",")[3]) for row in rows[1:]) == 3.2


def test_every_chart_names_its_method(tab: Tab) -> None:
    page = opened(tab)
    expect(chart(page, "Memory").locator(".method")).to_have_text(re.compile("proc"))
    expect(chart(page, "loss").locator(".method")).to_have_text("sdk")
    for title in ("CPU", "Pressure", "Network", "Throughput", "Host CPU"):
        expect(chart(page, title).locator(".method")).to_have_text(re.compile(r"\w"))


def test_a_chart_is_worked_by_keys_and_read_aloud(tab: Tab) -> None:
    page = opened(tab)
    plot = chart(page, "loss").get_by_role("application")
    expect(plot).to_have_accessible_description(
        re.compile(r"loss, from step \d+ to step 2,399: least 0\.2\d+, largest 3\.2 at step")
    )
    plot.focus()
    page.keyboard.press("ArrowRight")
    told = chart(page, "loss").get_by_role("status")
    expect(told).to_have_text(re.compile(r"^step \d+, loss 3\.\d+$"))
    first = told.inner_text()
    page.keyboard.press("ArrowRight")
    expect(told).not_to_have_text(first)
    expect(told).to_have_text(re.compile(r"^step \d+, loss 3\.\d+$"))
    page.keyboard.press("+")
    expect(page.get_by_role("button", name="whole run").first).to_be_visible()
    page.keyboard.press("0")
    expect(page.get_by_role("button", name="whole run")).to_have_count(0)


def test_the_limit_and_events_are_marked_and_told(tab: Tab) -> None:
    page = opened(tab)
    plot = chart(page, "Memory").get_by_role("application")
    expect(plot).to_have_accessible_description(re.compile(r"limit [\d.]+ [MGT]iB"))
    expect(plot).to_have_accessible_description(re.compile("batch size changed at"))


def test_a_click_on_a_chart_goes_to_the_output_of_then_and_back(tab: Tab) -> None:
    page = opened(tab)
    over = chart(page, "loss").locator(".u-over")
    over.scroll_into_view_if_needed()
    with page.expect_request(re.compile(r"/logs\?.*at=")) as asked:
        over.click()
    (at,) = parse_qs(urlsplit(asked.value.url).query)["at"]
    before, after = moments_of(tab, 1180, 1220)
    assert before <= float(at) <= after  # its middle is step 1200
    address = f"/api/v1/runs/{tab.run_id('charted')}/logs"
    (written,) = tab.served.client.get(address, params={"at": at, "limit": 1}).json()["lines"]
    assert re.fullmatch(r"step \d+ of 2400", written["text"])
    line = page.locator(".output .line.at")
    expect(line).to_contain_text(written["text"])
    expect(line).to_be_in_viewport()
    expect(line.get_by_role("button")).to_have_text(re.compile(r"\d+ MiB"))  # the memory at that line
    dragged(page, "loss", 0.8, 0.9)
    expect(page.get_by_role("button", name="whole run").first).to_be_visible()
    line.get_by_role("button").click()
    expect(chart(page, "Memory")).to_be_in_viewport()
    expect(page.get_by_role("button", name="whole run").first).to_be_visible()


def moments_of(tab: Tab, *steps: int) -> list[float]:
    """Say when steps were taken."""
    address = f"/api/v1/runs/{tab.run_id('charted')}/clock"
    (clock,) = tab.served.client.get(address, params={"points": 10_000}).json()["clocks"]
    times = dict(zip(clock["step"], clock["t"], strict=True))
    return [times[step] for step in steps]


def memory_bytes(text: str) -> float:
    amount, unit = text.split()
    return float(amount) * {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]


def test_the_memory_stands_at_each_line_and_grows_with_the_job(tab: Tab) -> None:
    page = opened(tab)
    page.get_by_label("Search the output").fill("of 2400")
    lines = page.locator(".output .line")
    expect(lines).to_have_count(120)
    expect(lines.nth(119).get_by_role("button").nth(1)).to_have_text(re.compile("MiB"))
    first, last = (
        memory_bytes(lines.nth(place).get_by_role("button").nth(1).inner_text()) for place in (10, 110)
    )
    assert last - first == pytest.approx(400e6, rel=0.3)  # a hundred steps of twenty hold 4 MB each


def test_the_output_is_searched_and_a_hit_opens_where_it_stands(tab: Tab) -> None:
    page = opened(tab)
    output = page.get_by_label("Output", exact=True)
    output.get_by_label("Search the output").fill("STEP 1980 of")
    expect(output.locator("mark")).to_have_text("step 1980 of")
    expect(output.get_by_role("status")).to_have_text("1 line")
    output.get_by_title("show the lines around it").click()
    expect(output.locator(".line.at")).to_contain_text("step 1980 of 2400")
    expect(output.locator("pre")).to_contain_text("step 1960 of 2400")
    output.get_by_role("button", name="To the end").click()
    expect(output.locator("pre")).to_contain_text("after bitsandbytes: 59")


def test_one_jumps_from_error_to_error(tab: Tab) -> None:
    page = opened(tab)
    output = page.get_by_label("Output", exact=True)
    output.get_by_role("button", name="Next error").click()
    expect(output.locator(".line.at")).to_contain_text("flash_attn")
    output.get_by_role("button", name="Next error").click()
    expect(output.locator(".line.at")).to_contain_text("No module named 'bitsandbytes'")
    expect(output.get_by_role("group", name="Errors")).to_contain_text("error 2 of 2")
    output.get_by_role("button", name="Previous error").click()
    expect(output.locator(".line.at")).to_contain_text("flash_attn")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(tab: Tab, scheme: str) -> None:
    tab.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page = opened(tab, "?log=1")
    page.get_by_label("Output", exact=True).get_by_role("button", name="Next error").click()
    expect(page.locator(".output .line.at")).to_be_visible()
    assert tab.violations() == []


def test_a_live_run_moves_by_itself_and_nothing_is_missing_after_a_break(tab: Tab) -> None:
    page, served = tab.page, tab.served
    with watching.running(served.home) as job:
        told = watching.watched(page, served, job.run_id(served))
        page.wait_for_function("() => window.seen.length > 8")
        expect(chart(page, "Memory").locator(".badge")).to_have_text("live")
        expect(page.locator(".output pre")).to_contain_text(re.compile(r"round \d+"))
        delays = told.delays()
        badge = chart(page, "Memory").locator(".badge")
        told.away(AWAY_SECONDS, lambda: expect(badge).to_have_text(re.compile(r"^\d+ s ago$")))
        told.wait_fresh()
        job.finish()
    assert told.missing()[0] == 0
    lines: list[str] = page.locator(".output .line").all_inner_texts()
    rounds = [int(found.group(1)) for line in lines if (found := re.search(r"round (\d+)", line))]
    assert rounds == list(range(rounds[0], rounds[0] + len(rounds)))
    report(delays)
    tab.complaints[:] = [one for one in tab.complaints if "ERR_INTERNET_DISCONNECTED" not in one]


def report(delays: list[Any]) -> None:
    """Say how soon samples were drawn: the machine's load is in it."""
    print(
        f"samples drawn {sorted(delays)[len(delays) // 2]:.2f} s after they were taken, at most {max(delays):.2f} s"
    )
