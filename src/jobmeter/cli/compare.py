"""Lay runs side by side: `jobmeter compare A B`: numbers, settings, surroundings, phases, loss at equal step."""

import argparse

from jobmeter.cli import common
from jobmeter.cli.render import compare_page, screen
from jobmeter.service import comparing


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"{common.RUN_HELP}; two or more")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Print the comparison."""
    found, comparison = comparing.compare(common.home_of(args), args.runs)
    if args.json:
        common.print_json(comparison.as_record())
        return 0
    out = screen.standard_output()
    out.write(*compare_page.render(found, comparison, out))
    return 0
