"""Bound the disk: delete old runs by rule, empty the bin, compress what is closed."""

import argparse

from jobmeter.cli import common
from jobmeter.cli.render import screen
from jobmeter.errors import UsageError
from jobmeter.model import text, units
from jobmeter.service import garbage

_PAST = {"delete": "deleted", "empty": "emptied", "compress": "compressed"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--keep",
        metavar="RULE",
        action="append",
        help="runs younger than an age (30d), the newest so many (100), as much as fits (10GiB); may be repeated",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Carry the rules out and say what became of what."""
    if not args.keep:
        raise UsageError("gc needs to know what to keep", hint="as in jobmeter gc --keep 30d --dry-run")
    rules = [rule for given in args.keep for rule in given.split(",")]
    done = garbage.collect_garbage(common.home_of(args), garbage.parse_keep(rules), dry_run=args.dry_run)
    if args.json:
        common.print_json(
            {
                "removed": done.removed,
                "compressed": done.compressed,
                "emptied": done.emptied,
                "freed_bytes": done.freed_bytes,
                "dry_run": args.dry_run,
            }
        )
        return 0
    out = screen.standard_output()
    for word, names in (("delete", done.removed), ("empty", done.emptied), ("compress", done.compressed)):
        for name in names:
            out.write(
                f"would {word} {text.clean(name)}" if args.dry_run else f"{_PAST[word]} {text.clean(name)}"
            )
    out.write(_sum(done, dry_run=args.dry_run))
    return 0


def _sum(done: garbage.Collected, *, dry_run: bool) -> str:
    counts = (
        len(done.removed),
        len(done.emptied),
        len(done.compressed),
        units.format_bytes(done.freed_bytes),
    )
    if dry_run:
        return "nothing was done: {} to delete, {} to empty from the bin, {} to compress, {} to free".format(
            *counts
        )
    return "{} deleted, {} emptied from the bin, {} compressed, {} freed".format(*counts)
