"""A run that goes on while a page watches it: how old samples are when they are drawn, and whether any is missing."""

import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page

from support import commands
from support.server import Served

NAME = "watched"
KEY = "proc_rss_total"
_WAIT_SECONDS = 30.0
_JOB = """
import pathlib, sys, time
held = []
while not pathlib.Path(sys.argv[1]).exists():
    held.append(bytearray(100_000))
    print(f"round {len(held)}", flush=True)
    time.sleep(0.1)
"""
_NOTE = """
() => {
  const seen = (window.seen = []);
  const look = () => {
    const until = Number(document.querySelector("figure.chart .plot")?.dataset.until);
    if (until && until !== seen.at(-1)?.[0]) seen.push([until, Date.now() / 1000]);
    requestAnimationFrame(look);
  };
  look();
}
"""


@dataclass(slots=True)
class Job:
    """A job that goes on until it is told to finish."""

    process: subprocess.Popen[bytes]
    go: Path

    def run_id(self, served: Served) -> str:
        """Wait until the server lists the run, and give its id."""
        end = time.monotonic() + _WAIT_SECONDS
        while time.monotonic() < end:
            found = served.client.get("/api/v1/runs", params={"q": f"name={NAME}"}).json()["runs"]
            if found:
                return str(found[0]["run_id"])
            time.sleep(0.1)
        raise AssertionError("the run never appeared")

    def finish(self) -> None:
        """Let the job end, and wait until it is recorded."""
        self.go.touch()
        assert self.process.wait(_WAIT_SECONDS) == 0


@contextmanager
def running(home: Path, interval: str = "0.2s") -> Iterator[Job]:
    """Record a job that holds more memory and writes a line ten times a second, sampled so often."""
    with tempfile.TemporaryDirectory() as name:
        script, go = Path(name, "job.py"), Path(name, "go")
        script.write_text(_JOB)
        options = (
            "--name",
            NAME,
            "--capture",
            "all",
            "--sample-interval",
            interval,
            "--report-interval",
            interval,
        )
        with subprocess.Popen(
            [*commands.COMMAND, "run", "-q", *options, "--", sys.executable, str(script), str(go)],
            env=commands.environment(home),
            stdout=subprocess.DEVNULL,
        ) as process:
            job = Job(process, go)
            try:
                yield job
            finally:
                if process.poll() is None:
                    job.finish()


@dataclass(slots=True)
class Watched:
    """A page on a live run."""

    page: Page
    served: Served
    run_id: str
    session: CDPSession = field(init=False)

    def __post_init__(self) -> None:
        """Speak the browser's debug protocol."""
        self.session = self.page.context.new_cdp_session(self.page)

    def delays(self) -> list[float]:
        """Say how old each newest sample was when it was drawn, by the sample's own time."""
        seen: list[tuple[float, float]] = self.page.evaluate("() => window.seen")
        return [drawn - taken for taken, drawn in seen[1:]]

    def away(self, seconds: float, while_off: Callable[[], None] | None = None) -> None:
        """Take the network away for a while, or until something is seen; then freeze the tab for as long."""
        self._network(is_off=True)
        if while_off is None:
            time.sleep(seconds)
        else:
            while_off()
        self._network(is_off=False)
        self.session.send("Page.setWebLifecycleState", {"state": "frozen"})
        time.sleep(seconds)
        self.session.send("Page.setWebLifecycleState", {"state": "active"})

    def _network(self, *, is_off: bool) -> None:
        limits = {"offline": is_off, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.session.send("Network.emulateNetworkConditions", limits)

    def wait_fresh(self) -> None:
        """Wait until a sample of now is drawn."""
        self.page.wait_for_function(
            "(now) => window.seen.at(-1)?.[0] >= now", arg=time.time(), timeout=1000 * _WAIT_SECONDS
        )

    def missing(self) -> tuple[int, int]:
        """Compare the numbers behind the chart with all the store has: how many are missing, of how many."""
        stored = self._stored()
        self.page.wait_for_function(
            "(last) => document.querySelector('figure.chart .plot').dataset.until >= last - 0.001",
            arg=stored[-1][0],
            timeout=1000 * _WAIT_SECONDS,
        )
        drawn = {round(moment, 3): value for moment, value in self.drawn()}
        lost = [moment for moment, value in stored if drawn.get(round(moment, 3)) != value]
        return len(lost), len(stored)

    def _stored(self) -> list[tuple[float, float]]:
        found: dict[str, Any] = self.served.client.get(
            f"/api/v1/runs/{self.run_id}/series", params={"keys": KEY, "points": 10_000}
        ).json()
        (line,) = found["series"]
        assert set(line["n"]) == {1}, "every point is one sample"
        return list(zip(line["t"], line["last"], strict=True))

    def drawn(self) -> list[tuple[float, float]]:
        """Read what the chart's numbers are, as a person saves them."""
        with self.page.expect_download() as saved:
            self.page.get_by_role("button", name="CSV of Memory").click()
        with saved.value.path().open() as file:
            rows = list(csv.DictReader(file))
        return [(float(row["epoch_seconds"]), float(row[KEY])) for row in rows if row[KEY]]


def watched(page: Page, served: Served, run_id: str) -> Watched:
    """Open the run by the time of day, and note when each sample is drawn."""
    page.goto(f"{served.url}/jobs/{run_id}?x=wall#token={served.token}")
    page.wait_for_selector("figure.chart .plot[data-until]", timeout=1000 * _WAIT_SECONDS)
    page.evaluate(_NOTE)
    return Watched(page, served, run_id)
