"""What people wait for on the page, measured in a real browser by its own clock.

    python bench/ui.py [--only list] [--runs 100000]

`list`: a filter is written into the page of many runs; from the last key until the rows that match are drawn. Needs
Chromium, and the page built (`scripts/page`).
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "bench"))

import store as store_bench  # noqa: E402  # makes the runs
from support import folders, server  # noqa: E402  # the builder and the server live with the tests
from support.browser import chromium  # noqa: E402
from support.server import Served  # noqa: E402

FILTERS = (
    "status=failed",
    "project=project-7",
    "status=failed and project=project-7",
    "Run 17",
    "host=node042 and wall>1h",
    "tag.exp=e77",
    "user=user12 or user=user13",
    "wall>8000",
    "wall<100 and exit_code=137",
    "name~199",
)
UNTIL_DRAWN = """
([total]) => {
    const start = new Promise((resolve) =>
        addEventListener("keydown", () => resolve(performance.now()), { capture: true, once: true }));
    const isShown = () => {
        const table = document.querySelector("[role=table]");
        return Number(table.getAttribute("aria-rowcount")) === total + 1
            && (total === 0 || table.querySelectorAll("[role=rowgroup] [role=row]").length > 0);
    };
    window.measured = start.then((begin) => new Promise((resolve) => {
        const look = () => isShown() ? resolve(performance.now() - begin) : requestAnimationFrame(look);
        requestAnimationFrame(look);
    }));
}
"""


def many_runs(folder: Path, count: int) -> Path:
    """Make a home of so many runs: rows of the index, and a folder of each, for those without one are forgotten."""
    from jobmeter.service import cache
    from jobmeter.stores import sqlite

    home = folder / "home"
    like_home = folder / "like"
    folders.write_run(like_home, seconds=60)
    like = store_bench.reading(folder, like_home)
    path = cache.index_path(home, {"XDG_CACHE_HOME": str(folder / "cache")})
    store = sqlite.open_store(path)
    store_bench.many_runs(store, like, count)
    ids = store.run_ids()
    store.close()
    month = home / "runs" / "2026-01"
    month.mkdir(parents=True)
    for run_id in ids:
        (month / run_id).mkdir()
    return home


@contextmanager
def opened(served: Served) -> Iterator[Page]:
    """Open the page in Chromium."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(f"{served.url}/#token={served.token}")
        page.wait_for_selector("[role=rowgroup] [role=row]")
        yield page


def bench_list(folder: Path, count: int) -> None:
    """Write filters into the page of many runs."""
    home = many_runs(folder, count)
    with server.serving(home) as served, opened(served) as page:
        page.wait_for_timeout(2000)
        measured = {text: wait_ms(served, page, text) for text in FILTERS}
        waits = {text: wait for text, wait in measured.items() if wait is not None}
        rows = page.locator("[role=rowgroup] [role=row]").count()
        print(f"a filter written into the page of {count:,} runs, from the last key to the rows:")
        for text, wait in waits.items():
            print(f"  {wait:7.0f} ms  {text}")
        print(f"  median {statistics.median(waits.values()):.0f} ms, {rows} rows in the document")


def wait_ms(served: Served, page: Page, text: str) -> float | None:
    """Write a filter, and measure from its last letter until the page shows what it finds.

    None where as many were found without that letter: one could not tell when the page shows the others.
    """
    total = served.client.get("/api/v1/runs", params={"q": text, "limit": 1}).json()["total"]
    search = page.get_by_label("Search or filter runs")
    search.fill(text[:-1])
    page.wait_for_timeout(1500)
    if page.get_by_role("table").get_attribute("aria-rowcount") == str(total + 1):
        return None
    page.evaluate(UNTIL_DRAWN, [total])
    search.press(text[-1])
    return float(page.evaluate("() => window.measured"))


PARTS: dict[str, Callable[[Path, argparse.Namespace], None]] = {
    "list": lambda folder, args: bench_list(folder, args.runs),
}


def main() -> None:
    """Run everything in a temporary directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--only", choices=sorted(PARTS), help="run one part")
    args = parser.parse_args()
    for name, part in PARTS.items():
        if args.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                begun = time.monotonic()
                part(Path(folder), args)
                print(f"({name}: {time.monotonic() - begun:.0f} s in all)")


if __name__ == "__main__":
    main()
