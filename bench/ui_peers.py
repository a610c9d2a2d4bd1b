"""How long people wait for a page of runs: jobmeter beside trackio, MLflow and Aim, in one Chromium, on the same runs.

    python bench/ui_peers.py [--tools jobmeter,trackio] [--rounds 5] [--runs 1000] [--steps 50] [--long 100000]

Every tool gets the same runs, written by its own means (`workloads/many_runs.py`): runs of 50 steps of five numbers
and one of 100,000. Three pages are opened, each some times after a first visit, which fills the caches of browser and
server: all runs; the charts of the long run; the losses of ten runs in one chart. The time is the page's own, from
the navigation until what is named is in the window; the CPU that of the browser and of the server meanwhile, from
`/proc`. Runs are kept in `bench/.runs`, for writing them takes minutes.
"""

import argparse
import base64
import itertools
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page

from harness import envs, tables

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import chromium  # noqa: E402  # the browser lives with the tests

RUNS = Path(__file__).resolve().parent / ".runs"
COMPARED = 10
START_SECONDS, WAIT_SECONDS = 60.0, 180.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class View:
    """A page, and what is in the window once a person has it."""

    path: str
    shown: str
    """An expression of JavaScript that is true then."""


@dataclass(frozen=True, slots=True)
class Tool:
    """How the pages of a tool are served and asked for."""

    name: str
    command: Callable[[Path, int], list[str]]
    environ: Callable[[Path], dict[str, str]]
    views: Callable[[Sequence[str]], dict[str, View]]
    entry: Callable[[Path], str] = lambda _folder: "/"
    """Where somebody comes in: with a token, where one is needed."""


def _lines(selector: str, count: int) -> str:
    return f"document.querySelectorAll({json.dumps(selector)}).length >= {count}"


CHARTS = (
    "(() => { const seen = [...document.querySelectorAll('figure.chart')].filter((one) => {"
    " const box = one.getBoundingClientRect(); return box.top < innerHeight && box.bottom > 0; });"
    " return seen.every((one) => one.querySelector('canvas'))"
    " && seen.some((one) => one.querySelector('[data-until]')); })()"
)


def jobmeter_views(ids: Sequence[str]) -> dict[str, View]:
    """Name the pages of jobmeter."""
    rows = f"document.querySelector('[role=table]')?.getAttribute('aria-rowcount') === '{len(ids) + 1}'"
    return {
        "list": View("/", f"{rows} && {_lines('[role=rowgroup] [role=row]', 10)}"),
        "open": View(f"/jobs/{ids[-1]}", CHARTS),
        "compare": View(f"/compare?runs={','.join(ids[:COMPARED])}", CHARTS),
    }


def trackio_views(ids: Sequence[str]) -> dict[str, View]:
    """Name the pages of trackio: its charts are one page, by the runs chosen."""
    drawn = _lines(".vega-embed canvas, .vega-embed svg, .plot-container canvas", 1)
    return {
        "list": View("/runs?project=bench", _lines("table tbody tr", 10)),
        "open": View(f"/?project=bench&runs={ids[-1]}", drawn),
        "compare": View(f"/?project=bench&runs={','.join(ids[:COMPARED])}", drawn),
    }


def mlflow_views(ids: Sequence[str]) -> dict[str, View]:
    """Name the pages of MLflow."""
    chosen = urllib.parse.quote(json.dumps(list(ids[:COMPARED])))
    drawn = ".js-plotly-plot .scatterlayer .trace path.js-line"
    metric = f"runs={chosen}&metric=%22loss%22&experiments=%5B%221%22%5D&plot_metric_keys=%5B%22loss%22%5D"
    return {
        "list": View("/#/experiments/1/runs", _lines("[role=row]", 10)),
        "open": View(f"/#/experiments/1/runs/{ids[-1]}/model-metrics", _lines(drawn, 2)),
        "compare": View(f"/#/metric?{metric}", _lines(drawn, COMPARED)),
    }


def aim_views(ids: Sequence[str]) -> dict[str, View]:
    """Name the pages of Aim; its explorer takes what is asked for in an encoding of its own."""
    query = f"metric.name == 'loss' and run.hash in {list(ids[:COMPARED])!r}"
    asked = {"options": [], "query": "", "advancedMode": True, "advancedQuery": query}
    text = base64.b64encode(urllib.parse.quote(json.dumps(asked), safe="~@#$&()*!+=:;,?/'").encode()).decode()
    select = "O-" + text.replace("=", "").replace("+", "-").replace("/", "_")
    return {
        "list": View("/runs", _lines("[class*=rowKey-]", 10)),
        "open": View(f"/runs/{ids[-1]}/metrics", _lines("svg path.Line", 2)),
        "compare": View(f"/metrics?select={select}", _lines("svg path.Line", COMPARED)),
    }


def _token(folder: Path) -> str:
    return f"/#token={(folder / 'token').read_text().strip()}"


def _jobmeter_command(folder: Path, port: int) -> list[str]:
    words = [str(ROOT / ".venv" / "bin" / "jobmeter"), "serve", "--no-browser"]
    return [*words, "--home", str(folder), "--port", str(port)]


TOOLS = (
    Tool("jobmeter", _jobmeter_command, lambda _: {}, jobmeter_views, _token),
    Tool(
        "trackio",
        lambda _, port: [
            str(envs.peer("trackio") / "python"),
            "-c",
            f"import trackio; trackio.show(project='bench', server_port={port}, open_browser=False)",
        ],
        lambda folder: {"TRACKIO_DIR": str(folder)},
        trackio_views,
    ),
    Tool(
        "mlflow",
        lambda folder, port: [
            *(str(envs.peer("mlflow") / "mlflow"), "server", "--port", str(port)),
            *("--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--workers", "1"),
        ],
        lambda _: {},
        mlflow_views,
    ),
    Tool(
        "aim",
        lambda folder, port: [
            *(str(envs.peer("aim") / "aim"), "up", "--repo", str(folder), "--port", str(port)),
        ],
        lambda _: {"__AIM_UI_TELEMETRY_ENABLED__": "0"},
        aim_views,
    ),
)


def filled(tool: Tool, args: argparse.Namespace) -> tuple[Path, list[str]]:
    """Give the runs of a tool, written if they are not there yet."""
    folder = RUNS / f"{tool.name}-{args.runs}-{args.steps}-{args.long}"
    ids = folder / "ids.txt"
    if not ids.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        own = ROOT / ".venv" / "bin" / "python"
        python = own if tool.name == "jobmeter" else envs.peer(tool.name) / "python"
        if tool.name == "aim":
            subprocess.run([envs.peer("aim") / "aim", "init", "--repo", folder], check=True)
        script = Path(__file__).resolve().parent / "workloads" / "many_runs.py"
        words = [python, script, tool.name, folder, str(args.runs), str(args.steps), str(args.long)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        ids.write_text(done.stdout)
    return folder, ids.read_text().split()


@contextmanager
def serving(tool: Tool, folder: Path) -> Iterator[tuple[str, int]]:
    """Serve a tool's pages; gives their address and the process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    environ = dict(os.environ) | tool.environ(folder)
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            tool.command(folder, port), env=environ, stdout=log, stderr=log, start_new_session=True
        )
        try:
            _await(f"http://127.0.0.1:{port}/", process)
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _await(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310  # our own machine
        except urllib.error.HTTPError:
            return  # it asks for a token
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"{process.args!r} does not answer")


def cpu_seconds(session: int) -> float:
    """Sum up the CPU of a session's processes that still live, from `/proc`."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # gone meanwhile
        if int(fields[3]) == session:
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS


@dataclass(frozen=True, slots=True)
class Wait:
    """One page, opened once."""

    tool: str
    view: str
    seconds: float
    server_seconds: float
    sent_bytes: int


def opened(page: Page, tool: Tool, base: str, server: int, name: str, view: View) -> Wait:
    """Open a page and wait until it shows what it is for."""
    sent = 0

    def count(size: dict[str, int]) -> None:
        nonlocal sent
        sent += size.get("encodedDataLength", 0)

    page.goto("about:blank")
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", count)
    before = cpu_seconds(server)
    page.goto(base + view.path, wait_until="commit")
    handle = page.wait_for_function(
        f"() => ({view.shown}) && performance.now()", polling="raf", timeout=WAIT_SECONDS * 1000
    )
    seconds = float(handle.json_value()) / 1000
    wait = Wait(tool.name, name, seconds, cpu_seconds(server) - before, sent)
    session.detach()
    return wait


def visits(browser: Browser, tool: Tool, args: argparse.Namespace) -> list[Wait]:
    """Open every page of a tool: once to fill caches, then to be measured."""
    folder, ids = filled(tool, args)
    found: list[Wait] = []
    with serving(tool, folder) as (base, server):
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(base + tool.entry(folder))
        page.wait_for_timeout(3000)
        views = tool.views(ids)
        for number, (name, view) in itertools.product(range(args.rounds + 1), views.items()):
            wait = opened(page, tool, base, server, name, view)
            if number:
                found.append(wait)
            elif args.pictures:
                page.wait_for_timeout(1000)
                page.screenshot(path=Path(args.pictures) / f"{tool.name}-{name}.png")
        page.close()
    return found


def report(found: Sequence[Wait]) -> None:
    """Print a row per tool and page."""
    lines: list[Sequence[str]] = []
    for tool, view in dict.fromkeys((one.tool, one.view) for one in found):
        these = [one for one in found if (one.tool, one.view) == (tool, view)]
        waits = [one.seconds for one in these]
        lines.append(
            (
                tool,
                view,
                f"{statistics.median(waits):.2f}",
                f"{min(waits):.2f}",
                f"{max(waits):.2f}",
                f"{statistics.median(one.server_seconds for one in these):.2f}",
                f"{statistics.median(one.sent_bytes for one in these) / 1000:.0f}",
            )
        )
    header = ("tool", "page", "seconds", "least", "most", "server CPU s", "kB sent")
    print(tables.table("From the navigation to what was asked for", header, lines))


def main() -> None:
    """Visit the tools one after another, in an order drawn anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", default=",".join(tool.name for tool in TOOLS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--long", type=int, default=100_000)
    parser.add_argument("--pictures", help="keep a picture of every page here")
    args = parser.parse_args()
    tools = [tool for tool in TOOLS if tool.name in args.tools.split(",")]
    found: list[Wait] = []
    for tool in random.sample(tools, len(tools)):
        with chromium() as browser:
            found += visits(browser, tool, args)
    report(sorted(found, key=lambda one: [tool.name for tool in TOOLS].index(one.tool)))


if __name__ == "__main__":
    main()
