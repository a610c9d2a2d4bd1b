"""Show what a job printed."""

import argparse
import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing

from jobmeter.cli import common
from jobmeter.cli.render import screen
from jobmeter.cli.render.logtext import TerminalText
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.model.run import LIVE, Run
from jobmeter.service import logs, runs

Line = tuple[str, bytes, str | None]
"""Stream, bytes without the newline, and when they came."""

FOLLOW_SECONDS = 0.2
LONGEST_LINE_BYTES = 1 << 20
"""A longer line is shown in pieces, so that one without an end needs no memory without an end."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_run(parser)
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run ends")
    parser.add_argument("-n", "--lines", type=int, metavar="LINES", help="only the last LINES lines")
    parser.add_argument(
        "-t", "--timestamps", action="store_true", help="begin every line with when it arrived (UTC)"
    )
    stream = parser.add_mutually_exclusive_group()
    stream.add_argument("--stdout", action="store_true", help="only stdout")
    stream.add_argument("--stderr", action="store_true", help="only stderr")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Print the job's output: exact bytes into a file or pipe, safe text on a terminal."""
    run = runs.find(common.home_of(args), args.run)
    if args.lines is not None and args.lines < 0:
        raise UsageError(f"-n needs a number of lines from 0 up, not {args.lines}")
    streams = frozenset(
        ("stdout",) if args.stdout else ("stderr",) if args.stderr else ("stdout", "stderr", "log")
    )
    wanted = logs.channels(run, streams)
    readable = [channel for channel in wanted if not _complain(channel)]
    if not wanted:
        print(
            f"jobmeter: no {' or '.join(sorted(streams - {'log'}))} was captured for this run",
            file=sys.stderr,
        )
    if wanted and not readable:
        raise UsageError("nothing of this run's output can be read any more")
    with closing(logs.LogReader(run, readable)) as reader:
        _print(reader, run, args)
    return 0


def _print(reader: logs.LogReader, run: Run, args: argparse.Namespace) -> None:
    live = run.status in LIVE
    if args.lines is not None:
        reader.skip_to_last(args.lines, live=live)
    by_line = args.timestamps or args.json
    pieces = _follow(reader, run, only_stamped=by_line) if args.follow and live else reader.read(live=live)
    if not by_line:
        _print_bytes(pieces)
        return
    found = _lines(pieces)
    # two streams may have met within one line: counted by line there are more than were skipped to
    last = found if args.follow or args.lines is None else iter(deque(found, maxlen=args.lines))
    _print_lines(last, as_json=args.json)


def _complain(channel: logs.Channel) -> bool:
    problem = logs.problem(channel) if channel.inherited else None
    if problem is not None:
        print(
            f"jobmeter: {channel.stream} went to {text.clean(str(channel.path))}, which {problem}",
            file=sys.stderr,
        )
    return problem is not None


def _follow(reader: logs.LogReader, run: Run, *, only_stamped: bool) -> Iterator[logs.Piece]:
    live = True
    while live:
        live = logs.is_live(run)  # asked before reading: what comes after the end was read still comes
        yield from reader.read(live=live, only_stamped=only_stamped and live)
        sys.stdout.flush()
        if live:
            time.sleep(FOLLOW_SECONDS)


def _print_bytes(pieces: Iterator[logs.Piece]) -> None:
    out = sys.stdout
    if not out.isatty():
        for piece in pieces:
            out.buffer.write(piece.data)
        return
    safe = TerminalText(colour=screen.standard_output().colour)
    for piece in pieces:
        out.write(safe.feed(piece.data))
    out.write(safe.finish())


def _print_lines(found: Iterator[Line], *, as_json: bool) -> None:
    shown = screen.standard_output()
    for stream, line, timestamp in found:
        if as_json:
            record = {
                "timestamp": timestamp,
                "stream": stream,
                "text": line.decode("utf-8", "surrogateescape"),
            }
            shown.write(json.dumps({key: value for key, value in record.items() if value is not None}))
            continue
        safe = TerminalText(colour=shown.colour)
        body = safe.feed(line) + safe.finish()
        shown.write(f"{timestamp or ' ' * 24} {body}")


def _lines(pieces: Iterator[logs.Piece]) -> Iterator[Line]:
    """Put each stream's pieces together into whole lines; a line has the time its last byte came."""
    begun: dict[str, bytes] = {}
    stamps: dict[str, str | None] = {}
    for piece in pieces:
        *whole, rest = (begun.get(piece.stream, b"") + piece.data).split(b"\n")
        for line in whole:
            yield piece.stream, line, piece.timestamp
        if len(rest) > LONGEST_LINE_BYTES:
            yield piece.stream, rest, piece.timestamp
            rest = b""
        begun[piece.stream], stamps[piece.stream] = rest, piece.timestamp
    for stream, rest in begun.items():
        if rest:
            yield stream, rest, stamps[stream]
