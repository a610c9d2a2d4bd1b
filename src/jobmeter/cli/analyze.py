"""Say why a run ended, what stood out and what to change."""

import argparse

from jobmeter.cli import common
from jobmeter.cli.render import analysis_page, screen
from jobmeter.errors import UsageError
from jobmeter.service import analysis

SHOWN_ERRORS = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "run", metavar="RUN|LOGFILE", help="run id, unique prefix, 'last', a job, a folder, or a log file"
    )
    parser.add_argument(
        "--errors",
        type=int,
        default=SHOWN_ERRORS,
        metavar="N",
        help=f"how many errors of the log to show (default: {SHOWN_ERRORS}); --json has all",
    )
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Print the report."""
    if args.errors < 0:
        raise UsageError(f"--errors {args.errors} is out of range", hint="use 0 or more")
    view, report = analysis.analyze(common.home_of(args), args.run)
    if args.json:
        common.print_json(report.as_record())
        return 0
    out = screen.standard_output()
    out.write(*analysis_page.render(view.run, report, out, errors=args.errors))
    return 0
