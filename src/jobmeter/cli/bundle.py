"""Pack a run into one file for a colleague, who reads it with `jobmeter import`."""

import argparse

from jobmeter.cli import common
from jobmeter.cli.render import screen
from jobmeter.model import text
from jobmeter.service import bundles


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_run(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file or directory (default: RUN-ID.tar.gz here)"
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there already")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Write the file and name it."""
    path = bundles.bundle(common.home_of(args), args.run, args.output, replace=args.force)
    size_bytes = path.stat().st_size
    if args.json:
        common.print_json({"path": str(path), "size_bytes": size_bytes})
    else:
        screen.standard_output().write(text.clean(str(path)))
    return 0
