"""Collect what the ranks of a job on many hosts tell: `jobmeter collect --job J --ranks hosts.toml`.

hosts.toml names a target for every rank: a folder here, ssh://user@host/folder or http://host/folder:

    [ranks]
    "0-7" = "ssh://node1/data/job"
    "8-15" = "ssh://node2/data/job"

Each look reads metrics_rank<N>.jsonl or training_metrics.json, else the log, and asks nvidia-smi. The run folder
holds the steps of all ranks. Ctrl-C ends the collection, not the job.
"""

import argparse
import dataclasses
import sys
from collections.abc import Sequence

from jobmeter.cli import common
from jobmeter.cli.render import spans
from jobmeter.config import options
from jobmeter.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--job", metavar="ID", required=True, help="the job's id; joins the recorders of one job"
    )
    parser.add_argument("--ranks", metavar="FILE", required=True, help="hosts.toml: a target for every rank")
    parser.add_argument(
        "--interval", metavar="SECONDS", help="time between two looks (default: hosts.toml, else 5)"
    )
    parser.add_argument("--duration", metavar="SECONDS", help="end after this long (default: until Ctrl-C)")
    parser.add_argument("-q", "--quiet", action="store_true", help="do not tell what happens meanwhile")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Collect, then say what was found."""
    from jobmeter.service import collecting

    if not args.job.strip():
        raise UsageError("--job needs a name")
    wish = collecting.Wish(
        job_id=args.job,
        ranks_file=args.ranks,
        command=["jobmeter", *sys.argv[1:]],
        interval_seconds=_seconds("--interval", args.interval),
        duration_seconds=_seconds("--duration", args.duration),
    )
    quiet = args.quiet or args.json
    collected = collecting.collect(common.home_of(args), wish, say=_silence if quiet else _say)
    if args.json:
        common.print_json(dataclasses.asdict(collected))
        return 0
    found = ", ".join(f"{count} {kind}" for kind, count in sorted(collected.events.items()))
    print(f"{collected.run_id}  {collected.steps} steps{f', {found}' if found else ''}")
    print(_seen(collected.ranks, collected.never_seen))
    return 0


def _seen(ranks: Sequence[int], never: Sequence[int]) -> str:
    if not never:
        return f"ranks {spans.written(ranks)}"
    told = (
        f"ranks {spans.written(ranks)} of {len(ranks) + len(never)}" if ranks else f"no rank of {len(never)}"
    )
    return f"{told}; never seen: {spans.written(never)}"


def _seconds(flag: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return options.seconds(text)
    except ValueError as error:
        raise UsageError(f"{flag} {text}: {error}") from None


def _say(sentence: str) -> None:
    try:
        print(f"jobmeter: {sentence}", file=sys.stderr, flush=True)
    except OSError:
        return  # nobody listens any more, which is no reason to stop collecting


def _silence(_: str) -> None:
    return
