"""How a command is named on the page: naming.ts alone, built and run in the browser."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

UI = Path(__file__).parents[2] / "ui"


@pytest.fixture(scope="module")
def naming(browser: Browser) -> Iterator[Page]:
    """An empty page that knows the functions of naming.ts."""
    build = [
        UI / "node_modules/.bin/esbuild",
        UI / "src/naming.ts",
        "--bundle",
        "--format=iife",
        "--global-name=naming",
    ]
    built = subprocess.run(build, check=True, capture_output=True, text=True).stdout
    page = browser.new_page()
    page.add_script_tag(content=built)
    yield page
    page.close()


@pytest.mark.parametrize(
    ("command", "short"),
    [
        (["/work/x/.venv/bin/python", "train.py"], "python train.py"),
        (["./train.sh", "--lr", "1"], "./train.sh --lr 1"),
        (["tools/bin/run", "/data/a"], "tools/bin/run /data/a"),
        (
            ["python", "-c", "\nimport time\n\nwhile True:\n    time.sleep(1)\n"],
            "python -c import time while True: time.sleep(1)",
        ),
        (["/"], "/"),
        ([], None),
        (None, None),
    ],
)
def test_a_command_is_one_line_and_its_program_without_directories(
    naming: Page, command: list[str] | None, short: str | None
) -> None:
    assert naming.evaluate("(run) => naming.shortCommand(run) ?? null", {"command": command}) == short


def test_the_whole_command_is_as_it_was_given(naming: Page) -> None:
    command = ["/usr/bin/python3", "-c", "import os\nos.abort()"]
    assert (
        naming.evaluate("(run) => naming.wholeCommand(run)", {"command": command})
        == "/usr/bin/python3 -c import os\nos.abort()"
    )
