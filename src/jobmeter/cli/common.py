"""What every reading command shares: `--home`, `--json`, and how JSON leaves the house."""

import argparse
import json
import os
import sys
from collections.abc import Iterable
from math import isfinite

from jobmeter.config import home as homes
from jobmeter.errors import UsageError, reason_of
from jobmeter.model import text


def add_common(parser: argparse.ArgumentParser) -> None:
    """Declare `--home` and `--json`."""
    parser.add_argument(
        "--home", metavar="DIR", help="where runs are kept (default: $JOBMETER_HOME, .jobmeter/ above here)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON with raw numbers")


_ON_ONE_LINE = json.JSONEncoder(allow_nan=False)
"""Made once: `json.dumps` makes one for every call that asks for strictness."""
RUN_HELP = "run id, unique prefix, 'last', a job or name (its newest run), or a folder"


def add_run(parser: argparse.ArgumentParser) -> None:
    """Declare the one run a command is about."""
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)


def home_of(args: argparse.Namespace) -> str:
    """Find the home this command line means."""
    given: str | None = args.home
    home = homes.find_home(homes.working_directory(), os.environ, given)
    _require_readable(home)
    return home


def _require_readable(home: str) -> None:
    """Refuse a home whose runs cannot be listed; one that is not there yet has none."""
    try:
        with os.scandir(os.path.join(home, "runs")) as months:
            for month in months:
                if month.is_dir():
                    os.scandir(month.path).close()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        why = reason_of(error) if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"cannot read the runs in {text.clean(home)}: {why}",
            hint="choose another home with --home or JOBMETER_HOME",
        ) from error


def print_json(document: object) -> None:
    """Print one document; strict JSON, whatever bytes the job's arguments held."""
    sys.stdout.write(json_text(document, indent=2) + "\n")


def print_json_list(documents: Iterable[object]) -> None:
    """Print a list with one document a line, for `grep` and for speed."""
    body = ",\n".join(json_text(document) for document in documents)
    sys.stdout.write(f"[\n{body}\n]\n" if body else "[]\n")


def print_json_lines(documents: Iterable[object]) -> None:
    """Print a list of documents, however many, as they come."""
    separator = "[\n"
    for document in documents:
        sys.stdout.write(separator + json_text(document))
        separator = ",\n"
    sys.stdout.write("\n]\n" if separator == ",\n" else "[]\n")


def json_text(document: object, indent: int | None = None) -> str:
    """Encode as strict JSON; a number that is none (NaN) becomes null."""
    encode = (
        _ON_ONE_LINE.encode if indent is None else json.JSONEncoder(indent=indent, allow_nan=False).encode
    )
    try:
        return encode(document)
    except ValueError:
        return encode(_finite(document))


def _finite(document: object) -> object:
    if isinstance(document, dict):
        return {key: _finite(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [_finite(value) for value in document]
    return None if isinstance(document, float) and not isfinite(document) else document
