"""Say why a run ended, what stood out and what to change."""

import argparse
import sys

from jobmeter.cli import common
from jobmeter.cli.render import analysis_page, screen
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.model.report import Report
from jobmeter.service import analysis, applying

SHOWN_ERRORS = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "run",
        metavar="RUN|LOGFILE",
        help=f"{common.RUN_HELP}, a log file (plain or gzip), or - for standard input",
    )
    parser.add_argument(
        "--errors",
        type=int,
        default=SHOWN_ERRORS,
        metavar="N",
        help=f"how many errors of the log to show (default: {SHOWN_ERRORS}); --json has all",
    )
    parser.add_argument(
        "--apply",
        metavar="CONFIG",
        help="write this config (YAML, JSON, TOML, batch script) with the advice in it",
    )
    parser.add_argument(
        "-o", "--output", metavar="NEW", help="where --apply writes; CONFIG itself to change it"
    )
    parser.add_argument("--only", metavar="RULE,...", help="apply the advice of these rules alone")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Print the report."""
    if args.errors < 0:
        raise UsageError(f"--errors {args.errors} is out of range", hint="use 0 or more")
    _check_apply(args)
    home = common.home_of(args)
    view, report = analysis.analyze(home, args.run)
    if args.apply is not None:
        return _apply(args, report)
    if args.json:
        common.print_json(report.as_record())
        return 0
    out = screen.standard_output()
    out.write(*analysis_page.render(view.run, report, out, errors=args.errors))
    return 0


def _check_apply(args: argparse.Namespace) -> None:
    if args.apply is None and (args.output is not None or args.only is not None):
        raise UsageError("-o and --only belong to --apply", hint="jobmeter analyze RUN --apply CONFIG -o NEW")
    if args.apply is not None and args.output is None:
        raise UsageError(
            f"--apply does not change {text.clean(args.apply)} unasked",
            hint="say where to write: -o NEW, or the same name to change it in place",
        )


def _apply(args: argparse.Namespace, report: Report) -> int:
    """Write the config and show what is different in it."""
    only = [] if args.only is None else [rule.strip() for rule in args.only.split(",") if rule.strip()]
    applied = applying.apply(report, args.apply, args.output, only=only)
    if args.json:
        common.print_json(applied.as_record())
        return 0
    out = screen.standard_output()
    out.write(*(text.clean(line) for line in applied.diff.splitlines()))
    for advice, reason in applied.skipped:
        sys.stderr.write(f"jobmeter: {advice.rule} not applied: {text.clean(reason)}\n")
    sys.stderr.write(f"jobmeter: {len(applied.changed)} settings changed in {text.clean(applied.path)}\n")
    return 0
