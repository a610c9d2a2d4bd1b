"""The job's output read back: captured in the folder, or inherited as a file of the user's own.

Two captured streams are put in order by the arrival times of `output.index`, so their order is as good as
ten looks a second. What can mislead: an inherited file is not ours; it may be gone, cut, overwritten or appended
to by others since. Where it is known how far the job wrote, nothing past that is shown; where it is known what the
job wrote last, a file that holds something else there is refused.
"""

import gzip
import json
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from jobmeter.model import sync
from jobmeter.model.run import LIVE, PROOF_BYTES, Output, Run
from jobmeter.runfolder import reader, tailer

BLOCK_BYTES = 1 << 18
IMPORTED = "imported.json"
"""In a folder that came out of a bundle: paths that its records name are another machine's."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One stream and the part of a file that holds it."""

    stream: str
    path: Path
    start: int
    inherited: bool
    end: int | None = None
    crc32: int | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes of one channel that arrived together; without a time where the index has none."""

    channel: Channel
    start: int
    end: int
    timestamp: str | None


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of the job's output."""

    stream: str
    data: bytes
    timestamp: str | None


def channels(run: Run, streams: frozenset[str]) -> list[Channel]:
    """Find where the wanted streams are kept; two streams in one file are one channel."""
    if run.folder is None:
        return []
    folder = Path(run.folder)
    found = [
        _channel(folder, output)
        for output in run.outputs
        if output.stream in streams and (output.mode == "inherited" or "/" not in output.path)
    ]
    if not run.outputs:
        # the recorder was killed before it wrote its context: what is in the folder was captured
        found = [Channel(stream, folder / stream, 0, inherited=False) for stream in sorted(streams)]
    unique = {channel.path: channel for channel in reversed(found)}
    return [channel for channel in reversed(unique.values()) if channel.inherited or _is_kept(channel.path)]


def _channel(folder: Path, output: Output) -> Channel:
    if output.mode != "inherited":
        return Channel(output.stream, folder / output.path, output.offset, inherited=False)
    if any((folder / name).exists() for name in (sync.MARKER, IMPORTED)):
        # the path is another machine's: here it may be anybody's file, and only what was sent is the job's
        return Channel(output.stream, folder / output.stream, 0, inherited=False)
    return Channel(
        output.stream,
        folder / output.path,
        output.offset,
        inherited=True,
        end=output.end,
        crc32=output.crc32,
    )


def problem(channel: Channel) -> str | None:
    """Say why an inherited output can no longer be read as the job's."""
    size_bytes = _size(channel.path)
    if size_bytes is None:
        return "is gone or cannot be read"
    if size_bytes < channel.start:
        return "is shorter than when the job began: it was replaced or cut"
    if _is_overwritten(channel):
        return "was overwritten since: its lines are not this run's"
    return None


def _is_overwritten(channel: Channel) -> bool:
    """Compare the last bytes of the job with what stands in their place."""
    if channel.end is None or channel.crc32 is None:
        return False  # a run that was lost proved nothing
    first = max(channel.start, channel.end - PROOF_BYTES)
    try:
        with _open(channel.path) as file:
            proof = os.pread(file.fileno(), max(0, channel.end - first), first)
    except OSError:
        return True  # gone since it was looked for
    return zlib.crc32(proof) != channel.crc32


def is_live(run: Run) -> bool:
    """Ask the folder whether the run still goes on."""
    return run.folder is not None and reader.read_run(Path(run.folder)).status in LIVE


class LogReader:
    """Reads channels from where it left off; call `read` again as the job writes on."""

    def __init__(self, run: Run, wanted: list[Channel]) -> None:
        self._folder = Path(run.folder or "")
        self._files = {channel: _open(channel.path) for channel in wanted}
        self._position = {channel: channel.start for channel in wanted}
        self._index_offset = 0
        self._marks: dict[Channel, list[tuple[int, str]]] = {channel: [] for channel in wanted}

    def close(self) -> None:
        """Give the files back."""
        for file in self._files.values():
            file.close()

    def read(self, *, live: bool, only_stamped: bool = False) -> Iterator[Piece]:
        """Yield what is new, in order of arrival; `only_stamped` leaves bytes without a time for later."""
        for segment in self._segments(live=live):
            if only_stamped and segment.timestamp is None:
                continue
            for data in self._blocks(segment):
                self._position[segment.channel] += len(data)
                yield Piece(segment.channel.stream, data, segment.timestamp)

    def skip_to_last(self, line_count: int, *, live: bool) -> None:
        """Leave out all but the last lines of what is there."""
        segments = self._segments(live=live)
        first, offset = self._start_of_last(segments, line_count)
        for segment in segments[:first]:
            self._position[segment.channel] = segment.end
        if first < len(segments):
            self._position[segments[first].channel] = offset

    def _start_of_last(self, segments: list[Segment], line_count: int) -> tuple[int, int]:
        """Find the segment and the offset in it where the last lines begin."""
        if line_count <= 0:
            return len(segments), 0
        wanted = line_count + 1  # the newline before the first line that is wanted
        at_end = True
        for number in range(len(segments) - 1, -1, -1):
            segment = segments[number]
            end = segment.end
            while end > segment.start:
                begin = max(segment.start, end - BLOCK_BYTES)
                block = self._read(segment, begin, end - begin)
                if at_end and not block.endswith(b"\n"):
                    wanted -= 1  # the last line has no newline of its own
                at_end = False
                seen = block.count(b"\n")
                if seen >= wanted:
                    return number, begin + _nth_last(block, wanted) + 1
                wanted -= seen
                end = begin
        return 0, segments[0].start if segments else 0

    def _blocks(self, segment: Segment) -> Iterator[bytes]:
        at = segment.start
        while at < segment.end:
            data = self._read(segment, at, min(BLOCK_BYTES, segment.end - at))
            if not data:
                return  # cut while being read
            at += len(data)
            yield data

    def _read(self, segment: Segment, offset: int, length: int) -> bytes:
        return os.pread(self._files[segment.channel].fileno(), length, offset)

    def _segments(self, *, live: bool) -> list[Segment]:
        """Cut what is new at the marks of the index and put the parts in order of arrival."""
        self._read_index()
        indexed = self._index_offset > 0
        stamped: list[Segment] = []
        rest: list[Segment] = []
        for channel, file in self._files.items():
            begin = self._position[channel]
            size_bytes = os.fstat(file.fileno()).st_size
            if channel.end is not None:
                size_bytes = min(size_bytes, channel.end)
            marks = self._marks[channel]
            for offset, timestamp in marks:
                if begin < offset <= size_bytes:
                    stamped.append(Segment(channel, begin, offset, timestamp))
                    begin = offset
            # what stands in a file of the user's own behind the last byte the job was seen to write is not the job's
            others_may_write = channel.inherited and indexed and not live
            if begin < size_bytes and not others_may_write:
                rest.append(Segment(channel, begin, size_bytes, None))
        stamped.sort(key=lambda segment: segment.timestamp or "")
        return stamped + rest

    def _read_index(self) -> None:
        by_stream = {channel.stream: channel for channel in self._files}
        for piece in tailer.pieces(self._folder, "output.index", self._index_offset):
            self._index_offset = piece.end
            for line in piece.lines:
                mark = _mark(line)
                if mark is not None and mark[0] in by_stream:
                    self._marks[by_stream[mark[0]]].append((mark[1], mark[2]))


def _mark(line: bytes) -> tuple[str, int, str] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None  # garbage costs a time, not the output
    match found:
        case [str() as stream, int() as offset, str() as timestamp]:
            return stream, offset, timestamp
        case _:
            return None


def _nth_last(block: bytes, count: int) -> int:
    at = len(block)
    for _ in range(count):
        at = block.rindex(b"\n", 0, at)
    return at


def _open(path: Path) -> BinaryIO:
    """Open what holds a stream; one compressed since is unpacked into a file without a name."""
    packed = path.with_name(f"{path.name}.gz")
    if path.exists() or not packed.exists():
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb", buffering=0)
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the reader
    # cut or garbled on disk: what was read until there is shown
    with gzip.open(packed, "rb") as source, suppress(EOFError, zlib.error, gzip.BadGzipFile):
        shutil.copyfileobj(source, unpacked, BLOCK_BYTES)
    unpacked.flush()
    return unpacked


def _is_kept(path: Path) -> bool:
    return _size(path) is not None or _size(path.with_name(f"{path.name}.gz")) is not None


def _size(path: Path) -> int | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK) else None
