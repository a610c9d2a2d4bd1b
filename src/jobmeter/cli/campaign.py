"""Keep book over builds, region by region: `jobmeter campaign record|complete|show|import`.

`record` writes down a build, at its start or when it is over; `complete` says how a recorded one ended; `show` tells
how the regions do; `import` reads logs, descriptions and older campaigns. All of it is in one campaign_stats.json.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from jobmeter.cli import common
from jobmeter.cli.render import campaign_table, screen
from jobmeter.errors import UsageError
from jobmeter.model import text, units
from jobmeter.model.moments import iso_time
from jobmeter.model.quantities import Dimension, parse_quantity
from jobmeter.service import campaign, campaign_builds, campaign_show, campaign_text
from jobmeter.service.campaign_builds import Told

_PRICE_VARIABLE = "JOBMETER_PRICE_PER_HOUR"
_SHORT_ID = 12
_UUID_LETTERS, _UUID_HYPHENS = 36, 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    actions = parser.add_subparsers(dest="action", metavar="record|complete|show|import", required=True)
    record = actions.add_parser("record", help="write down a build", allow_abbrev=False)
    record.add_argument(
        "--build-id", metavar="ID", help="the build's id (default: the description's, the run's)"
    )
    record.add_argument(
        "--run", metavar="RUN", help=f"take a run of jobmeter's as the build: {common.RUN_HELP}"
    )
    _add_build(record)
    complete = actions.add_parser("complete", help="say how a build ended", allow_abbrev=False)
    complete.add_argument("build_id", metavar="ID", help="the build's id")
    _add_build(complete)
    show = actions.add_parser("show", help="tell how the regions do", allow_abbrev=False)
    show.add_argument("--days", metavar="N", type=_days, help="only builds of the last N days")
    show.add_argument("--region", metavar="NAME", help="only this region")
    _add_place(show)
    bring = actions.add_parser("import", help="bring builds in from files", allow_abbrev=False)
    bring.add_argument(
        "paths", metavar="FILE", nargs="+", help="logs, gcloud descriptions, older campaign files"
    )
    bring.add_argument("--region", metavar="NAME", help="where they ran (default: as the files say)")
    _add_place(bring)


def _add_build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--region", metavar="NAME", help="where it ran")
    ending = parser.add_mutually_exclusive_group()
    ending.add_argument("--success", action="store_true", help="it succeeded")
    ending.add_argument("--failure", action="store_true", help="it failed")
    ending.add_argument(
        "--status", metavar="WORD", help="Cloud Build's word: QUEUED, WORKING, SUCCESS, TIMEOUT, ..."
    )
    parser.add_argument(
        "--duration", metavar="SECONDS", type=_seconds, help="from being asked for to the end (or 10m)"
    )
    parser.add_argument("--queue", metavar="SECONDS", type=_seconds, help="how much of it was waiting")
    parser.add_argument("--working", metavar="SECONDS", type=_seconds, help="how much of it was work")
    parser.add_argument("--error", metavar="TEXT", help="why it failed")
    parser.add_argument("--build-type", metavar="NAME", help="what was built")
    parser.add_argument("--machine-type", metavar="NAME", help="on what")
    parser.add_argument(
        "--price-per-hour", metavar="USD", type=_usd, help=f"of the machine (or {_PRICE_VARIABLE})"
    )
    parser.add_argument("--log", metavar="FILE", help="its log: samples are found in it; - is stdin")
    parser.add_argument(
        "--describe", metavar="FILE", help="what `gcloud builds describe --format=json` printed"
    )
    parser.add_argument("--fetch", action="store_true", help="ask gcloud for log and description")
    parser.add_argument("--debug", action="store_true", help="say on stderr what is read")
    _add_place(parser)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", metavar="PATH", help="the campaign_stats.json (default: in the home)")
    common.add_common(parser)


def _seconds(written: str) -> int:
    found = parse_quantity(written)
    if found is None or found.value < 0 or found.dimension not in (Dimension.SECONDS, Dimension.NUMBER):
        raise argparse.ArgumentTypeError(f"no span of time: {written}")
    return round(found.value)


def _days(written: str) -> float:
    return _plain(written, "number of days")


def _usd(written: str) -> float:
    return _plain(written, "price")


def _plain(written: str, what: str) -> float:
    found = parse_quantity(written)
    if found is None or found.value < 0 or found.dimension is not Dimension.NUMBER:
        raise argparse.ArgumentTypeError(f"no {what}: {written}")
    return found.value


def main(args: argparse.Namespace) -> int:
    """Do what was asked."""
    home = common.home_of(args)
    path = Path(args.file) if args.file else campaign.file_of(home)
    if args.action == "show":
        return _show(args, path)
    if args.action == "import":
        return _import(args, path)
    if args.action == "complete":
        return _complete(args, path)
    told = _told(args, of_run=campaign.of_run(home, args.run) if args.run else None)
    if told.region is None and not told.fields.keys() - {"spot_price_per_hour"}:
        raise UsageError("which build?", hint="add --build-id or --region, --run, --log or --describe")
    return _tell(args, path, told)


def _complete(args: argparse.Namespace, path: Path) -> int:
    known_in = campaign.regions_with(path, args.build_id)
    if known_in and args.region and args.region not in known_in:
        shown, where = text.clean(args.build_id), text.clean(", ".join(known_in))
        raise UsageError(
            f"build {shown} was recorded in {where}, not in {text.clean(args.region)}",
            hint="leave --region out, or write another build down: `jobmeter campaign record`",
        )
    args.region = args.region or next(iter(known_in), None)
    told = _told(args)
    if told.fields.get("success") is None:
        raise UsageError(
            "how did it end?", hint="add --success, --failure or --status, or --log, --describe or --fetch"
        )
    if not known_in:
        print(
            f"jobmeter: build {text.clean(args.build_id)} was not recorded before: it is now", file=sys.stderr
        )
    return _tell(args, path, told)


def _told(args: argparse.Namespace, of_run: Told | None = None) -> Told:
    """Put together what the options say, and what is known from elsewhere."""
    debug = campaign_text.to_stderr if args.debug else campaign_text.silent
    given = Told(region=args.region, fields=_given(args))
    if args.fetch:
        if not args.build_id or not args.region:
            raise UsageError("gcloud is asked by id and region", hint="add --build-id and --region")
        given = given.laid_over(campaign.fetched(args.build_id, args.region, debug))
    if args.log or args.describe:
        log = None if args.log is None else _log(args.log)
        description = campaign.read_description(args.describe) if args.describe else None
        found = campaign.gathered(
            build_id=args.build_id, region=args.region, log=log, description=description, debug=debug
        )
        given = given.laid_over(found)
    return given if of_run is None else given.laid_over(of_run)


def _log(path: str) -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace") if path == "-" else campaign.read_log(path)


def _given(args: argparse.Namespace) -> dict[str, object]:
    status = (
        args.status.upper()
        if args.status
        else "SUCCESS"
        if args.success
        else "FAILURE"
        if args.failure
        else None
    )
    told: dict[str, object] = {
        "build_id": args.build_id,
        "status": status,
        "success": campaign_builds.succeeded(status),
        "duration_seconds": args.duration,
        "queue_wait_seconds": args.queue,
        "working_seconds": args.working,
        "error": args.error,
        "build_type": args.build_type,
        "machine_type": args.machine_type,
        "spot_price_per_hour": args.price_per_hour if args.price_per_hour is not None else _price(),
    }
    return {key: value for key, value in told.items() if value is not None}


def _price() -> float | None:
    written = os.environ.get(_PRICE_VARIABLE, "")
    try:
        return _usd(written) if written else None
    except argparse.ArgumentTypeError:
        raise UsageError(f"{_PRICE_VARIABLE} is no price: {text.clean(written)}", hint="as in 8.53") from None


def _tell(args: argparse.Namespace, path: Path, told: Told) -> int:
    answer = campaign.settle(path, told)
    if args.json:
        common.print_json(
            {"file": str(path), "region": answer.region, "build": answer.build, "totals": answer.totals}
        )
        return 0
    build = _short(text.clean(str(answer.build["build_id"] or "build")))
    rate = f", {units.format_percent(answer.success_rate)} of those that ended succeeded"
    ended = answer.totals.get("successes") or answer.totals.get("failures")
    count = f"{answer.total_builds} builds" if answer.total_builds != 1 else "1 build"
    where = text.clean(answer.region)
    print(f"{build} {text.clean(str(answer.build['status']))} in {where}: {count}{rate if ended else ''}")
    return 0


def _short(build_id: str) -> str:
    """Cut what is random: the id of a run begins with its time and is another only at its end."""
    is_uuid = len(build_id) == _UUID_LETTERS and build_id.count("-") == _UUID_HYPHENS
    return build_id[:_SHORT_ID] if is_uuid else build_id


def _show(args: argparse.Namespace, path: Path) -> int:
    document = campaign.load(path)
    since = None if args.days is None else campaign_show.days_ago(args.days, time.time())
    regions = campaign_show.regions(document, since=since)
    if args.region is not None:
        regions = [one for one in regions if one.name == args.region]
        if not regions:
            raise UsageError(f"no builds in region {args.region}", hint="see: jobmeter campaign show")
    if args.json:
        common.print_json(
            {
                "file": str(path),
                "campaign_start": _iso(document, "campaign_start"),
                "last_updated": _iso(document, "last_updated"),
                "total_builds_all_regions": document["total_builds_all_regions"],
                "regions": [one.as_record() for one in regions],
            }
        )
        return 0
    if not regions:
        raise UsageError(
            f"no campaign in {path}", hint="begin one: jobmeter campaign record --region NAME --success"
        )
    out = screen.standard_output()
    builds = sum(one.builds for one in regions)
    title = (
        f"{units.format_count(builds)} build{'s' if builds != 1 else ''} since {_day(document, args.days)}"
    )
    out.write(*campaign_table.render(regions, out, title))
    return 0


def _iso(document: dict[str, object], key: str) -> str | None:
    moment = document.get(key)
    return iso_time(moment) if isinstance(moment, int | float) else None


def _day(document: dict[str, object], days: float | None) -> str:
    if days is not None:
        return f"{days:g} days ago"
    return (_iso(document, "campaign_start") or "the beginning")[:10]


def _import(args: argparse.Namespace, path: Path) -> int:
    brought = campaign.import_files(path, args.paths, args.region)
    if args.json:
        builds = [{"region": region, "build_id": build_id} for region, build_id in brought.builds]
        skipped = [{"path": file, "reason": reason} for file, reason in brought.skipped.items()]
        common.print_json({"file": str(path), "builds": builds, "skipped": skipped})
    else:
        for region, build_id in brought.builds:
            print(f"{text.clean(region)}  {text.clean(build_id)}")
        for file, reason in brought.skipped.items():
            print(f"skipped {text.clean(file)}: {text.clean(reason)}", file=sys.stderr)
    return 0 if brought.builds else 2
