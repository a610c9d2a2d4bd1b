"""Show what one run used, how it ended and what is not known."""

import argparse
import time

from jobmeter.cli import common
from jobmeter.cli.render import page, screen
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.model import text
from jobmeter.model.run import Run
from jobmeter.service import analysis, explain, shapes


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_run(parser)
    parser.add_argument(
        "-a", "--all", action="store_true", help="every number of the summary with its meaning"
    )
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Print the run."""
    view, report = analysis.at_a_glance(common.home_of(args), args.run)
    if args.json:
        common.print_json(
            shapes.shown(view) | ({} if report is None else {"verdict": report.verdict.as_record()})
        )
        return 0
    out = screen.standard_output()
    out.write(*page.render(view, out, time.time(), report))
    if args.all:
        out.write("", *_summary(view.run, out))
    return 0


def _summary(run: Run, out: Screen) -> list[str]:
    """Lay out every number: key, value in its unit, meaning wrapped beside it."""
    rows = [
        (text.clean(one.key), text.clean(one.text), text.clean(one.meaning)) for one in explain.explain(run)
    ]
    if not rows:
        return ["no summary was recorded"]
    key_cells = max(text.width(key) for key, _, _ in rows)
    value_cells = min(max(text.width(value) for _, value, _ in rows), 24)
    room = max(out.width - key_cells - value_cells - 4, 24) if out.width else 0
    lines = []
    for key, value, meaning in rows:
        first, *more = text.wrap(meaning, room)
        padding = " " * (value_cells - text.width(text.cut(value, value_cells)))
        number = padding + text.cut(value, value_cells)
        lines.append(f"{key:<{key_cells}}  {number}  {out.paint(first, Style.DIM)}".rstrip())
        lines += [" " * (key_cells + value_cells + 4) + out.paint(line, Style.DIM) for line in more]
    return lines
