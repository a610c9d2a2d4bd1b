"""List runs, newest first."""

import argparse
import sys
import time
from collections.abc import Sequence

from jobmeter.cli import columns, common
from jobmeter.cli.render import screen, table
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.model.run import Run
from jobmeter.service import fields, filters, listing, runs, shapes

DEFAULT_LIMIT = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-c", "--columns", metavar="FIELDS", help="which columns, by comma; + in front adds to the usual"
    )
    parser.add_argument(
        "-s", "--sort", metavar="FIELD", help="order by a field, largest or latest first, text from A"
    )
    parser.add_argument("-r", "--reverse", action="store_true", help="turn the order round")
    parser.add_argument(
        "-f", "--filter", metavar="EXPR", help="only runs for which this is true: 'status=failed and wall>2h'"
    )
    parser.add_argument(
        "-n",
        "--limit",
        type=int,
        metavar="N",
        help=f"at most N runs (default {DEFAULT_LIMIT}, 0 is all; with --json all)",
    )
    parser.epilog = (
        f"Fields: {', '.join(fields.FIELDS)}, tag.KEY, config.KEY, every summary key, and metrics:"
        " loss, lr.min, metric.NAME. Filters: docs/filters.md."
    )
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Print the list."""
    now = time.time()
    where = None if args.filter is None else filters.parse(args.filter, now=now)
    chosen = chosen_fields(args.columns)
    limit = _limit(args)
    sort = _known(args.sort or "started", "sort by")
    home = common.home_of(args)
    # one more than wanted tells whether there are more
    asked = None if limit is None else limit + 1
    matching = runs.list_runs(home, where=where, sort=sort, reverse=args.reverse, limit=asked)
    found = matching[:limit]
    if args.json:
        common.print_json_list(shapes.listed(run) for run in found)
        return 0
    out = screen.standard_output()
    if any(fields.is_summary_key(field) or field.startswith(fields.CONFIG) for field in chosen):
        found = listing.with_definitions(home, found)
    if found:
        out.write(*lines(found, chosen, out, now, usual=args.columns is None))
    if len(found) < len(matching) or not found:
        print(_remark(home, len(found), filtered=where is not None), file=sys.stderr)
    return 0


def _remark(home: str, shown: int, *, filtered: bool) -> str:
    if shown and filtered:
        return f"{shown} shown, more match; -n 0 shows all"
    if shown:
        return f"{shown} of {listing.count(home):,} runs; -n 0 shows all"
    if filtered:
        return "no run matches the filter"
    return f"no runs in {text.clean(home)} yet; record one: jobmeter run -- COMMAND"


def _limit(args: argparse.Namespace) -> int | None:
    if args.limit is not None and args.limit < 0:
        raise UsageError(f"-n needs a number of runs from 0 up, not {args.limit}")
    given: int | None = args.limit
    if given is None:
        return None if args.json else DEFAULT_LIMIT
    return given if 0 < given < sys.maxsize else None  # no store holds more


def chosen_fields(given: str | None) -> tuple[str, ...]:
    """Read `-c`: a list of fields, or `+` and fields to add to the usual ones."""
    if given is None:
        return columns.DEFAULT
    names = [name.strip() for name in given.removeprefix("+").split(",") if name.strip()]
    if not names:
        raise UsageError("-c needs at least one field", hint="as in -c id,status,wall or -c +host")
    usual = columns.DEFAULT if given.startswith("+") else ()
    return tuple(dict.fromkeys([*usual, *(_known(name, "show") for name in names)]))


def _known(name: str, purpose: str) -> str:
    if fields.type_of(name) is None:
        raise UsageError(f"cannot {purpose} {text.clean(name)}: unknown field", hint=fields.nearest(name))
    return fields.normal(name)


def _cut(kept: Sequence[str], rows: Sequence[Sequence[table.Cell]], widths: dict[int, int]) -> bool:
    """Tell whether some command has no room: then where its program lies is left out first."""
    place = kept.index("command") if "command" in kept else None
    if place is None or place not in widths:
        return False
    return any(text.width(row[place].text) > widths[place] for row in rows)


def lines(found: Sequence[Run], chosen: Sequence[str], out: Screen, now: float, *, usual: bool) -> list[str]:
    """Lay the runs out as a table with a legend of methods."""
    known = [fields.of_run(run) for run in found]
    present = {field for row in known for field in row}
    kept = [field for field in chosen if not usual or field in present or field == "command"]
    methods = columns.methods(found, kept)
    head = [columns.column(field, chosen=not usual) for field in kept]
    rows = [
        [columns.cell(field, run, row, methods, now) for field in kept]
        for run, row in zip(found, known, strict=True)
    ]
    widths = table.fit(head, rows, out.width)
    if _cut(kept, rows, widths):
        place = kept.index("command")
        rows = [
            [*row[:place], columns.short_command(run), *row[place + 1 :]]
            for run, row in zip(found, rows, strict=True)
        ]
        widths = table.fit(head, rows, out.width)
    legend = methods.legend([kept[index] for index in widths])
    wrapped = text.wrap(legend, out.width) if legend else []
    return [*table.draw(head, rows, widths, out), *(out.paint(line, Style.DIM) for line in wrapped)]
