"""Throw runs away, into a bin from which they can be restored until the next gc."""

import argparse

from jobmeter.cli import common
from jobmeter.cli.render import screen
from jobmeter.model import text
from jobmeter.service import lifecycle, runs


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help=common.RUN_HELP)
    parser.add_argument("--restore", action="store_true", help="take runs out of the bin again")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Move the runs; each is named before the first is touched."""
    home = common.home_of(args)
    if args.restore:
        moved = [lifecycle.restore(home, ref) for ref in args.runs]
    else:
        found = [runs.find(home, ref) for ref in args.runs]
        unique = {run.run_id: run.folder or run.run_id for run in found}
        moved = [lifecycle.remove(home, folder) for folder in unique.values()]
    if args.json:
        common.print_json({"restored" if args.restore else "removed": [run.run_id for run in moved]})
        return 0
    out = screen.standard_output()
    for run in moved:
        out.write(f"{'restored' if args.restore else 'removed'} {text.clean(run.run_id)}")
    return 0
