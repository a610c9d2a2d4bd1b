"""Debian's Chromium, and a tab of it on a server of ours."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from support.server import Served

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""As root in a closed network: otherwise Chromium looks for its maker's hosts."""
SETTLE_SECONDS = 30.0
_AXE = Path(__file__).resolve().parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium, and end it whatever happens."""
    path = shutil.which("chromium")
    assert path is not None, "Debian's package chromium is needed"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS), env=dict(os.environ))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def tab_of(browser: Browser, served: Served, *, width: int = 1440, height: int = 1000) -> "Iterator[Tab]":
    """Open a tab, and hold it to saying nothing on its console and asking nobody else."""
    with browser.new_context(viewport={"width": width, "height": height}) as context:
        found = Tab(context.new_page(), served)
        yield found
        # what a test answers itself may still be asked for
        found.page.unroute_all(behavior="ignoreErrors")
        assert found.complaints == []
        assert found.strangers == []


class Tab:
    """A page, what it complained of, and whom it asked besides its server."""

    def __init__(self, page: Page, served: Served) -> None:
        self.page = page
        self.served = served
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._request)
        self._pending: set[Request] = set()
        page.on("requestfinished", self._over)
        page.on("requestfailed", self._over)

    def settle(self) -> None:
        """Wait until everything that the page asked for is there; what it listens to never is."""
        quiet, deadline = 0, time.monotonic() + SETTLE_SECONDS
        while quiet < 4:
            assert time.monotonic() < deadline, f"still asked for: {[one.url for one in self._pending]}"
            self.page.wait_for_timeout(100)
            quiet = 0 if self._pending else quiet + 1

    def open(self, path: str = "/", *, token: str | None = None) -> Page:
        """Open an address of the page by a link that carries the token."""
        self.page.goto(f"{self.served.url}{path}#token={token or self.served.token}")
        return self.page

    def run_id(self, name: str) -> str:
        """Look up a run by its name."""
        found: list[dict[str, Any]] = self.served.client.get(
            "/api/v1/runs", params={"q": f"name={name}"}
        ).json()["runs"]
        return str(found[0]["run_id"])

    def violations(self) -> list[str]:
        """Name what axe finds serious or critical on what is shown."""
        # evaluated by the debug protocol: the page's own policy lets no foreign script in
        self.page.evaluate(_AXE.read_text())
        found: dict[str, Any] = self.page.evaluate("() => axe.run()")
        return [
            f"{one['id']}: {node['html'][:120]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} {message.location['url']}".rstrip())

    def _over(self, request: Request) -> None:
        self._pending.discard(request)

    def _request(self, request: Request) -> None:
        if "/stream" not in request.url:
            self._pending.add(request)
        if not request.url.startswith((self.served.url, "blob:", "data:")):
            self.strangers.append(request.url)
