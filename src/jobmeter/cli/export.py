"""Hand a run to other tools: `jobmeter export last --format csv -o run.csv`.

csv is one long table (timestamp, key, instance, value, step, source), json one document with every series, parquet two
tables (usage and, of a training, steps), duct the files that con-duct's ls, pp and plot read, campaign a
campaign_stats.json with the run as its one build. aitk fills the monitoring tables of ai-toolkit's aitk_db.db.
"""

import argparse
import sys

from jobmeter.cli import common
from jobmeter.model import text
from jobmeter.model.run import Run
from jobmeter.service import aitk, exporting


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    common.add_run(parser)
    parser.add_argument("--format", required=True, metavar="|".join(exporting.NAMES), help="how to write it")
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        help="file to write; for duct and parquet, what their files' names begin with; for aitk, the database to fill",
    )
    parser.add_argument("--force", action="store_true", help="replace files that are there already")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Export one run to stdout or to files."""
    target: str | None = None if args.output in (None, "-") else args.output
    if args.format in exporting.DATABASES:
        run = aitk.fill(common.home_of(args), args.run, target)
        _report(args, run, [str(target)])
        return 0
    exported = exporting.export(common.home_of(args), args.run, args.format, prefix=target)
    if exported.is_document and target is None:
        exporting.write_document(exported, sys.stdout.buffer)
        sys.stdout.flush()
        return 0
    files = exporting.write_files(exported, target or exported.prefix, replace=args.force)
    _report(args, exported.run, files)
    return 0


def _report(args: argparse.Namespace, run: Run, files: list[str]) -> None:
    if args.json:
        common.print_json({"run_id": run.run_id, "format": args.format, "files": files})
    else:
        for file in files:
            print(text.clean(file))
