"""Plot what a run used over time, in the terminal or into a file."""

import argparse
import os
import sys
from pathlib import Path

from jobmeter.cli import common
from jobmeter.cli.render import screen
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.model.panel import Chart
from jobmeter.service import plot_output, plot_told, plot_view, plotting, whole_files

PIPE_COLUMNS = 80
SMALLEST_ROWS = 12
BUCKETS = 2000
"""Points a line keeps in a file; beyond them it carries the extremes of what was folded."""
CELLS, PIXELS = (20, 1000), (200, 20000)
"""Smallest and largest size that can be asked for, in the terminal and in a file."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_run(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write an image or a page: .png, .svg, .pdf or .html"
    )
    parser.add_argument(
        "--keys", metavar="KEY,...", help="plot these instead: recorded keys, or metrics such as loss"
    )
    parser.add_argument("--log", action="store_true", help="draw metrics of a training on a logarithmic axis")
    parser.add_argument("--width", type=int, metavar="N", help="columns in the terminal, pixels in an image")
    parser.add_argument("--height", type=int, metavar="N", help="rows in the terminal, pixels in an image")
    parser.add_argument(
        "--theme", choices=("light", "dark"), help="colours of a file (default: light; html: as the reader's)"
    )
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Draw the run."""
    output = Path(args.output) if args.output is not None else None
    _check(args, output)
    keys = _keys(args.keys)
    home = common.home_of(args)
    view = plot_view.view(home, args.run, keys)
    told = plot_told.of_run(home, args.run, view, keys)
    out = screen.standard_output()
    columns = args.width or out.width or PIPE_COLUMNS
    buckets = BUCKETS if output is not None or args.json else 2 * columns
    chart = plotting.describe(view, keys=keys, buckets=buckets, told=told, logarithmic=args.log)
    if args.json:
        common.print_json(plotting.shape(chart))
    elif output is None:
        sys.stdout.write(_terminal(chart, columns, args.height, colour=out.colour))
    else:
        content = plot_output.as_file(
            chart, output.suffix.lower(), theme=args.theme, width=args.width, height=args.height
        )
        with whole_files.writing(output) as file:
            file.write(content)
        print(f"wrote {text.clean(str(output))}", file=sys.stderr)
        if not chart.panels:
            print(*chart.notes, sep="\n", file=sys.stderr)
    return 0


def _check(args: argparse.Namespace, output: Path | None) -> None:
    """Refuse before any work what cannot be drawn."""
    if output is not None and args.json:
        raise UsageError("--json prints to the terminal, -o writes a file", hint="use one of the two")
    if output is not None and output.suffix.lower() not in plot_output.SUFFIXES:
        known = f"end it in one of {', '.join(plot_output.SUFFIXES)}"
        raise UsageError(f"cannot tell the kind of file from its name: {text.clean(output.name)}", hint=known)
    sized = args.width is not None or args.height is not None
    if sized and output is not None and output.suffix.lower() == ".html":
        raise UsageError("a page fits its window: --width and --height are for images", hint="leave them out")
    least, most = CELLS if output is None else PIXELS
    for name, value in (("--width", args.width), ("--height", args.height)):
        if value is not None and not least <= value <= most:
            raise UsageError(f"{name} {value} is out of range", hint=f"use {least} to {most}")


def _keys(given: str | None) -> tuple[str, ...]:
    keys = tuple(dict.fromkeys(key.strip() for key in (given or "").split(",") if key.strip()))
    if given is not None and not keys:
        raise UsageError("--keys names no key", hint="as in --keys cgroup_mem_anon,wait_majflt")
    return keys


def _terminal(chart: Chart, columns: int, height: int | None, *, colour: bool) -> str:
    rows = height if height is not None else _rows_of_terminal()
    encoding = sys.stdout.encoding or "ascii"
    return plot_output.as_text(chart, columns=columns, rows=rows, colour=colour, encoding=encoding)


def _rows_of_terminal() -> int | None:
    """Count the rows there are for a plot; a pipe or a file has no height."""
    try:
        # the last row is the prompt's
        return max(os.get_terminal_size(sys.stdout.fileno()).lines - 1, SMALLEST_ROWS)
    except OSError:
        return None
