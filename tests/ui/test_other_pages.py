"""Comparing, what runs now, campaigns, sizing, and the keys that go everywhere: in a real browser, on recorded runs."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from support import other_pages, rank_jobs, server
from support.browser import Tab
from support.server import Served

TRAININGS = ("slow", "middle", "fast")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a home of its own: other tests count the runs of theirs."""
    folder = tmp_path_factory.mktemp("other-pages")
    home = folder / "home"
    other_pages.record(home, folder)
    (home / "alerts.toml").write_text(other_pages.ALERTS)
    with server.serving(home) as found:
        yield found


def compare(tab: Tab, *names: str, more: str = "") -> Page:
    """Open the comparison of some runs."""
    ids = ",".join(tab.run_id(name) for name in names)
    page = tab.open(f"/compare?runs={ids}{more}")
    expect(page.get_by_role("heading", name=f"Compare {len(names)} runs")).to_be_visible()
    return page


def row(page: Page, table: str, name: str) -> Locator:
    """Find a row by what it begins with."""
    return page.get_by_role("region", name=table).get_by_role("row", name=re.compile(rf"^{re.escape(name)} "))


def chart(page: Page, title: str) -> Locator:
    """Find a chart by its title."""
    return page.locator("figure", has=page.locator(".chart-title", has_text=re.compile(f"^{title}$")))


def csv(page: Page, title: str, path: Path) -> list[str]:
    """Save the numbers of a chart and read them."""
    with page.expect_download() as saved:
        chart(page, title).get_by_role("button", name="CSV").click()
    saved.value.save_as(path)
    return path.read_text().splitlines()


def test_the_best_of_each_number_is_marked_and_the_rest_held_against_the_first(tab: Tab) -> None:
    page = compare(tab, *TRAININGS)
    memory = row(page, "Numbers", "Memory peak").get_by_role("cell")
    expect(memory).to_have_count(3)
    expect(memory.nth(1).get_by_label("best")).to_be_visible()  # 20 MiB against 120 and 60
    expect(memory.nth(0).get_by_label("best")).to_have_count(0)
    expect(memory.nth(0)).not_to_contain_text("%")
    expect(memory.nth(1)).to_contain_text(re.compile(r"\d+(\.\d+)? MiB.\d"))
    loss = row(page, "Numbers", "Loss, last").get_by_role("cell")
    expect(loss.nth(2).get_by_label("best")).to_be_visible()
    expect(row(page, "Numbers", "Last step").get_by_role("cell").nth(1)).to_contain_text("same")
    page.get_by_label("only what differs").check()
    expect(row(page, "Numbers", "Last step")).to_have_count(0)
    expect(page).to_have_url(re.compile("only=different"))


def test_settings_that_differ_are_shown_and_surroundings_that_do_not_are_not(tab: Tab) -> None:
    page = compare(tab, *TRAININGS)
    settings = row(page, "Settings that differ", "optimizer.name").get_by_role("cell")
    assert settings.all_inner_texts() == ["adamw", "sgd", "sgd"]
    expect(row(page, "Settings that differ", "batch_size")).to_have_count(0)
    expect(page.get_by_role("region", name="Surroundings that differ")).to_contain_text("are the same")
    expect(row(page, "Loss at the same step", "0").get_by_role("cell").first).to_have_text("3.2")


def test_phases_are_bars(tab: Tab) -> None:
    page = compare(tab, *TRAININGS)
    phases = page.get_by_label("Phases")
    expect(phases.get_by_role("heading", name="memory")).to_be_visible()
    bars = phases.locator(".phased", has_text="memory").get_by_role("list")
    expect(bars).to_have_count(3)
    first = bars.first.get_by_role("listitem")
    assert first.count() >= 2  # it holds more from the middle on
    expect(first.last).to_contain_text(re.compile(r"MiB .*s$"))
    widths = [one.bounding_box() for one in first.all()]
    assert all(box is not None and box["width"] > 0 for box in widths)


def test_lines_are_laid_over_one_another_by_time_and_by_step(tab: Tab, tmp_path: Path) -> None:
    page = compare(tab, *TRAININGS)
    assert csv(page, "loss", tmp_path / "time.csv")[0] == "seconds,slow,middle,fast"
    page.get_by_role("combobox", name="Over").select_option("step")
    expect(page).to_have_url(re.compile("x=step"))
    expect(chart(page, "loss").locator("canvas")).to_be_visible()
    rows = csv(page, "loss", tmp_path / "step.csv")
    assert (rows[0], rows[1], len(rows)) == ("step,slow,middle,fast", "0,3.2,3.2,3.2", 121)
    # what was measured over time stands over the steps of that time
    memory = csv(page, "Memory", tmp_path / "memory.csv")
    assert memory[0].startswith("step,")
    assert 0 <= float(memory[1].split(",")[0]) <= float(memory[-1].split(",")[0]) <= 119


def test_a_part_that_is_zoomed_into_is_read_again(tab: Tab) -> None:
    page = compare(tab, "slow", "fast")
    over = chart(page, "loss").locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    with (
        page.expect_request(re.compile(r"/series\?.*from=")),
        page.expect_request(re.compile(r"/steps\?.*from=")),
    ):
        page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 40, steps=5)
        page.mouse.up()
    expect(page.get_by_role("button", name="whole run").first).to_be_visible()


def test_runs_are_added_put_first_hidden_and_taken_away(tab: Tab) -> None:
    page = compare(tab, "slow", "middle")
    page.keyboard.press("c")
    page.keyboard.type("name=fast")
    page.get_by_label("Runs to add").get_by_role("button", name=re.compile("^fast")).click()
    expect(page.get_by_role("heading", name="Compare 3 runs")).to_be_visible()
    page.get_by_label("put fast first").click()
    chosen = page.get_by_label("Compared runs").get_by_role("link")
    expect(chosen).to_have_text(["fast", "slow", "middle"])
    page.get_by_label("hide slow in charts").click()
    expect(chart(page, "loss").locator(".legend")).not_to_contain_text("slow")
    page.get_by_label("logarithmic").check()
    page.reload()
    expect(chosen).to_have_text(["fast", "slow", "middle"])
    expect(page.get_by_label("logarithmic")).to_be_checked()
    expect(chart(page, "loss").locator(".legend")).to_contain_text("middle")
    expect(chart(page, "loss").locator(".legend")).not_to_contain_text("slow")
    page.get_by_label("take slow away").click()
    expect(chosen).to_have_text(["fast", "middle"])
    page.go_back()
    expect(chosen).to_have_text(["fast", "slow", "middle"])


def test_ten_runs_fit_and_more_are_said_to_be_left_out(tab: Tab) -> None:
    spare = [f"spare{number}" for number in range(other_pages.SPARE_RUNS)]
    ids = ",".join(tab.run_id(name) for name in (*TRAININGS, *spare))
    page = tab.open(f"/compare?runs={ids}")
    expect(page.get_by_role("heading", name="Compare 10 runs")).to_be_visible()
    expect(page.get_by_text("1 more left out: 10 fit")).to_be_visible()
    expect(row(page, "Numbers", "Wall time").get_by_role("cell")).to_have_count(10)
    expect(page.get_by_label("Add a run")).to_have_count(0)


def test_a_run_that_is_gone_is_told_with_a_way_out(tab: Tab) -> None:
    page = tab.open(f"/compare?runs={tab.run_id('slow')},20200101T000000Z-aaaaaa")
    expect(page.get_by_role("alert")).to_contain_text(re.compile("nknown run: 20200101T000000Z-aaaaaa"))
    page.get_by_label("take 20200101T000000Z-aaaaaa away").click()
    expect(page.get_by_role("heading", name="One more run to compare")).to_be_visible()
    assert all("404" in one for one in tab.complaints)
    tab.complaints.clear()


def test_nothing_to_compare_says_how(tab: Tab) -> None:
    page = tab.open("/compare")
    expect(page.get_by_text("jobmeter compare RUN OTHER")).to_be_visible()
    page.get_by_label("Add a run").fill("name=slow")
    page.get_by_label("Runs to add").get_by_role("button").first.click()
    expect(page.get_by_label("Compared runs").get_by_role("link")).to_have_text(["slow"])


@pytest.fixture
def training(served: Served, tmp_path: Path) -> Iterator[None]:
    """Run a job of four ranks, of which one is slow and one never comes, and another job beside it."""
    go, launch, rank = tmp_path / "go", tmp_path / "launch.py", tmp_path / "rank.py"
    launch.write_text(rank_jobs.LAUNCHER)
    rank.write_text(rank_jobs.RANK)
    quick = ("--sample-interval", "0.2s", "--report-interval", "0.4s")
    words = (sys.executable, str(launch), str(rank), str(go))
    waiting = f"while [ ! -e '{go}' ]; do sleep 0.1; done"
    started = [
        other_pages.start(served.home, "--name", "pretrain", *quick, "--", *words),
        other_pages.start(served.home, "--name", "beside", "--", "sh", "-c", waiting),
    ]
    yield
    go.touch()
    other_pages.wait(started)


def test_what_runs_now_with_its_ranks_and_alerts(tab: Tab, training: None) -> None:
    page = tab.open("/live")
    job = page.get_by_role("article").filter(has_text="pretrain")
    expect(job).to_contain_text(re.compile(r"step \d+ of 20,000.*left.*done at \d\d:\d\d"))
    slow = job.get_by_label("Ranks to look at")
    expect(slow).to_contain_text(re.compile(r"straggler.*rank 2.*[12](\.\d+)?. the middle"))
    expect(slow).to_contain_text("rank 3 of 4 never seen")
    # the job with a straggler is the older one, and comes first
    expect(page.get_by_role("article")).to_have_count(2)
    expect(page.get_by_role("article").first).to_contain_text("pretrain")
    _check_map(page, job)
    _check_alert(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert tab.violations() == []
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(job).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/jobs/"))


def _check_map(page: Page, job: Locator) -> None:
    cells = job.get_by_role("list", name=re.compile("^ranks by")).get_by_role("listitem")
    expect(cells).to_have_text(["0", "1", "2", "3"])
    expect(cells.nth(2)).to_have_class(re.compile("straggler"))
    expect(cells.nth(3)).to_have_class(re.compile("missing"))
    job.get_by_role("combobox", name="Ranks by").select_option("memory peak")
    expect(page).to_have_url(re.compile("by=memory"))
    heat = "cell => cell.style.getPropertyValue('--heat')"
    expect(cells.nth(1).get_by_role("link")).to_have_attribute(
        "aria-label", re.compile(r"memory peak 1\d\d MiB")
    )
    assert cells.nth(1).evaluate(heat) == "100%"
    assert cells.nth(0).evaluate(heat) != "100%"


def _check_alert(page: Page) -> None:
    alert = page.get_by_label("Alerts").get_by_role("listitem").filter(has_text="memory-above-20-mib")
    expect(alert).to_contain_text("critical")
    alert.get_by_role("button", name="Silence 1 h").click()
    expect(alert).to_contain_text("silenced")
    page.get_by_role("button", name="Undo").click()
    expect(alert.get_by_role("button", name="Silence 1 h")).to_be_visible()


def test_a_region_that_became_slower_is_marked_and_opened_first(tab: Tab) -> None:
    page = tab.open("/campaigns")
    regions = page.get_by_label("Regions").get_by_role("row")
    expect(regions).to_have_count(3)
    expect(regions.nth(2)).to_contain_text(re.compile(r"us-west2.*regression.*18.*100 %.*2 min 00 s.*72"))
    expect(regions.nth(1)).to_contain_text(
        re.compile(r"europe-west4.*6.*83\.3 %.*\$5\.\d\d.*Docker layer pull timeout")
    )
    expect(regions.nth(1).get_by_role("img", name="1 of the last 6 failed")).to_be_visible()
    shown = page.get_by_label("Region us-west2")
    expect(shown.get_by_label("Changes of speed")).to_contain_text(
        re.compile(r"regression 4\d(\.\d+)? % slower from here on: build us-west2-12")
    )
    marked = chart(page, "Queue and working time").get_by_role(
        "button", name=re.compile("slower from here on")
    )
    expect(marked).to_have_count(1)
    expect(marked).to_have_attribute("aria-label", re.compile("build us-west2-12: success, working 15 min"))
    for title in ("Queue and working time", "Success", "Consistency", "Spikes", "Cost"):
        expect(chart(page, title).get_by_role("button")).to_have_count(18)


def test_a_build_shows_its_samples_and_spikes(tab: Tab, tmp_path: Path) -> None:
    page = tab.open("/campaigns")
    chart(page, "Spikes").get_by_role("button", name=re.compile("us-west2-3:")).click()
    expect(page).to_have_url(re.compile("build=us-west2-3"))
    build = page.get_by_label("Build", exact=True)
    expect(build.get_by_label("Spikes").get_by_role("listitem")).to_have_count(4)
    expect(build.get_by_label("Spikes")).to_contain_text("memory from 52 GiB to 137 GiB at sample 11")
    assert csv(page, "CPU", tmp_path / "cpu.csv")[:3] == ["seconds,CPU", "0,0", "60,6"]
    page.reload()
    expect(build).to_be_visible()
    page.get_by_role("button", name="europe-west4").click()
    expect(page.get_by_label("Region europe-west4")).to_be_visible()
    failed = chart(page, "Queue and working time").get_by_role(
        "button", name=re.compile("europe-west4-4: failure")
    )
    failed.click()
    expect(build).to_contain_text("Docker layer pull timeout")
    expect(build).to_contain_text("jobmeter run --build-stats")


def test_what_a_job_asked_for_stands_beside_what_it_used(tab: Tab) -> None:
    page = tab.open("/sizing")
    job = page.get_by_label("fold", exact=True)
    expect(job).to_contain_text(
        re.compile(r"asked 512 MiB.*used \d+(\.\d+)? MiB.*unused 4\d\d MiB \((8|9)\d %\)ask for \d+ MiB")
    )
    expect(job.get_by_role("img", name=re.compile("^Memory: asked for 512 MiB"))).to_be_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    job.get_by_role("button", name="Copy").click()
    expect(job.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert re.match(r"#SBATCH --mem=\d+M\n#SBATCH --cpus-per-task=1\n#SBATCH --time=00:01:00", copied)
    page.get_by_label("Lines for").select_option("k8s")
    expect(job.locator("code")).to_contain_text("memory:")
    expect(page).to_have_url(re.compile("for=k8s"))
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("/")
    page.keyboard.type("nothing of the sort")
    expect(page.get_by_text("No job has such a name.")).to_be_visible()


def palette(page: Page, text: str) -> Locator:
    """Look something up in what Ctrl+K opens."""
    page.keyboard.press("Control+k")
    page.get_by_label("Go to a run or a page").fill(text)
    return page.get_by_role("dialog").get_by_role("option")


def test_pages_runs_and_actions_are_a_few_letters_away(tab: Tab) -> None:
    page = tab.open("/campaigns")
    expect(page.get_by_role("heading", name="Campaign", exact=True)).to_be_visible()
    expect(palette(page, "dark")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("dialog")).to_have_count(0)
    palette(page, "s")
    page.keyboard.press("ArrowUp")  # round the corner, to the last
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option", name="Runs page")).to_have_attribute("aria-selected", "true")
    page.get_by_label("Go to a run or a page").fill("sizing")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sizing")).to_be_visible()
    expect(palette(page, "failed runs").first).to_contain_text("filter")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=status%3Dfailed"))
    expect(palette(page, "midd").first).to_contain_text("completed")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="middle")).to_be_visible()
    palette(page, "compare this")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="One more run to compare")).to_be_visible()


def test_keys_search_move_and_help(tab: Tab) -> None:
    page = tab.open("/campaigns")
    expect(page.get_by_label("Region us-west2")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="europe-west4")).to_be_focused()
    page.keyboard.press("/")  # the page has no search of its own
    expect(page.get_by_role("dialog", name="Go to")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    for words in ("search on this page", "compare the picked", "go to a run or a page", "add a run"):
        expect(keys).to_contain_text(words)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def addresses(tab: Tab) -> dict[str, str]:
    """Name the pages, with something in each, and what shows that it is there."""
    ids = ",".join(tab.run_id(name) for name in TRAININGS)
    return {
        f"/compare?runs={ids}": "Settings that differ",
        "/campaigns?build=us-west2-3": "Build us-west2-3",
        "/sizing": "fold",
        "/compare": "Pick two runs or more",
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(tab: Tab, scheme: str) -> None:
    tab.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for address, sign in addresses(tab).items():
        page = tab.open(address)
        expect(page.get_by_role("heading", name=sign).first).to_be_visible()
        assert tab.violations() == [], address
    palette(tab.page, "s")
    assert tab.violations() == []


@pytest.mark.parametrize("width", [390, 2560])
def test_nothing_is_wider_than_the_window(tab: Tab, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 844})
    for address, sign in addresses(tab).items():
        page = tab.open(address)
        expect(page.get_by_role("heading", name=sign).first).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, address
