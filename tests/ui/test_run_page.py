"""The page of a run: why a job died and what to change, on jobs that really died, and what each panel tells."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from support import dying_jobs, recorder, server
from support.browser import Tab
from support.server import Served
from support.waiting import waiting


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a home of jobs that died, and of one with ranks."""
    with server.serving(dying_jobs.record_all(tmp_path_factory.mktemp("died"))) as found:
        yield found


Shown = Callable[[str], Page]


@pytest.fixture(scope="module")
def shown(browser: Browser, served: Served) -> Iterator[Shown]:
    """Open the page of a run once, for all who only look at it."""
    tabs: dict[str, Tab] = {}
    with ExitStack() as stack:

        def show(name: str) -> Page:
            if name not in tabs:
                context = stack.enter_context(browser.new_context(viewport={"width": 1440, "height": 1000}))
                context.grant_permissions(["clipboard-read", "clipboard-write"])
                tabs[name] = Tab(context.new_page(), served)
                opened(tabs[name], name)
            return tabs[name].page

        yield show
        assert [(tab.complaints, tab.strangers) for tab in tabs.values()] == [([], [])] * len(tabs)


def opened(tab: Tab, name: str) -> Page:
    """Open the page of a run and wait for what analysis says."""
    page = tab.open(f"/jobs/{tab.run_id(name)}")
    expect(page.get_by_label("Summary").locator(".verdict b")).to_be_visible()
    return page


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def advised(page: Page) -> Locator:
    return page.get_by_role("list", name="Recommendations").locator("> li")


@pytest.mark.parametrize(
    ("name", "why", "change"),
    [
        (
            "oom",
            r"^The kernel killed python3? \(pid \d+\) at 1[12]\d MiB of the 128 MiB",
            "data.num_workers 2 → 0",
        ),
        (
            "module",
            "^There is no flash_attn_that_nobody_installed, or not the right one",
            "-m pip install flash-attn-that-nobody-installed",
        ),
        ("nan", "^Loss became NaN at step 30 and stayed so", "lr 0.5 → 0.05"),
        ("disk", "^The disk was full", "Write to a file system with room"),
        ("slow", "^The job was stopped at its time limit of 1.5 s", "--timeout 1.5 → 3"),
    ],
)
def test_why_a_job_died_and_what_to_change_is_seen_at_once(
    shown: Shown, name: str, why: str, change: str
) -> None:
    page = shown(name)
    summary = panel(page, "Summary")
    expect(summary.get_by_role("heading", name="Performance Analysis")).to_be_visible()
    expect(summary.locator(".badge").first).to_have_text("critical")
    expect(summary.locator(".verdict b")).to_have_text(re.compile(why))
    expect(summary.locator(".verdict .evidence li").first).to_be_visible()
    expect(advised(page).first).to_contain_text(change)
    # verdict and the first change stand on the first screen
    page.evaluate("() => scrollTo(0, 0)")
    box = advised(page).first.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 1000


def test_the_figures_of_a_job_that_ran_out_of_memory(shown: Shown) -> None:
    figures = shown("oom").locator(".figures")
    expect(figures).to_contain_text(
        re.compile(r"Peak memory1[12]\d MiB / 128 MiB \([89]\d %\)of its limit, by cgroup")
    )
    expect(figures).to_contain_text(re.compile(r"Duration[\d.]+ s"))
    expect(figures).to_contain_text("ExitSIGKILLcode 137")
    expect(figures).to_contain_text("Errors0in the output")
    # the recorder, traced, takes some of the limited group itself
    expect(figures.locator(".meter.critical, .meter.warning")).to_be_visible()


def test_the_errors_lead_to_the_output(shown: Shown) -> None:
    page = shown("module")
    expect(page.locator(".figures")).to_contain_text("Errors11 warning")
    page.locator(".figures").get_by_role("button", name="1", exact=True).click()
    expect(panel(page, "Output")).to_be_in_viewport()


def test_advice_says_what_it_will_do_and_why(shown: Shown) -> None:
    advice = advised(shown("oom"))
    expect(advice).to_have_count(3)
    expect(advice.first).to_contain_text(re.compile(r"Saves [\d.]+ MiB per worker"))
    expect(advice.first).to_contain_text(
        re.compile(r"Memory peak: 1[12]\d MiB → [\d.]+ MiB, nine times of ten")
    )
    advice.first.get_by_text("Why").click()
    expect(advice.first.locator(".evidence")).to_contain_text("2 workers held")


@contextmanager
def new_job(page: Page) -> Iterator[Locator]:
    """Open the new job that the advice fills in, and close it again."""
    page.get_by_role("button", name="Apply Recommended Settings").click()
    dialog = page.get_by_role("dialog", name="New job with the recommended settings")
    yield dialog
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)


def test_recommended_settings_fill_in_a_new_job(shown: Shown, tmp_path: Path) -> None:
    page = shown("oom")
    with new_job(page) as dialog:
        before, after = dialog.locator(".diff .minus"), dialog.locator(".diff .plus")
        expect(before).to_have_text([re.compile('"batch_size": 8'), re.compile('"num_workers": 2')])
        expect(after).to_have_text([re.compile('"batch_size": 4'), re.compile('"num_workers": 0')])
        expect(dialog.locator(".skipped")).to_contain_text("By hand: Set --memory=384M")
        expect(dialog.locator(".command code")).to_contain_text("jobmeter run --name oom --project faults")
        text = dialog.get_by_label("Config of the new job")
        written = json.loads(text.input_value())
        assert (written["train"]["batch_size"], written["api_key"]) == (4, "[redacted]")
        text.fill(text.input_value().replace("0.0001", "0.0003"))
        with page.expect_download() as saved:
            dialog.get_by_role("button", name="Download").click()
        saved.value.save_as(tmp_path / "config.json")
        assert saved.value.suggested_filename == "config.json"
        assert json.loads((tmp_path / "config.json").read_text())["train"] == {"batch_size": 4, "lr": 0.0003}
        dialog.get_by_role("button", name="Undo my edits").click()
        expect(text).to_have_value(re.compile("0.0001"))


def test_a_part_of_the_advice_can_be_taken_over(shown: Shown) -> None:
    with new_job(shown("oom")) as dialog:
        dialog.get_by_label("Reduce max_batch_size to 4").uncheck()
        expect(dialog.locator(".diff .plus")).to_have_text([re.compile('"num_workers": 0')])
        for name in ("Reduce worker count", "Ask for more memory"):
            dialog.get_by_label(name).uncheck()
        expect(dialog).to_contain_text("Nothing is taken over")


def test_the_new_config_is_copied_and_saved_where_one_chooses(shown: Shown) -> None:
    page = shown("oom")
    # a dialog of the desktop cannot be shown here: what is chosen in it is a real file, in the browser's own storage
    page.evaluate(
        "() => { window.showSaveFilePicker = async (asked) => (await navigator.storage.getDirectory())"
        ".getFileHandle(asked.suggestedName, {create: true}) }"
    )
    with new_job(page) as dialog:
        expect(dialog.get_by_label("Config of the new job")).to_have_value(re.compile('"num_workers": 0'))
        dialog.get_by_role("button", name="Copy").first.click()
        expect(dialog.get_by_role("status")).to_have_text("Copied")
        assert json.loads(page.evaluate("() => navigator.clipboard.readText()"))["data"] == {"num_workers": 0}
        dialog.get_by_role("button", name="Save as…").click()
        expect(dialog.get_by_role("status")).to_have_text("Saved as config.json")
        saved = page.evaluate(
            "async () => (await (await (await navigator.storage.getDirectory())"
            ".getFileHandle('config.json')).getFile()).text()"
        )
        assert json.loads(saved)["train"]["batch_size"] == 4


def test_advice_goes_into_a_file_of_ones_own_with_its_comments(shown: Shown) -> None:
    page = shown("oom")
    text = b"# mine\ntrain:\n  batch_size: 8  # as large as it goes\ndata:\n  num_workers: 2\n"
    with new_job(page) as dialog:
        dialog.get_by_label("Into a file of your own").set_input_files(
            {"name": "job.yaml", "mimeType": "text/yaml", "buffer": text}
        )
        expect(dialog.get_by_label("Config of the new job")).to_have_value(
            "# mine\ntrain:\n  batch_size: 4  # as large as it goes\ndata:\n  num_workers: 0\n"
        )
        with page.expect_download() as saved:
            dialog.get_by_role("button", name="Download").click()
        assert saved.value.suggested_filename == "job.yaml"


def test_advice_on_the_command_stands_on_the_command(shown: Shown) -> None:
    with new_job(shown("slow")) as dialog:
        expect(dialog).to_contain_text("No config was recorded with this run")
        expect(dialog.locator(".command code")).to_contain_text("--timeout 3 ")


def test_events_come_in_order_with_what_was_measured_and_lead_into_the_charts(shown: Shown) -> None:
    page = shown("oom")
    rows = panel(page, "Events").get_by_role("listitem")
    names = rows.locator("b").all_inner_texts()
    assert names[:2] == ["started", "batch size changed"]
    assert {"oom kill", "kernel message", "ended", "children left"} < set(names)
    expect(rows.nth(1)).to_contain_text("4 → 8")
    expect(rows.nth(1)).to_contain_text(re.compile(r"memory [\d.]+ MiB, CPU [\d.]+ %, free on the machine"))
    button = rows.nth(1).get_by_role("button")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("region", name="Graphs")).to_be_in_viewport()


def test_who_used_it_by_role_command_and_process(shown: Shown) -> None:
    who = panel(shown("oom"), "Who used it")
    expect(who.get_by_role("row")).to_have_count(3)
    expect(who.get_by_role("row", name=re.compile("^worker"))).to_contain_text("MiB")
    who.get_by_role("button", name="by process").click()
    expect(who.get_by_role("row")).to_have_count(4)
    expect(who.get_by_role("row").nth(1)).to_contain_text(re.compile(r"greedy\.py.*main, pid \d+"))
    who.get_by_role("button", name="Peak memory").click()
    expect(who.get_by_role("columnheader", name="Peak memory")).to_have_attribute("aria-sort", "descending")
    who.get_by_role("button", name="by command").click()
    expect(who.get_by_role("row", name=re.compile("^python"))).to_be_visible()


def test_the_slow_rank_is_marked_and_the_missing_one_named(shown: Shown, served: Served) -> None:
    page = shown("ranks")
    run_id = page.url.rpartition("/")[2].partition("#")[0]
    slow = served.client.get(f"/api/v1/runs/{run_id}/ranks").json()["ranks"][2]
    assert slow["relative"] > 1.3  # twice as slow, on a machine that is idle
    ranks = panel(page, "Ranks")
    expect(ranks).to_contain_text("3 of 4 ranks seen; never seen: 3; slower than the others: 2")
    expect(ranks.get_by_role("row")).to_have_count(4)
    expect(ranks.locator("tr.marked")).to_contain_text(re.compile(rf"^2.*straggler.*{slow['relative']:.2f} "))
    expect(ranks.get_by_role("row", name=re.compile("^1 "))).to_contain_text("most memory")


def test_steps_are_listed_with_the_last_and_the_best_marked(shown: Shown) -> None:
    steps = panel(shown("ranks"), "Steps")
    table = steps.get_by_role("table")
    expect(table.locator(".best")).to_contain_text(re.compile(r"^17.*0\.5.*best"))
    expect(table.locator(".last")).to_contain_text(re.compile(r"^24.*1\.2.*last"))
    steps.get_by_label("Rank").select_option("2")
    expect(table.get_by_role("row").nth(1)).to_contain_text("10,000")
    steps.get_by_role("button", name="last").click()
    expect(table.locator(".last")).to_be_in_viewport()


def test_steps_that_are_no_numbers_say_so(shown: Shown) -> None:
    steps = panel(shown("nan"), "Steps")
    steps.get_by_role("button", name="last").click()
    expect(steps.locator(".last")).to_contain_text("NaN")
    expect(steps.locator(".best")).to_contain_text(re.compile("^29.*best"))


def test_config_environment_and_provenance_are_told(shown: Shown) -> None:
    page = shown("oom")
    for told in ("train.batch_size8", "api_key[redacted]"):
        expect(panel(page, "Config")).to_contain_text(told)
    environment = panel(page, "Environment")
    for told in ("greedy.py", "128 MiB of memory by cgroup", "Python3.11", "jobmeter run --name oom"):
        expect(environment).to_contain_text(told)
    environment.get_by_text(re.compile(r"^Packages \(\d+\)$")).click()
    environment.get_by_label("Filter packages").fill("msgspec")
    expect(environment.locator("dt", has_text="msgspec")).to_be_visible()
    expect(environment.locator("dt", has_text="numpy")).to_have_count(0)
    provenance = panel(page, "Provenance")
    expect(provenance).to_contain_text("Not measured, becausenvmlno NVIDIA GPU")
    provenance.locator("summary", has_text="cgroup").click()
    peak = provenance.locator("dt", has_text="cgroup_mem_peak").locator("..")
    expect(peak).to_contain_text(re.compile(r"1[12]\d MiB"))


def test_a_run_without_a_config_says_how_to_hand_one_over(shown: Shown) -> None:
    expect(panel(shown("slow"), "Config")).to_contain_text("jobmeter.init(config=")


def test_a_note_and_a_tag_are_added_and_the_tag_taken_off(shown: Shown) -> None:
    page = shown("disk")
    people = panel(page, "Notes and tags")
    people.get_by_label("Note", exact=True).fill("ask for a larger disk")
    people.get_by_label("Tag", exact=True).fill("owner=ann")
    people.get_by_role("button", name="Add").click()
    expect(people).to_contain_text("ask for a larger disk")
    expect(people.get_by_label("Note", exact=True)).to_have_value("")
    page.reload()
    expect(people).to_contain_text("owner=ann")
    people.get_by_label("take tag owner off").click()
    expect(people).not_to_contain_text("owner=ann")


def test_a_run_that_somebody_deletes_says_so_and_can_be_taken_back(shown: Shown, served: Served) -> None:
    page = shown("disk")
    run_id = page.url.rpartition("/")[2].partition("#")[0]
    assert served.client.delete(f"/api/v1/runs/{run_id}").status_code == 200
    gone = page.get_by_role("alert").filter(has_text="This run was deleted")
    expect(gone).to_be_visible()
    gone.get_by_role("button", name="Take it out of the bin").click()
    expect(gone).to_have_count(0)


def test_a_job_is_found_by_its_name_and_one_that_is_none_is_told(tab: Tab) -> None:
    page = tab.open("/jobs/oom")
    expect(page.get_by_label("Summary")).to_contain_text("The kernel killed python")
    page = tab.open("/jobs/nobody")
    expect(page.get_by_role("heading", name="There is no such run")).to_be_visible()
    expect(page.get_by_text("jobmeter ls")).to_be_visible()


def test_the_figures_are_there_before_the_analysis_is(tab: Tab) -> None:
    held: list[Route] = []
    tab.page.route(
        "**/api/v1/runs/*/report", lambda route: held.append(route)
    )  # Playwright looks at its signature
    page = tab.open(f"/jobs/{tab.run_id('oom')}")
    expect(page.locator(".summary .skeleton.verdict")).to_be_visible()
    expect(page.locator(".figures")).to_contain_text("MiB / 128 MiB")
    before = page.locator(".figures").bounding_box()
    for route in held:
        route.continue_()
    page.unroute("**/api/v1/runs/*/report")
    expect(page.locator(".verdict b")).to_be_visible()
    after = page.locator(".figures").bounding_box()
    assert before is not None
    assert after is not None
    assert 0 <= after["y"] - before["y"] < 150  # the evidence takes its room, nothing else moves


def test_a_run_that_goes_on_is_told_so_far_and_then_to_its_end(tab: Tab) -> None:
    with waiting(tab.served.home, "waiting") as finish:
        recorder.wait_for(lambda: tab.served.client.get("/api/v1/runs?q=name=waiting").json()["total"])
        page = opened(tab, "waiting")
        expect(page.locator(".figures")).to_contain_text(re.compile(r"Duration\d+ sso far"))
        expect(page.get_by_text("Nothing so far.")).to_be_visible()
        finish()
    expect(page.locator(".verdict b")).to_have_text("The job completed.")
    expect(page.locator(".figures")).to_contain_text("Exit0")


def test_the_page_is_printed_dark_on_white_without_its_buttons(shown: Shown) -> None:
    page = shown("oom")
    page.emulate_media(media="print", color_scheme="dark")
    theme = "() => document.documentElement.dataset.theme"
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(theme) == "light"
    for name in ("Apply Recommended Settings", "Print", "Add"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_hidden()
    ground = page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(theme) == "dark"
    page.emulate_media(media="screen", color_scheme="light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(tab: Tab, scheme: str) -> None:
    tab.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page = opened(tab, "oom")
    expect(page.get_by_role("table", name="Table of steps").locator(".last")).to_be_attached()
    page.evaluate("() => document.querySelectorAll('.summary details').forEach((one) => { one.open = true })")
    assert tab.violations() == []
    with new_job(page) as dialog:
        expect(dialog.locator(".diff .plus")).to_have_count(2)
        assert tab.violations() == []


def test_nothing_is_wider_than_a_telephone(shown: Shown) -> None:
    page = shown("ranks")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(panel(page, "Ranks").get_by_role("row")).to_have_count(4)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
