"""Write what happened to a run, why and what to change, as one page to hand around."""

import argparse
import sys
from pathlib import Path

from jobmeter.cli import common
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.service import report_page, whole_files

SUFFIXES = (".html", ".htm")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_run(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="the page to write: report.html"
    )
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Write the page."""
    output = Path(args.output)
    if output.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"a report is a page: {text.clean(output.name)} does not end in .html", hint="-o report.html"
        )
    content = report_page.render(common.home_of(args), args.run).encode()
    with whole_files.writing(output) as file:
        file.write(content)
    if args.json:
        common.print_json({"path": str(output), "bytes": len(content)})
    else:
        print(f"wrote {text.clean(str(output))}", file=sys.stderr)
    return 0
