"""Lay the ranks of a job side by side: `jobmeter ranks last`.

Ranks are compared by step, never by clock. Those that need a look come first: a straggler takes 1.1 times the
middle rank's time for the same steps or more.
"""

import argparse

from jobmeter.cli import common
from jobmeter.cli.render import rank_table, screen
from jobmeter.service import job_shapes, jobs


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("job", metavar="JOB", help=f"job id, or any run of it: {common.RUN_HELP}")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Print the job."""
    found = jobs.job(common.home_of(args), args.job)
    if args.json:
        common.print_json(job_shapes.shown(found))
        return 0
    out = screen.standard_output()
    out.write(*rank_table.render(found, out))
    return 0
