"""Which advice has a place, and what is said to stand there now: settable.ts alone, built and run in the browser."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

UI = Path(__file__).parents[2] / "ui"


@pytest.fixture(scope="module")
def settable(browser: Browser) -> Iterator[Page]:
    """An empty page that knows the functions of settable.ts."""
    path = UI / "src/run/settable.ts"
    build = [UI / "node_modules/.bin/esbuild", path, "--bundle", "--format=iife", "--global-name=settable"]
    built = subprocess.run(build, check=True, capture_output=True, text=True).stdout
    page = browser.new_page()
    page.add_script_tag(content=built)
    yield page
    page.close()


@pytest.mark.parametrize(
    ("path", "context", "has_place"),
    [
        ("lr", {}, True),
        ("config.process[0].datasets[0].num_workers", {}, True),
        ("--batch-size", {}, True),
        ("--batch", {}, False),
        ("--mem", {}, False),
        ("--mem", {"slurm": {"job_id": "1"}}, True),
        ("ulimit -n", {}, False),
        ("OMP_NUM_THREADS", {}, False),
        (None, {}, False),
    ],
)
def test_advice_has_a_place_in_a_config_a_command_or_a_batch_script(
    settable: Page, path: str | None, context: dict[str, Any], has_place: bool
) -> None:
    run = {"command": ["python", "train.py", "--batch-size=8"]}
    told = [{"config_path": path}, run, context]
    assert (
        settable.evaluate("([one, run, context]) => settable.isSettable(one, run, context)", told)
        is has_place
    )


@pytest.mark.parametrize(
    ("path", "value", "context", "shown"),
    [
        ("lr", 0.5, {}, "0.5"),
        ("ulimit -n", "256", {}, "256"),
        ("lr", None, {}, None),
        ("lr", None, {"config": {"batch": 4}}, "not set"),
        ("ulimit -n", None, {"config": {"batch": 4}}, None),
        ("OMP_NUM_THREADS", None, {"config": {"batch": 4}}, None),
    ],
)
def test_only_a_config_that_was_read_says_that_a_setting_is_not_set(
    settable: Page, path: str, value: object, context: dict[str, Any], shown: str | None
) -> None:
    told = [{"config_path": path, "current_value": value}, context]
    assert settable.evaluate("([one, context]) => settable.currentOf(one, context) ?? null", told) == shown
