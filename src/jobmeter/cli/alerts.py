"""Show alerts, what is watched for and whom is told; test the channels; keep alerts quiet for a while."""

import argparse
import getpass
import time

from jobmeter.cli import common
from jobmeter.cli.render import screen, table
from jobmeter.cli.render.screen import Style
from jobmeter.config import home as homes
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.model.alert import State
from jobmeter.service import alerting

_ACTIONS = ("list", "rules", "silence", "silences", "test", "unsilence")
_STYLES = {"firing": Style.BAD, "pending": Style.WARN, "resolved": Style.GOOD}
_ALERTS = (
    table.Column(title="STATE"),
    table.Column(title="SINCE", optional=2),
    table.Column(title="SEVERITY", optional=3),
    table.Column(title="RULE"),
    table.Column(title="RUN"),
    table.Column(title="WHAT", flexible=20),
)
_RULES = (
    table.Column(title="RULE"),
    table.Column(title="SEVERITY", optional=2),
    table.Column(title="CHANNELS", optional=3),
    table.Column(title="RUNS", flexible=8, optional=1),
    table.Column(title="WATCHES FOR", flexible=20),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "action", choices=_ACTIONS, nargs="?", default="list", help="what to do (default: list)"
    )
    parser.add_argument(
        "subject", nargs="*", metavar="NAME", help="test: channels; silence: a filter; unsilence: an id"
    )
    parser.add_argument("--state", choices=("pending", "firing", "resolved"), help="list: only these")
    parser.add_argument("--for", dest="span", metavar="SPAN", help="silence: for how long, such as 2h")
    parser.add_argument("--rule", metavar="NAME", action="append", default=[], help="silence: only this rule")
    parser.add_argument("--comment", metavar="TEXT", default="", help="silence: why")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Do what was asked for."""
    if args.subject and args.action in ("list", "rules", "silences"):
        raise UsageError(f"{args.action} takes no names", hint="see: jobmeter alerts --help")
    home = common.home_of(args)
    match args.action:
        case "list":
            return _list(args, home)
        case "rules":
            return _rules(args, home)
        case "test":
            return _test(args, home)
        case "silences":
            return _silences(args, home)
        case _:
            return _silence(args, home)


def _list(args: argparse.Namespace, home: str) -> int:
    states = frozenset(() if args.state is None else (State(args.state),))
    told = alerting.told_of(home, alerting.Wanted(states=states), time.time())
    if args.json:
        common.print_json(told)
        return 0
    out = screen.standard_output()
    alerts = _records(told["alerts"])
    if not alerts:
        out.write("no alerts")
    rows = [
        [
            table.Cell(str(one["state"]), _STYLES[str(one["state"])]),
            *_cells(str(one.get("fired_at", one["since"]))[:19], one["severity"], one["rule"], one["run_id"]),
            *_cells(one["sentence"]),
        ]
        for one in alerts
    ]
    for line in table.render(_ALERTS, rows, out) if rows else ():
        out.write(line)
    for message in _records(told["undelivered"]):
        out.write(_undelivered(message))
    for trouble in sorted({*alerting.troubles(home), *_refused_settings(home)}):
        out.write(text.clean(f"not watched for: {trouble}"))
    return 0


def _refused_settings(home: str) -> list[str]:
    """Say why the rules that hold here cannot be read: what is listed was found by those of before."""
    try:
        alerting.load(home, homes.working_directory())
    except UsageError as error:
        return [str(error)]
    return []


def _undelivered(message: dict[str, object]) -> str:
    word = "waits" if message["state"] == "waiting" else "was not delivered"
    alerts = message["alerts"]
    count = len(alerts) if isinstance(alerts, list) else 0
    why = f": {message['error']}" if message["error"] else ""
    return text.clean(f"a message of {count} through {message['channel']} {word}{why}")


def _rules(args: argparse.Namespace, home: str) -> int:
    told = alerting.rules_told(alerting.load(home, homes.working_directory()))
    if args.json:
        common.print_json(told)
        return 0
    out = screen.standard_output()
    rows = [
        _cells(
            one["name"],
            one["severity"],
            ", ".join(map(str, _list_of(one["channels"]))) or "all",
            one["where"] or "all",
            one["sentence"],
        )
        for one in _records(told["rules"])
    ]
    for line in table.render(_RULES, rows, out):
        out.write(line)
    for channel in _records(told["channels"]):
        signed = ", signed" if channel["signed"] else ""
        out.write(text.clean(f"channel {channel['name']}: {channel['kind']} to {channel['target']}{signed}"))
    if not told["channels"]:
        out.write("no channel is set up: alerts are events of their runs, and nobody is told")
    for file in _list_of(told["files"]):
        out.write(text.clean(f"from {file}"))
    return 0


def _test(args: argparse.Namespace, home: str) -> int:
    settings = alerting.load(home, homes.working_directory())
    if not settings.channels:
        raise UsageError("no channel is set up", hint="write [channels.NAME] in alerts.toml of the home")
    tried = alerting.try_channels(settings, args.subject, time.time())
    if args.json:
        common.print_json({"channels": [one.as_record() for one in tried]})
    else:
        out = screen.standard_output()
        for one in tried:
            word = "delivered" if one.is_delivered else "failed"
            out.write(text.clean(f"{one.channel} ({one.target}): {word}, {one.sentence}"))
    return 0 if all(one.is_delivered for one in tried) else 1


def _silences(args: argparse.Namespace, home: str) -> int:
    told = alerting.silences_told(home, time.time())
    if args.json:
        common.print_json(told)
        return 0
    out = screen.standard_output()
    for one in _records(told["silences"]):
        out.write(_silence_line(one))
    if not told["silences"]:
        out.write("no silence holds")
    return 0


def _silence(args: argparse.Namespace, home: str) -> int:
    now = time.time()
    if args.action == "unsilence":
        if len(args.subject) != 1:
            raise UsageError("unsilence takes the id of a silence", hint="see: jobmeter alerts silences")
        made = alerting.unsilence(home, args.subject[0], now=now)
    else:
        if args.span is None:
            raise UsageError("a silence needs to know how long", hint="as in: --for 2h")
        wanted = alerting.NewSilence(
            where=" ".join(args.subject),
            seconds=alerting.span(args.span),
            rules=args.rule,
            comment=args.comment,
        )
        made = alerting.silence(home, wanted, by=_user(), now=now)
    record = made.as_record(now)
    if args.json:
        common.print_json(record)
    else:
        ended = "ended: " if args.action == "unsilence" else ""
        screen.standard_output().write(f"{ended}{_silence_line(record)}")
    return 0


def _silence_line(one: dict[str, object]) -> str:
    rules = ", ".join(map(str, _list_of(one["rules"]))) or "all rules"
    comment = f" ({one['comment']})" if one["comment"] else ""
    return text.clean(f"{one['id']}: {one['where'] or 'all runs'}, {rules}, until {one['until']}{comment}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""  # a user without a name, as in some containers


def _records(value: object) -> list[dict[str, object]]:
    return [one for one in _list_of(value) if isinstance(one, dict)]


def _list_of(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _cells(*values: object) -> list[table.Cell]:
    return [table.Cell(text.clean(str(value))) for value in values]
