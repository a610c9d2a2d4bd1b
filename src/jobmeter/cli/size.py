"""Say what jobs should ask for next time: `jobmeter size train --for slurm`.

Learned from all runs of a job, recorded or imported. FAILS is how likely the next run does not get by with it;
SAVES counts that a failed run is repeated with what is asked for now.
"""

import argparse
import sys

from jobmeter.cli import common
from jobmeter.cli.render import screen, size_table
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.model.sizing import JobSizing
from jobmeter.service import sizing


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "jobs",
        nargs="*",
        metavar="JOB",
        help="a job's key or name, a project, any run of it, or a filter (default: all jobs)",
    )
    parser.add_argument(
        "--for", dest="target", metavar="TARGET", help=f"lines to paste: {', '.join(sizing.TARGETS)}"
    )
    parser.add_argument("--since", metavar="TIME", help="learn from runs since then: 2026-11-01, 30d")
    parser.add_argument(
        "--input-size", metavar="BYTES", help="how large the next run's input is, as in 12GiB"
    )
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Print the advice."""
    target: str | None = args.target
    if target is not None and target not in sizing.TARGETS:
        raise UsageError(
            f"unknown target: {text.clean(target)}", hint=f"use one of {', '.join(sizing.TARGETS)}"
        )
    input_bytes = None if args.input_size is None else sizing.parse_size(args.input_size)
    found = sizing.size(common.home_of(args), args.jobs, since=args.since, input_bytes=input_bytes)
    if args.json:
        common.print_json([sizing.record(one, target) for one in found])
        return 0
    _print(found, target)
    return 0


def _print(found: list[JobSizing], target: str | None) -> None:
    out = screen.standard_output()
    shown = found if len(found) == 1 else [one for one in found if one.advice]
    if len(shown) == 1:
        out.write(*size_table.one_job(shown[0], out))
    elif shown:
        out.write(*size_table.many_jobs(shown, out))
    pasted = [] if target is None else sizing.lines(target, shown)
    if pasted:
        out.write("", *pasted)
    left_out = len(found) - len(shown)
    if left_out:
        jobs = "1 job has" if left_out == 1 else f"{left_out} jobs have"
        print(f"{jobs} not enough data: fewer than 2 runs that ended well", file=sys.stderr)
