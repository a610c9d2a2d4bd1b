"""How soon the charts of a long run are drawn, and how smoothly they move: in a real Chromium.

    python bench/ui_charts.py [--steps 1000000] [--hours 24] [--rounds 5] [--away 60]

A run of a million steps and a day of samples once a second is written, indexed and opened. `drawn` is the time from
the navigation until every chart in the window has been drawn; `longest frame` the longest time between two animation
frames while the charts are dragged along, `longest task` what the page itself kept the browser busy for at most. Then
a live run is watched: how old each sample was when it was drawn, and what is missing after the network was off and the
tab frozen for `--away` seconds. Software rendering; the browser, the server and the recorder share the machine.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import analysis  # noqa: E402  # the long run is the one that analysis is measured with
from support import folders, server, watching  # noqa: E402  # the builders live with the tests
from support.browser import chromium  # noqa: E402
from support.server import Served  # noqa: E402

DRAWN = """
() => {
  const figures = [...document.querySelectorAll("figure.chart")];
  const seen = figures.filter((one) => {
    const box = one.getBoundingClientRect();
    return box.top < innerHeight && box.bottom > 0;
  });
  return seen.length > 0 && seen.every((one) => one.querySelector(".plot[data-until] canvas"))
    && [performance.now(), seen.length];
}
"""
FRAMES = """
() => {
  const found = (window.found = { frames: [], tasks: [] });
  new PerformanceObserver((list) => list.getEntries().forEach((one) => found.tasks.push(one.duration)))
    .observe({ entryTypes: ["longtask"] });
  let last = performance.now();
  const tick = (now) => {
    found.frames.push(now - last);
    last = now;
    if (!found.isDone) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}
"""
PAN_SECONDS = 3.0


def wait_indexed(served: Served, run_id: str, steps: int) -> None:
    """Wait until the server has read all of the run."""
    while True:
        run = served.client.get(f"/api/v1/runs/{run_id}")
        if run.status_code == 200 and run.json().get("steps", {}).get("count") == steps:
            return
        time.sleep(0.5)


def opened(browser: Browser, served: Served, run_id: str, height: int) -> tuple[Page, float, int]:
    """Open the run in a fresh profile; say after how many milliseconds how many charts in the window were drawn."""
    page = browser.new_context(viewport={"width": 1440, "height": height}).new_page()
    page.goto(f"{served.url}/jobs/{run_id}#token={served.token}", wait_until="commit")
    milliseconds, charts = page.wait_for_function(DRAWN).json_value()
    return page, milliseconds, charts


def panned(page: Page) -> tuple[list[float], list[float]]:
    """Zoom in and drag the charts to and fro; give the times between frames and the long tasks."""
    over = page.locator("figure.chart .u-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    left, width, y = box["x"], box["width"], box["y"] + box["height"] / 2
    page.mouse.move(left + width * 0.4, y)
    page.mouse.down()
    page.mouse.move(left + width * 0.6, y, steps=4)
    page.mouse.up()
    page.wait_for_timeout(1500)
    page.keyboard.down("Shift")
    page.mouse.move(left + width * 0.5, y)
    page.mouse.down()
    page.evaluate(FRAMES)
    end, place = time.monotonic() + PAN_SECONDS, 0
    while time.monotonic() < end:
        place += 1
        page.mouse.move(left + width * (0.5 + 0.3 * ((place % 40) / 20 - 1)), y)
    page.mouse.up()
    page.keyboard.up("Shift")
    found = page.evaluate("() => { window.found.isDone = true; return window.found }")
    return found["frames"][1:], found["tasks"]


def bench_long_run(browser: Browser, folder: Path, args: argparse.Namespace) -> None:
    """Open and move a long run."""
    home = folder / "long"
    analysis.write_long_run(home, steps=args.steps, hours=args.hours)
    print(f"a run of {args.steps:,} steps and {args.hours:g} h of 30 keys at 1 Hz:")
    with server.serving(home, env={"XDG_CACHE_HOME": str(folder / "cache")}) as served:
        wait_indexed(served, folders.RUN_ID, args.steps)
        for height in (1000, 2600):
            rounds = []
            for _ in range(args.rounds):
                page, milliseconds, charts = opened(browser, served, folders.RUN_ID, height)
                rounds.append(milliseconds)
                page.wait_for_timeout(1500)
                frames, tasks = panned(page)
                page.context.close()
                print(
                    f"  {charts:2} charts in a window of 1440 x {height}: drawn after {milliseconds:4.0f} ms; dragged: "
                    f"{len(frames) / PAN_SECONDS:3.0f} frames/s, longest frame {max(frames):3.0f} ms, "
                    f"longest task {max(tasks, default=0):3.0f} ms"
                )
            print(f"  median {statistics.median(rounds):.0f} ms, least {min(rounds):.0f} ms")


def bench_live_run(browser: Browser, folder: Path, args: argparse.Namespace) -> None:
    """Watch a live run, go away, and come back."""
    with server.serving(folder / "live", env={"XDG_CACHE_HOME": str(folder / "cache-live")}) as served:
        with watching.running(served.home, "0.5s") as job:
            page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
            told = watching.watched(page, served, job.run_id(served))
            page.wait_for_timeout(10_000)
            delays = told.delays()
            print(
                f"a live run: {len(delays)} samples drawn, "
                f"{statistics.median(delays):.2f} s old (at most {max(delays):.2f})"
            )
            told.away(args.away)
            told.wait_fresh()
            job.finish()
        missing, points = told.missing()
        print(f"away for {args.away:g} s twice: {missing} of {points} points missing afterwards")


def main() -> None:
    """Run everything in a temporary directory."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--away", type=float, default=60.0)
    parser.add_argument("--only", choices=("long", "live"), help="one of the two parts")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        if args.only != "live":
            bench_long_run(browser, Path(name), args)
        if args.only != "long":
            bench_live_run(browser, Path(name), args)


if __name__ == "__main__":
    main()
