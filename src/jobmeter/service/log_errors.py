"""The errors in a job's output, read when somebody asks: nothing of it is kept in the store.

What can mislead: of a stream larger than 64 MiB the first 16 and the last 48 are read, and a warning says how much was
passed over; an inherited file is read as far as the job was seen to write it.
"""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from jobmeter.errors import UsageError, reason_of
from jobmeter.formats import log
from jobmeter.formats.errorlines import ErrorReader
from jobmeter.model.report import LogError
from jobmeter.model.run import LIVE, Run
from jobmeter.model.units import format_bytes
from jobmeter.runfolder import tailer
from jobmeter.service import logs, output_steps

FIRST_BYTES = 16 << 20
LAST_BYTES = 48 << 20
_FEED_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class _Part:
    """Bytes of a stream that belong together."""

    offset: int
    data: bytes


def read(run: Run) -> tuple[LogError, ...]:
    """Read the errors in all outputs of a run, in the order they arrived."""
    found: list[LogError] = []
    for channel in logs.channels(run, output_steps.STREAMS):
        problem = logs.problem(channel) if channel.inherited else None
        found += _of_channel(run, channel) if problem is None else [_lost(channel, problem)]
    if all(error.timestamp is not None for error in found):
        found.sort(key=lambda error: error.timestamp or 0.0)
    return tuple(found)


def _of_channel(run: Run, channel: logs.Channel) -> list[LogError]:
    marks = output_steps.Marks(Path(run.folder or ""), channel.stream, 0)
    end = output_steps.end_of(channel, marks, closed=run.status not in LIVE)
    blocks = tailer.blocks(channel.path.parent, channel.path.name, channel.start)
    errors, cut_bytes = _errors(_limited(blocks, channel.start, end), marks.arrived_at)
    return _with_notice(
        [replace(error, stream=channel.stream) for error in errors], cut_bytes, channel.stream
    )


def read_file(
    path: Path, *, first_bytes: int = FIRST_BYTES, last_bytes: int = LAST_BYTES
) -> tuple[LogError, ...]:
    """Read the errors in the first and the last bytes of a log file, plain or compressed."""
    try:
        errors, cut_bytes = _errors(_file_blocks(path), _unknown, first_bytes, last_bytes)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from None
    return tuple(_with_notice(errors, cut_bytes, None, first_bytes, "errors and steps"))


def _errors(
    blocks: Iterator[tuple[int, bytes]],
    arrived_at: "output_steps.ArrivedAt",
    first_bytes: int = FIRST_BYTES,
    last_bytes: int = LAST_BYTES,
) -> tuple[list[LogError], int]:
    """Feed a reader with the first and the last bytes of a stream; say how many were passed over."""
    reader = ErrorReader()
    last: list[_Part] = []
    held_bytes = cut_bytes = end = 0
    for offset, block in blocks:
        end = offset + len(block)
        if held_bytes == 0 and offset < first_bytes:
            reader.feed(block, arrived_at, offset)
            continue
        last.append(_Part(offset, block))
        held_bytes += len(block)
        while held_bytes - len(last[0].data) >= last_bytes:
            held_bytes -= len(last[0].data)
            cut_bytes += len(last.pop(0).data)
    for part in last:
        reader.feed(part.data, arrived_at, part.offset)
    reader.feed(b"", arrived_at, end, final=True)
    return reader.take(), cut_bytes


def _with_notice(
    errors: list[LogError],
    cut_bytes: int,
    stream: str | None,
    offset: int = FIRST_BYTES,
    what: str = "errors",
) -> list[LogError]:
    if not cut_bytes:
        return errors
    notice = LogError(
        level="WARNING",
        type="jobmeter",
        message=f"{format_bytes(cut_bytes)} in the middle of this output were not searched for {what}",
        fields={"not_searched_bytes": cut_bytes},
        offset=offset,
        stream=stream,
    )
    return sorted([*errors, notice], key=lambda error: error.offset or 0)


def _lost(channel: logs.Channel, problem: str) -> LogError:
    """Say that an output cannot be searched: what it held may be what is asked for."""
    message = f"{channel.stream} went to {channel.path}, which {problem}: it was not searched for errors"
    return LogError(level="WARNING", type="jobmeter", message=message, stream=channel.stream)


def _limited(blocks: Iterator[bytes], start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Cut blocks into portions with their offsets, as far as the stream is the job's."""
    offset = start
    for block in blocks:
        for at in range(0, len(block), _FEED_BYTES):
            portion = block[at : at + _FEED_BYTES][: max(end - offset, 0)]
            if not portion:
                return
            yield offset, portion
            offset += len(portion)


def _file_blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Read a file in portions of UTF-8; a compressed one is read as far as it is sound."""
    if path.suffix == ".gz":
        yield from unpacked(path)
        return
    for block, offset, _ in log.blocks(path):
        for at in range(0, len(block), _FEED_BYTES):
            yield offset + at, block[at : at + _FEED_BYTES]


def unpacked(path: Path) -> Iterator[tuple[int, bytes]]:
    """Read a compressed file in portions with their offsets, as far as it is sound."""
    offset = 0
    with gzip.open(path, "rb") as file:
        while True:
            try:
                block = file.read(_FEED_BYTES)
            except (EOFError, zlib.error, gzip.BadGzipFile):
                return  # cut or garbled: what was read until there counts
            if not block:
                return
            yield offset, block
            offset += len(block)


def _unknown(_offset: int) -> None:
    """Say that nobody knows when a byte arrived."""
