"""What people say of a run on its page: its name, its notes, that it may go, and what they take over of its advice."""

import re
import sys
from pathlib import Path

from playwright.sync_api import Locator, Page, Route, expect

from support import commands, dying_jobs
from support.browser import Tab

METRICS = """
import jobmeter
run = jobmeter.init()
for step in range(5):
    run.log({f"metric{number:02}": number * step for number in range(11)}, step=step)
run.finish()
"""


def people(tab: Tab, name: str) -> Locator:
    """Open a run and find what people say of it."""
    page = tab.open(f"/jobs/{tab.run_id(name)}")
    tab.settle()  # the browser itself complains of what is asked for before and answered after
    return page.get_by_label("Notes and tags")


def record(tab: Tab, script: Path, name: str, *words: str) -> None:
    """Record a script beside what is there, and wait until the server knows of it."""
    named = ("--name", name, *words)
    done = commands.jobmeter(tab.served.home, "run", "-q", *named, "--", sys.executable, str(script))
    assert done.code == 0, done
    ended = {"q": f"name={name} and status=completed"}
    while tab.served.client.get("/api/v1/runs", params=ended).json()["total"] == 0:
        tab.page.wait_for_timeout(50)


def test_a_run_gets_another_name(tab: Tab) -> None:
    page = tab.open(f"/jobs/{tab.run_id('second')}")
    page.get_by_role("button", name="Rename").click()
    field = page.get_by_label("Name of the run")
    expect(field).to_be_focused()
    expect(field).to_have_value("second")
    field.fill("never mind")
    field.press("Escape")
    expect(page.get_by_role("heading", name="second")).to_be_visible()
    expect(page.get_by_role("button", name="Rename")).to_be_focused()
    page.keyboard.press("Enter")
    field.fill("the second one")
    field.press("Enter")
    expect(page.get_by_role("heading", name="the second one")).to_be_visible()
    assert tab.run_id('"the second one"') in page.url


def test_a_note_is_edited_and_taken_away_and_that_is_undone(tab: Tab) -> None:
    said = people(tab, "third")
    for text in ("teh one", "to be looked at"):
        said.get_by_label("Note", exact=True).fill(text)
        said.get_by_label("Note", exact=True).press("Enter")
        expect(said.locator(".note", has_text=text)).to_be_visible()
    said.get_by_role("button", name="edit the note teh one").click()
    field = said.get_by_label("Edited note")
    expect(field).to_be_focused()
    field.fill("the one")
    field.press("Enter")
    expect(said.locator(".note > span")).to_have_text(["the one", "to be looked at"])
    said.get_by_role("button", name="take the note the one away").click()
    expect(said.locator(".note > span")).to_have_text(["to be looked at"])
    tab.page.get_by_role("button", name="Undo").click()
    expect(said.locator(".note > span")).to_have_text(["to be looked at", "the one"])


def test_a_second_enter_adds_no_second_note(tab: Tab) -> None:
    said = people(tab, "first")
    held: list[Route] = []
    tab.page.route(
        "**/api/v1/runs/*", lambda route: held.append(route) if patches(route) else route.continue_()
    )
    said.get_by_label("Note", exact=True).fill("once")
    said.get_by_label("Note", exact=True).press("Enter")
    said.get_by_label("Note", exact=True).press("Enter")
    for route in held:
        route.continue_()
    expect(said.get_by_label("Note", exact=True)).to_have_value("")
    expect(said.locator(".note > span")).to_have_text(["once"])
    assert len(held) == 1


def patches(route: Route) -> bool:
    return route.request.method == "PATCH"


def test_a_run_that_cannot_be_deleted_stays_in_sight(tab: Tab) -> None:
    said = people(tab, "first")
    page = tab.page

    def refuse(route: Route) -> None:
        if route.request.method != "DELETE":
            return route.fallback()
        return route.fulfill(status=403, json={"detail": "only readers are let in", "status": 403})

    page.route("**/api/v1/runs/*", refuse)
    said.get_by_role("button", name="Delete the run").click()
    expect(page.locator(".notice")).to_contain_text("only readers are let in")
    expect(page.locator(".notice").get_by_role("button", name="Undo")).to_have_count(0)
    expect(page).to_have_url(re.compile("/jobs/"))
    assert all("403" in one for one in tab.complaints)
    tab.complaints.clear()


def test_a_run_is_taken_back_wherever_its_reader_went(tab: Tab) -> None:
    said = people(tab, "third")
    page = tab.page
    said.get_by_role("button", name="Delete the run").click()
    expect(page.get_by_role("link", name="first")).to_be_visible()
    page.get_by_role("link", name="Sizing").click()
    expect(page).to_have_url(re.compile("/sizing$"))
    with page.expect_response(re.compile("/restore$")) as restored:
        page.get_by_role("button", name="Undo").click()
    assert restored.value.ok
    expect(page.locator(".notice")).to_be_empty()
    expect(page).to_have_url(re.compile("/sizing$"))


def test_advice_is_put_into_the_config_of_the_run_that_is_looked_at(tab: Tab, tmp_path: Path) -> None:
    for name, rate in (("older", "0.5"), ("newer", "0.25")):
        script = tmp_path / f"{name}.py"
        script.write_text(dying_jobs.DIVERGING.replace("0.5", rate))
        record(tab, script, name, "--job-id", "one-job")
    page = tab.open(f"/jobs/{tab.run_id('older')}")
    page.get_by_role("button", name="Apply Recommended Settings").click()
    changes = page.get_by_role("dialog").get_by_label("Changes")
    expect(changes).to_contain_text('-  "lr": 0.5')
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("The command as it was")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Apply Recommended Settings")).to_be_focused()


def test_metrics_that_do_not_fit_are_said_and_shown_when_asked_for(tab: Tab, tmp_path: Path) -> None:
    script = tmp_path / "metrics.py"
    script.write_text(METRICS)
    record(tab, script, "metrics")
    page = tab.open(f"/jobs/{tab.run_id('metrics')}")
    steps = page.get_by_role("region", name="Steps", exact=True)
    expect(steps.get_by_role("columnheader")).to_have_count(10)  # the step, eight metrics, marks
    steps.get_by_role("button", name="3 more metrics").click()
    expect(steps.get_by_role("columnheader")).to_have_count(13)
    expect(steps.get_by_role("row").nth(2).get_by_role("cell").nth(11)).to_have_text("10")


def test_all_runs_of_a_job_are_a_click_away(tab: Tab) -> None:
    run_id = tab.run_id("first")

    def of_many(route: Route) -> None:
        answer = route.fetch()
        others = [f"20260101T0000{number:02}Z-aaaaaa" for number in range(12)]
        route.fulfill(response=answer, json=answer.json() | {"siblings": others, "job_id": "a job"})

    tab.page.route(f"**/api/v1/runs/{run_id}", of_many)
    page = tab.open(f"/jobs/{run_id}")
    more = page.get_by_role("link", name="and 4 more")
    expect(more).to_have_attribute("href", "/?q=job_id%3D%22a%20job%22")


def test_a_project_of_two_words_is_filtered_for(tab: Tab) -> None:
    run_id = tab.run_id("first")
    changed = tab.served.client.patch(f"/api/v1/runs/{run_id}", json={"project": "computer vision"})
    assert changed.status_code == 200
    page: Page = tab.open(f"/jobs/{run_id}")
    page.get_by_role("link", name="computer vision").click()
    expect(page.get_by_role("row")).to_have_count(2)
    tab.served.client.patch(f"/api/v1/runs/{run_id}", json={"project": "vision"})
