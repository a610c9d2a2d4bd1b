"""Print the steps of a training: `jobmeter steps last --metric loss`.

Of every rank the best source is shown: the SDK's word before an imported file's, and both before what was
read out of the log. --source asks for another one.
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from itertools import islice

from jobmeter.cli import common
from jobmeter.cli.render import local_time, screen, table
from jobmeter.cli.render.table import Cell, Column
from jobmeter.errors import UsageError
from jobmeter.model import moments, text, units
from jobmeter.model.steps import Step, as_json
from jobmeter.service import step_json, steps

DEFAULT_LIMIT = 20
_AT_ONCE = 1_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    common.add_run(parser)
    parser.add_argument(
        "-m", "--metric", metavar="M", action="append", default=[], help="only this metric; may be repeated"
    )
    parser.add_argument("--rank", type=int, metavar="N", help="only this rank")
    parser.add_argument("--source", metavar="S", help="who told: sdk, log:hf, or the name of a format")
    parser.add_argument(
        "-n",
        "--limit",
        type=int,
        metavar="N",
        help=f"the last N steps (default {DEFAULT_LIMIT}, 0 is all; with --json and --csv all)",
    )
    parser.add_argument("--csv", action="store_true", help="print comma-separated values")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Print the steps."""
    limit = _limit(args)
    found = steps.of_run(
        common.home_of(args), args.run, metrics=args.metric, rank=args.rank, source=args.source
    )
    if args.json and limit is None:
        _print_all(found)
        return 0
    rows = found.rows() if limit is None else iter(found.last(limit))
    if args.json:
        common.print_json_lines(_shape(row) for row in rows)
    elif args.csv:
        _print_csv(found.metrics, rows)
    else:
        _print_table(found, list(rows))
    return 0


def _limit(args: argparse.Namespace) -> int | None:
    if args.limit is not None and args.limit < 0:
        raise UsageError(f"-n needs a number of steps from 0 up, not {args.limit}")
    if args.json and args.csv:
        raise UsageError("--json and --csv exclude each other", hint="choose one")
    given: int | None = args.limit
    if given is None:
        return None if args.json or args.csv else DEFAULT_LIMIT
    return given or None


def _print_all(found: steps.Listing) -> None:
    """Print the same as JSON line by line would, of a million steps in seconds."""
    separator = "[\n"
    lines = step_json.lines(found.tables)
    while some := list(islice(lines, _AT_ONCE)):
        sys.stdout.write(separator + ",\n".join(some))
        separator = ",\n"
    sys.stdout.write("\n]\n" if separator == ",\n" else "[]\n")


def _shape(row: Step) -> dict[str, object]:
    shape: dict[str, object] = {
        "step": row.step,
        "timestamp": moments.iso_time(row.timestamp),
        "rank": row.rank,
        "source": row.source,
        "metrics": {name: as_json(value) for name, value in row.metrics.items()},
    }
    return {key: value for key, value in shape.items() if value is not None}


def _print_csv(metrics: tuple[str, ...], rows: Iterator[Step]) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["step", "timestamp", "rank", "source", *metrics])
    for row in rows:
        moment = moments.iso_time(row.timestamp) or ""
        values = [as_json(row.metrics[name]) if name in row.metrics else "" for name in metrics]
        out.writerow([row.step, moment, row.rank, row.source, *values])


def _print_table(found: steps.Listing, rows: list[Step]) -> None:
    out = screen.standard_output()
    several = len({row.rank for row in rows}) > 1
    timed = any(row.timestamp is not None for row in rows)
    names = [name for name in found.metrics if any(name in row.metrics for row in rows)]
    head = [Column(title="STEP", right=True)]
    head += [Column(title="RANK", right=True)] if several else []
    head += [Column(title="TIME", optional=1000)] if timed else []
    head += [Column(title=text.clean(name), right=True, optional=place) for place, name in enumerate(names)]
    cells = []
    for row in rows:
        line = [Cell(str(row.step))]
        line += [Cell(str(row.rank))] if several else []
        line += [Cell("" if row.timestamp is None else local_time.whole(row.timestamp))] if timed else []
        line += [
            Cell(units.format_metric(row.metrics[name]) if name in row.metrics else "") for name in names
        ]
        cells.append(line)
    out.write(*table.render(head, cells, out))
    if len(rows) < len(found):
        print(f"the last {len(rows):,} of {len(found):,} steps; -n 0 shows all", file=sys.stderr)
