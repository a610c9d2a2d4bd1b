"""Bring runs of other tools in: `jobmeter import duct .duct/logs`, or a bundle from a colleague.

The format may be named before the paths; otherwise each file is recognised by its content. A directory
is searched. Importing the same files again changes nothing.
"""

import argparse
import sys
from pathlib import Path

from jobmeter.cli import common
from jobmeter.cli.render.progress import Progress
from jobmeter.errors import UsageError
from jobmeter.service import importing


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = f"jobmeter import [{'|'.join(importing.NAMES)}] PATH... [--json] [--home DIR]"
    parser.add_argument("paths", metavar="PATH", nargs="+", help="files or directories to import")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Import and say what became of every file."""
    format_name, paths = _split(args.paths)
    progress = Progress(sys.stderr)
    try:
        harvest = importing.import_paths(
            common.home_of(args),
            paths,
            format_name,
            watch=lambda path, so_far: progress.say(lambda: _so_far(path, so_far)),
        )
    finally:
        progress.clear()
    if args.json:
        common.print_json(_shape(harvest))
    else:
        _print(harvest)
    return 2 if harvest.empty_handed else 0


def _so_far(path: Path, harvest: importing.Harvest) -> str:
    return f"{harvest.looked_at:,} files, {len(harvest.runs):,} runs; reading {path}"


def _split(words: list[str]) -> tuple[str | None, list[str]]:
    if words[0] not in importing.NAMES:
        return None, words
    if len(words) == 1:
        raise UsageError(f"nothing to import as {words[0]}", hint=f"jobmeter import {words[0]} PATH...")
    return words[0], words[1:]


def _shape(harvest: importing.Harvest) -> dict[str, object]:
    return {
        "runs": [
            {
                "run_id": run.run_id,
                "format": run.format,
                "steps": run.steps,
                "windows": run.windows,
                "events": run.events,
            }
            for run in harvest.runs
        ],
        "skipped": [{"path": skipped.path, "reason": skipped.reason} for skipped in harvest.skipped],
        "passed_by": harvest.passed_by,
    }


def _print(harvest: importing.Harvest) -> None:
    for run in harvest.runs:
        held = [
            f"{n} {word}"
            for n, word in ((run.windows, "windows"), (run.steps, "steps"), (run.events, "events"))
        ]
        print(f"{run.run_id}  {run.format}  {', '.join(held)}")
    for skipped in harvest.skipped:
        print(f"skipped {skipped.path}: {skipped.reason}", file=sys.stderr)
    if harvest.passed_by:
        print(
            f"texts without steps or errors passed by: {harvest.passed_by:,} (name one to hear why)",
            file=sys.stderr,
        )
    if harvest.empty_handed:
        print("jobmeter: nothing was imported", file=sys.stderr)
