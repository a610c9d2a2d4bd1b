"""A real server with runs that were really recorded, and Debian's Chromium in front of it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from support import commands, server
from support.browser import Tab, chromium, tab_of
from support.server import Served

TRAINING = """
import math, time
import jobmeter
run = jobmeter.init(project="vision", config={"lr": 1e-3, "batch_size": 32})
for step in range(200):
    run.log({"loss": 3 * math.exp(-step / 60) + 0.2, "lr": 1e-3 * (1 - step / 200)}, step=step)
    if step == 100:
        run.event("batch_size_changed", {"old": 32, "new": 64})
    time.sleep(0.005)
run.finish()
"""
FAILING = """
import sys
print("epoch 1 of 3")
print("ModuleNotFoundError: No module named 'flash_attn'", file=sys.stderr)
sys.exit(1)
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a home with three trainings and a failed job; tests of one file may add to it."""
    folder = tmp_path_factory.mktemp("ui")
    home = folder / "home"
    told = ("--project", "vision", "--tag", "team=core")
    for name in ("first", "second", "third"):
        commands.record_script(home, folder / "train.py", TRAINING, "--name", name, *told)
    broken = ("--name", "broken", "--capture", "all")
    commands.record_script(home, folder / "broken.py", FAILING, *broken, code=1)
    with server.serving(home) as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start Chromium once; whatever is expected of it may take as long as a busy machine needs."""
    expect.set_options(timeout=30_000)
    with chromium() as found:
        yield found


@pytest.fixture
def tab(browser: Browser, served: Served) -> Iterator[Tab]:
    """Open a tab on the server."""
    with tab_of(browser, served) as found:
        yield found


@pytest.fixture
def page(tab: Tab) -> Page:
    """Give the page of the tab."""
    return tab.page
