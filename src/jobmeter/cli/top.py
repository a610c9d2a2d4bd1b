"""Watch what runs now: memory, CPU and loss of every run, how far it is, and what is wrong."""

import argparse
import os
import sys
import time

import msgspec

from jobmeter.cli import common
from jobmeter.cli.render import screen, sparks, table, top_text
from jobmeter.errors import UsageError
from jobmeter.service import board

_SHORTEST_SECONDS, _LONGEST_SECONDS = 0.5, 3600.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--server", metavar="URL", help="watch what a server has instead of the home")
    parser.add_argument(
        "--interval", type=float, default=2.0, metavar="SECONDS", help="how often to look (default 2)"
    )
    parser.add_argument(
        "--once", action="store_true", help="print one look and end, as where the output is no terminal"
    )
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Watch until told to stop, or look once."""
    if not _SHORTEST_SECONDS <= args.interval <= _LONGEST_SECONDS:
        raise UsageError(
            f"--interval {args.interval:g} is out of range",
            hint=f"use {_SHORTEST_SECONDS:g} to {_LONGEST_SECONDS:g} seconds",
        )
    source = board.of_server(args.server, os.environ) if args.server else board.OfHome(common.home_of(args))
    if args.json:
        common.print_json(_known(msgspec.to_builtins(board.look(source))))
        return 0
    if args.once or not (sys.stdout.isatty() and sys.stdin.isatty()):
        _print(source)
        return 0
    try:
        from jobmeter.cli import top_app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("jobmeter"):
            raise
        raise UsageError(
            f"the package {error.name} is missing",
            hint="install it: pip install 'jobmeter[top]'; jobmeter top --once needs nothing",
        ) from None
    top_app.run(source, args.interval, ramp=_ramp())
    return 0


def _known(document: object) -> object:
    """Leave out what was not measured; a place in a line stays, empty."""
    if isinstance(document, dict):
        return {key: _known(value) for key, value in document.items() if value is not None}
    return [_known(value) for value in document] if isinstance(document, list | tuple) else document


def _ramp() -> str:
    encoding = sys.stdout.encoding or "ascii"
    return sparks.BLOCKS if encoding.lower().startswith("utf") else sparks.PLAIN


def _print(source: board.Source) -> None:
    out = screen.standard_output()
    found = board.look(source)
    look = top_text.Look(width=out.width, now=time.time(), ramp=_ramp())
    out.write(top_text.summary(found, source.place))
    rows = [cells for _, cells in top_text.rows(found, look)]
    out.write(*(table.render(top_text.COLUMNS, rows, out) if rows else (top_text.EMPTY,)))
    for line in top_text.alerts(found):
        out.write(out.paint(line.text, line.style))
