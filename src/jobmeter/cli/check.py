"""Fail when a run became worse: `jobmeter check last --against history`, for CI.

Exit code 0 and silence where nothing is worse, 1 with the reason, 2 for a check that cannot be made. Against
`history` a change must show over several runs of the same job; against one run every --max decides alone.
"""

import argparse
import os
import sys

from jobmeter.cli import common
from jobmeter.cli.render import check_text, screen
from jobmeter.errors import UsageError, reason_of
from jobmeter.model import text
from jobmeter.model.check import CheckReport
from jobmeter.service import checking

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    common.add_run(parser)
    parser.add_argument(
        "--against",
        default=checking.HISTORY,
        metavar="RUN|history",
        help="a run to hold it against, or all earlier ones of the same job (%(default)s)",
    )
    parser.add_argument(
        "--max",
        dest="limits",
        action="append",
        default=[],
        metavar="KEY=LIMIT",
        help="cpu_seconds=+5%%, memory_peak=+100MiB, wall=10min, steps.per_second=-5%%; may be repeated",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show every number, also the good ones")
    parser.add_argument("--markdown", metavar="FILE", help="write a comment for a pull request; - is stdout")
    parser.add_argument("--github", action="store_true", help=f"append the same to ${STEP_SUMMARY}")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Check, say what is worse, and give the exit code."""
    summary = os.environ.get(STEP_SUMMARY, "")
    if args.github and not summary:
        raise UsageError(f"--github needs ${STEP_SUMMARY}", hint="GitHub sets it in every step of a workflow")
    report = checking.check(common.home_of(args), args.run, args.against, args.limits)
    if args.github:
        _write(summary, check_text.markdown(report), "a")
    if args.markdown and args.markdown != "-":
        _write(args.markdown, check_text.markdown(report), "w")
    _print(report, args)
    return 0 if report.is_ok else 1


def _print(report: CheckReport, args: argparse.Namespace) -> None:
    if args.json:
        common.print_json(report.as_record())
        return
    if args.markdown == "-":
        sys.stdout.write(check_text.markdown(report))
        return
    out = screen.standard_output()
    out.write(*check_text.page(report, out, verbose=args.verbose))
    for note in report.notes:
        print(f"jobmeter: {note}", file=sys.stderr)


def _write(path: str, words: str, mode: str) -> None:
    try:
        with open(path, mode, encoding="utf-8") as file:
            file.write(words)
    except OSError as error:
        raise UsageError(f"cannot write {text.clean(path)}: {reason_of(error)}") from error
