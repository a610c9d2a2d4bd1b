"""Steps out of a job's output: read when indexing, from where the last look stopped, never by the recorder.

A look has patience for so many bytes and seconds, so that a huge log holds nobody up; the next look goes on.
What can mislead: an output whose first 64 MiB hold no step is not searched further.
"""

import json
import math
import os
import stat
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from jobmeter.model.run import Provenance, Run
from jobmeter.model.steps import Step
from jobmeter.model.view import Event
from jobmeter.runfolder import tailer
from jobmeter.service import logs
from jobmeter.stores import Position

INDEX = "output.index"
STREAMS = frozenset(("log", "stdout", "stderr"))
OWN_ORIGIN = Provenance().origin
QUIET_BYTES = 64 << 20
FEED_BYTES = 1 << 17
SAVE_BYTES = 1 << 23
_FAR = 1 << 62
_ONE_LOOK_SECONDS = 0.5
"""Files are looked at one after the other, so marks this near say nothing about which bytes came first."""


@dataclass(slots=True)
class Patience:
    """How much more output may be searched now."""

    seconds_left: float
    bytes_left: int = _FAR

    def is_over(self) -> bool:
        """Tell whether it is time to answer."""
        return self.bytes_left <= 0 or self.seconds_left <= 0

    def spend(self, begun: float, read_bytes: int = 0) -> None:
        """Account for work that was begun at a moment of the monotonic clock."""
        self.seconds_left -= time.monotonic() - begun
        self.bytes_left -= read_bytes


class LineReader(Protocol):
    """What `formats.steplines.LogReader` does; one per stream of text."""

    def feed(
        self, data: bytes, arrived_at: Callable[[int], float | None], offset: int, *, final: bool = False
    ) -> None:
        """Take the bytes that begin at `offset` of the stream."""

    def take(self) -> tuple[list[Step], list[Event]]:
        """Give what became certain since the last take."""

    @property
    def consumed(self) -> int:
        """Say up to which byte of the stream nothing need be fed again."""

    def state(self) -> dict[str, object]:
        """Say what a reader that goes on from `consumed` must know."""


ArrivedAt = Callable[[int], float | None]
"""Say when the byte at an offset arrived."""
MakeReader = Callable[[dict[str, object] | None, LineReader | None], LineReader]
"""Make a reader from a stored state; the other one reads the stream whose bars number this one's rows."""


def line_reader(state: dict[str, object] | None, bars: LineReader | None) -> LineReader:
    """Make the reader of training logs."""
    from jobmeter.formats.steplines import LogReader

    return LogReader(state, bars_of=bars if isinstance(bars, LogReader) else None)


class _State(msgspec.Struct):
    """Where reading of one stream stands."""

    reader: dict[str, object] | None = None
    index_offset: int = 0
    """Where in `output.index` the marks begin that are still needed."""
    found: int = 0
    """How many steps the stream gave."""
    done: bool = False
    """There is nothing more to search."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a stretch of output gave, by stream, and where the next one begins."""

    steps: dict[str, list[Step]]
    events: list[Event]
    until: dict[str, Position]


def position_name(stream: str) -> str:
    """Name the position of a stream among those of files."""
    return f"output:{stream}"


def channels(run: Run) -> list[logs.Channel]:
    """List the outputs that can be searched, stderr first; a file of others or of a later run is not the job's."""
    if run.provenance.origin != OWN_ORIGIN and any(Path(run.folder or "").glob("steps*.jsonl*")):
        return []  # the steps of an imported log were read from this very text
    found = [one for one in logs.channels(run, STREAMS) if not one.inherited or _is_own(one)]
    return sorted(found, key=lambda channel: channel.stream)


def _is_own(channel: logs.Channel) -> bool:
    try:
        status = os.stat(channel.path)
    except OSError:
        return False
    mine = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
    return mine and logs.problem(channel) is None


class OutputReader:
    """Reads on in the outputs of one run; `complete` tells afterwards whether all there is was read."""

    def __init__(self, run: Run, since: Mapping[str, Position], make: MakeReader, *, closed: bool) -> None:
        self.complete = True
        self._closed = closed
        self._streams: list[_Stream] = []
        for channel in channels(run):
            position = since.get(position_name(channel.stream), Position(0))
            # progress bars go to stderr, and number the rows that go to stdout
            bars = self._streams[0].reader if self._streams else None
            self._streams.append(
                _Stream(Path(run.folder or ""), channel, position, make, bars, closed=closed)
            )

    def parts(self, left: Patience) -> Iterator[Part]:
        """Read on while there is patience, a part at a time, the streams in the order their bytes arrived."""
        active = [stream for stream in self._streams if stream.has_more()]
        unsaved = 0
        while active and not left.is_over():
            begun = time.monotonic()
            stream = _next(active)
            taken = stream.read(min(left.bytes_left, self._worth(stream)))
            left.spend(begun, taken)
            unsaved += taken
            if not self._worth(stream):
                stream.state.done = True
            active = [stream for stream in active if stream.has_more()]
            if unsaved >= SAVE_BYTES:
                unsaved = 0
                yield self._part()
        self.complete = not active
        open_streams = [stream for stream in self._streams if not stream.state.done]
        if self.complete and self._closed:
            for stream in open_streams:
                stream.finish()
        if unsaved or (self.complete and self._closed and open_streams):
            yield self._part()

    def _worth(self, stream: "_Stream") -> int:
        """Say how many more bytes of a stream are worth searching: many, once any stream gave a step."""
        found = any(one.state.found for one in self._streams)
        return _FAR if found else max(0, QUIET_BYTES - stream.searched_bytes())

    def _part(self) -> Part:
        taken = {stream.name: stream.take() for stream in self._streams}
        return Part(
            {name: steps for name, (steps, _) in taken.items() if steps},
            [event for _, events in taken.values() for event in events],
            {position_name(stream.name): stream.saved() for stream in self._streams},
        )


def _next(active: Sequence["_Stream"]) -> "_Stream":
    """Choose the stream whose bytes came first; the one with the bars, which stands first, where that is open."""
    first = min(stream.next_arrival() for stream in active)
    return next(stream for stream in active if stream.next_arrival() <= first + _ONE_LOOK_SECONDS)


class _Stream:
    """One output while it is read."""

    def __init__(  # what one output is, where it stands and who reads it
        self,
        folder: Path,
        channel: logs.Channel,
        since: Position,
        make: MakeReader,
        bars: LineReader | None,
        *,
        closed: bool,
    ) -> None:
        self.name = channel.stream
        self.state = msgspec.json.decode(since.state, type=_State) if since.state else _State()
        self.reader = make(self.state.reader, bars)
        self._channel = channel
        self._marks = Marks(folder, channel.stream, self.state.index_offset)
        self._position = max(since.offset, channel.start)
        self._end = end_of(channel, self._marks, closed=closed)
        self._blocks = tailer.blocks(channel.path.parent, channel.path.name, self._position)
        self._block = memoryview(b"")
        self._steps: list[Step] = []
        self._events: list[Event] = []

    def has_more(self) -> bool:
        """Look whether there are bytes to search."""
        if self.state.done or self._position >= self._end:
            return False
        if not self._block:
            self._block = memoryview(next(self._blocks, b""))
        return bool(self._block)

    def next_arrival(self) -> float:
        """Say when the next byte arrived."""
        moment = self._marks.arrived_at(self._position)
        return math.inf if moment is None else moment

    def searched_bytes(self) -> int:
        """Say how much of it was searched, now and before."""
        return self._position - self._channel.start

    def read(self, most_bytes: int) -> int:
        """Take one slice in; returns how many bytes it had."""
        size = min(len(self._block), FEED_BYTES, self._end - self._position, most_bytes)
        data, self._block = bytes(self._block[:size]), self._block[size:]
        self._feed(data)
        self._position += size
        return size

    def _feed(self, data: bytes, *, final: bool = False) -> None:
        self.reader.feed(data, self._marks.arrived_at, self._position, final=final)
        steps, events = self.reader.take()
        self.state.found += len(steps)
        self._steps += steps
        self._events += events

    def take(self) -> tuple[list[Step], list[Event]]:
        """Give what was found since the last time."""
        steps, events = self._steps, self._events
        self._steps, self._events = [], []
        return steps, events

    def finish(self) -> None:
        """Nothing follows."""
        self._feed(b"", final=True)
        self.state.done = True

    def saved(self) -> Position:
        """Say where the next look goes on."""
        self.state.reader = None if self.state.done else self.reader.state()
        self.state.index_offset = self._marks.needed_from(self.reader.consumed)
        text = json.dumps(msgspec.to_builtins(self.state), separators=(",", ":"))
        return Position(self.reader.consumed, 0, text)


def end_of(channel: logs.Channel, marks: "Marks", *, closed: bool) -> int:
    """Say how far a stream may be read: as far as arrival is known; all of a captured one that is closed."""
    if closed and not channel.inherited:
        return _FAR
    # behind the last byte the job was seen to write, a file of the user's own is not the job's
    return marks.last_offset if channel.end is None else min(marks.last_offset, channel.end)


class Marks:
    """When bytes of a stream arrived, from where they are still needed on."""

    def __init__(self, folder: Path, stream: str, index_offset: int) -> None:
        self._offsets: list[int] = []
        self._times: list[float] = []
        self._places: list[int] = []
        self._end = index_offset
        for piece in tailer.pieces(folder, INDEX, index_offset):
            place = self._end
            for line in piece.lines:
                self._take(line, stream, place)
                place += len(line) + 1
            self._end = piece.end

    def _take(self, line: bytes, stream: str, place: int) -> None:
        try:
            named, offset, moment = _decode_mark(line)
        except ValueError:
            return  # garbage costs a time, not the output
        if named == stream and (not self._offsets or offset > self._offsets[-1]):
            self._offsets.append(offset)
            self._times.append(moment.timestamp())
            self._places.append(place)

    @property
    def last_offset(self) -> int:
        """Say how far the job was seen to write."""
        return self._offsets[-1] if self._offsets else 0

    def arrived_at(self, offset: int) -> float | None:
        """Say when the byte at an offset was there; None where that is not known."""
        place = bisect_right(self._offsets, offset)
        return self._times[place] if place < len(self._times) else None

    def needed_from(self, offset: int) -> int:
        """Say where in the index the first mark stands that later bytes need."""
        place = bisect_right(self._offsets, offset)
        return self._places[place] if place < len(self._places) else self._last_place()

    def _last_place(self) -> int:
        """Keep the last mark in sight: it says how far the job was seen to write."""
        return self._places[-1] if self._places else self._end


_decode_mark = msgspec.json.Decoder(tuple[str, int, datetime]).decode
