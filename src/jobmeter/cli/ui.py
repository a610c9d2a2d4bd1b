"""Open the page of the running server in a browser."""

import argparse
import os

from jobmeter.cli import common
from jobmeter.cli.render import screen
from jobmeter.errors import UsageError
from jobmeter.service import access, announcing, opening


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="print the address instead; it holds the token: keep it to yourself",
    )
    parser.add_argument("--home", metavar="DIR", help="whose server (default: as for every command)")


def main(args: argparse.Namespace) -> int:
    """Open it, or say where it is."""
    home = common.home_of(args)
    note = announcing.find(home)
    given = os.environ.get(access.VARIABLE) or None
    token = access.local_token(home, given) if note.auth else None
    if args.no_browser:
        screen.standard_output().write(opening.address(note.url, token))
        return 0
    if not opening.open_page(home, note.url, token):
        raise UsageError("there is no browser to open it", hint="print the address: jobmeter ui --no-browser")
    return 0
