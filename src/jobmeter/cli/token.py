"""Make, list and revoke the tokens of agents and people."""

import argparse
import time

from jobmeter.cli import common
from jobmeter.cli.render import screen, table
from jobmeter.model import text
from jobmeter.model.moments import iso_time
from jobmeter.service import access

_HEAD = ("ID", "NAME", "SCOPES", "CREATED", "LAST USED", "REVOKED")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="create|list|revoke", required=True)
    create = actions.add_parser("create", help="make a token; it is shown only now", allow_abbrev=False)
    create.add_argument("name", metavar="NAME", help="whose it is: an agent, a person, a scraper")
    create.add_argument(
        "--scope",
        action="append",
        choices=[scope.value for scope in access.Scope],
        help="what it may do (default read); may be repeated; admin includes all",
    )
    common.add_common(create)
    listed = actions.add_parser("list", help="show the tokens there are", allow_abbrev=False)
    common.add_common(listed)
    revoke = actions.add_parser("revoke", help="end a token at once", allow_abbrev=False)
    revoke.add_argument("token", metavar="NAME|ID", help="its name or id")
    common.add_common(revoke)


def main(args: argparse.Namespace) -> int:
    """Do it."""
    home = common.home_of(args)
    match args.action:
        case "create":
            return _create(args, home)
        case "revoke":
            return _revoke(args, home)
        case _:
            return _list(args, home)


def _create(args: argparse.Namespace, home: str) -> int:
    scopes = frozenset(access.Scope(word) for word in args.scope or ["read"])
    made = access.create(home, args.name, scopes, now=time.time())
    if args.json:
        words = sorted(scope.value for scope in scopes)
        common.print_json({"id": made.token_id, "name": args.name, "scopes": words, "token": made.token})
        return 0
    # alone on its line, so that it can be caught: TOKEN=$(jobmeter token create ...)
    screen.standard_output().write(made.token)
    return 0


def _revoke(args: argparse.Namespace, home: str) -> int:
    row = access.revoke(home, args.token, now=time.time())
    if args.json:
        common.print_json({"id": row.token_id, "name": row.name, "revoked": True})
        return 0
    screen.standard_output().write(f"revoked {row.token_id} {text.clean(row.name)}")
    return 0


def _list(args: argparse.Namespace, home: str) -> int:
    rows = access.tokens(home)
    if args.json:
        common.print_json_list(
            {
                "id": row.token_id,
                "name": row.name,
                "scopes": list(row.scopes),
                "created_at": _moment(row.created_at),
                "last_used_at": _moment(row.last_used_at),
                "revoked_at": _moment(row.revoked_at),
            }
            for row in rows
        )
        return 0
    out = screen.standard_output()
    cells = [
        [
            table.Cell(text.clean(word))
            for word in (
                row.token_id,
                row.name,
                ",".join(row.scopes),
                _moment(row.created_at) or "",
                _moment(row.last_used_at) or "never",
                _moment(row.revoked_at) or "",
            )
        ]
        for row in rows
    ]
    out.write(*table.render([table.Column(title=word) for word in _HEAD], cells, out))
    return 0


def _moment(at: float | None) -> str | None:
    return iso_time(at)
