"""Send runs to a jobmeter server: those named, or all that it does not have yet."""

import argparse
import os

from jobmeter.cli import common
from jobmeter.cli.render import screen
from jobmeter.model import text, units
from jobmeter.service import pushing
from jobmeter.service.pushing import Became, Pushed


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("runs", metavar="RUN", nargs="*", help=common.RUN_HELP)
    parser.add_argument(
        "--server", metavar="URL", help="where to (default: $JOBMETER_SERVER, or server below [push])"
    )
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Push, say what became of each run, and fail when some could not be pushed."""
    server = pushing.target(args.server, os.environ)
    done: list[Pushed] = []
    out = screen.standard_output()
    for one in pushing.push_runs(common.home_of(args), args.runs, server):
        done.append(one)
        if not args.json:
            out.write(_line(one))
    if args.json:
        common.print_json({"server": server.url, "runs": [_shape(one) for one in done]})
    else:
        out.write(_sum(done, server.url))
    return 0 if all(one.is_whole for one in done) else 1


def _line(one: Pushed) -> str:
    words = {
        Became.KEPT: "the server has all of it",
        Became.PUSHED: f"pushed {units.format_bytes(one.sent_bytes)}",
        Became.REFUSED: "refused",
        Became.UNREACHABLE: "not pushed",
    }
    reason = f": {text.clean(one.reason)}" if one.reason else ""
    return f"{text.clean(one.run_id)}  {words[one.became]}{reason}"


def _sum(done: list[Pushed], url: str) -> str:
    missing = sum(not one.is_whole for one in done)
    pushed = sum(one.became is Became.PUSHED for one in done)
    if not done:
        return f"{text.clean(url)} has every run"
    return f"{pushed} pushed to {text.clean(url)}" + (f", {missing} not or not wholly" if missing else "")


def _shape(one: Pushed) -> dict[str, object]:
    known: dict[str, object] = {
        "run_id": one.run_id,
        "became": one.became.value,
        "sent_bytes": one.sent_bytes,
    }
    return known | ({"reason": one.reason} if one.reason else {})
