"""A job's output page by page, as a browser asks for it: from an offset, the last lines, or lines with a text.

Every page begins at the beginning of a line: one that began elsewhere would show the second half of a secret whose
first half tells that it is one. Lines are redacted when they are served, and a search looks at what is shown, so that
it cannot be used to guess what is not. No page reads more than `READ_BYTES`, however long the stream or its lines.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from jobmeter.config import redaction
from jobmeter.errors import UsageError, reason_of
from jobmeter.model.log_page import LogLine, LogPage
from jobmeter.model.moments import iso_time
from jobmeter.model.run import LIVE, Run
from jobmeter.service import log_bytes, log_marks, logs
from jobmeter.service.log_bytes import StreamBytes
from jobmeter.service.logs import Channel

STREAMS = ("stdout", "stderr", "log")
DEFAULT_LINES = 1_000
MOST_LINES = 10_000
PAGE_BYTES = 1 << 20
READ_BYTES = 64 << 20
"""How much one search, one very long line or the counting of lines may read."""
LOOK_BACK_BYTES = 1 << 20
LONGEST_LINE = 1 << 14
LONGEST_SEARCH = 1_000
_KEY_BYTES = 1 << 14
"""A private key is no longer than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of a stream."""

    stream: str | None = None
    offset: int = 0
    limit: int = DEFAULT_LINES
    search: str | None = None
    """Only lines with this text; ASCII letters match in both cases."""
    tail: int | None = None
    """The last so many lines, in place of an offset."""
    at: float | None = None
    """The last line that had come by a moment, in place of an offset."""


def page(run: Run, wanted: Wanted) -> LogPage:
    """Read one page of a run's output."""
    _check(wanted)
    found = {channel.stream: channel for channel in logs.channels(run, frozenset(STREAMS))}
    streams = tuple(stream for stream in STREAMS if stream in found)
    if wanted.stream is None and streams:
        wanted = replace(wanted, stream=streams[0])
    channel = found.get(wanted.stream or "")
    if channel is None:
        return _empty(run, None, streams, _missing(wanted.stream, streams))
    problem = logs.problem(channel) if channel.inherited else None
    if problem is not None:
        return _empty(run, channel.stream, streams, f"its file {problem}")
    try:
        with log_bytes.opened(channel) as stream:
            return _Reading(run, channel, stream, streams).page(wanted)
    except OSError as error:
        return _empty(run, channel.stream, streams, f"its file cannot be read: {reason_of(error)}")


def _check(wanted: Wanted) -> None:
    if wanted.stream is not None and wanted.stream not in STREAMS:
        raise UsageError("there is no such stream", hint=f"use one of {', '.join(STREAMS)}")
    if wanted.offset < 0:
        raise UsageError(
            f"an offset counts from 0, not {wanted.offset}", hint="take `next` of the page before"
        )
    for name, number in (("limit", wanted.limit), ("tail", wanted.tail)):
        if number is not None and not 1 <= number <= MOST_LINES:
            raise UsageError(f"{name} is a number of lines, not {number}", hint=f"use 1 to {MOST_LINES}")
    if wanted.search is not None and not 0 < len(wanted.search) <= LONGEST_SEARCH:
        raise UsageError("a search needs some text, but not a book", hint=f"1 to {LONGEST_SEARCH} letters")
    if wanted.search is not None and wanted.tail is not None:
        raise UsageError("search and tail exclude each other", hint="search from an offset")
    if wanted.at is not None and wanted.tail is not None:
        raise UsageError("at and tail exclude each other", hint="ask for the one or the other")


def _missing(asked: str | None, streams: tuple[str, ...]) -> str:
    if asked is None:
        return "no output of this run was captured"
    return f"no {asked} was captured" + (f"; there is {', '.join(streams)}" if streams else "")


def _empty(run: Run, stream: str | None, streams: tuple[str, ...], reason: str) -> LogPage:
    return LogPage(
        run_id=run.run_id,
        stream=stream,
        streams=streams,
        begin=0,
        next=0,
        size_bytes=0,
        lines=(),
        tail=None,
        complete=run.status not in LIVE,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class _Span:
    """Where a line stands, and the beginning of its bytes."""

    begin: int
    end: int
    """Behind its newline."""
    head: bytes
    is_whole: bool


class _Reading:
    """One page being read."""

    def __init__(self, run: Run, channel: Channel, stream: StreamBytes, streams: tuple[str, ...]) -> None:
        self._run = run
        self._channel = channel
        self._stream = stream
        self._streams = streams
        self._live = run.status in LIVE

    def page(self, wanted: Wanted) -> LogPage:
        size_bytes = self._stream.size_bytes
        begin, is_line = self._begin(wanted)
        spans, reached = self._found(begin, wanted) if is_line else ([], begin)
        # of a stream that nobody writes every page has something, unless its bytes cannot be unpacked
        is_damaged = is_line and not self._live and reached == begin < size_bytes
        return LogPage(
            run_id=self._run.run_id,
            stream=self._channel.stream,
            streams=self._streams,
            begin=begin,
            next=reached,
            size_bytes=size_bytes,
            lines=tuple(self._lines(begin, spans)),
            tail=self._tail(reached, is_line=is_line),
            complete=is_damaged or (reached >= size_bytes and not self._live),
            reason="its file is damaged from here on" if is_damaged else None,
        )

    def _begin(self, wanted: Wanted) -> tuple[int, bool]:
        """Find where a page begins, and say whether a line does: behind one that began too far back, if it ends."""
        if wanted.tail is not None:
            begin = self._stream.last_lines(wanted.tail, PAGE_BYTES)
            return begin, begin < self._stream.size_bytes
        offset = min(self._offset(wanted), self._stream.size_bytes)
        start = self._stream.line_start(offset, LOOK_BACK_BYTES)
        return (start, True) if start is not None else self._stream.line_end(offset, READ_BYTES)

    def _offset(self, wanted: Wanted) -> int:
        """Say where to begin: of a moment with the last byte that had come by then."""
        if wanted.at is None:
            return wanted.offset
        folder, moment = Path(self._run.folder or os.curdir), iso_time(wanted.at)
        reached = None if moment is None else log_marks.reached(folder, self._channel.stream, moment)
        return max(0, (reached or 0) - self._channel.start - 1)

    def _found(self, begin: int, wanted: Wanted) -> tuple[list[_Span], int]:
        limit = wanted.limit if wanted.tail is None else wanted.tail
        if wanted.search is None:
            return self._spans(begin, limit)
        return self._matching(begin, limit, wanted.search)

    def _spans(self, begin: int, limit: int) -> tuple[list[_Span], int]:
        """Cut a part of the stream into lines: as many as fit on a page, and at least one."""
        block = self._stream.read(begin, PAGE_BYTES)
        found: list[_Span] = []
        at = 0
        while len(found) < limit:
            newline = block.find(b"\n", at)
            if newline < 0:
                break
            found.append(_Span(begin + at, begin + newline + 1, block[at:newline], is_whole=True))
            at = newline + 1
        reached = begin + at
        if len(found) < limit and begin + len(block) >= self._stream.size_bytes:
            return self._with_rest(found, reached, block[at:])
        if not found:
            return self._one_long(begin, block)
        return found, reached

    def _with_rest(self, found: list[_Span], reached: int, rest: bytes) -> tuple[list[_Span], int]:
        """Add a last line without a newline once nobody writes on; till then it is the tail."""
        if not rest or self._live:
            return found, reached
        end = reached + len(rest)
        return [*found, _Span(reached, end, rest, is_whole=True)], end

    def _one_long(self, begin: int, head: bytes) -> tuple[list[_Span], int]:
        """Show the beginning of a line longer than a page, and go on behind it."""
        end, is_ended = self._stream.line_end(begin, READ_BYTES)
        if self._live and not is_ended and end >= self._stream.size_bytes:
            return [], begin
        return ([_Span(begin, end, head, is_whole=False)] if end > begin else []), end

    def _matching(self, begin: int, limit: int, search: str) -> tuple[list[_Span], int]:
        """Find lines with a text; what is hidden is not found."""
        found: list[_Span] = []
        at, stop = begin, begin + READ_BYTES
        while at < stop and len(found) < limit:
            spans, reached = self._candidates(at, search)
            for span in spans:
                if self._shows(span, search):
                    found.append(span)
                if len(found) == limit:
                    return found, span.end
            if reached <= at:
                break
            at = reached
        return found, at

    def _candidates(self, begin: int, search: str) -> tuple[list[_Span], int]:
        """Cut out of a block the lines whose bytes hold the text."""
        block = self._stream.read(begin, PAGE_BYTES)
        last = block.rfind(b"\n") + 1
        if begin + len(block) >= self._stream.size_bytes and not self._live:
            last = len(block)  # the last line has no newline and never gets one
        if last == 0:
            return self._one_long(begin, block)
        lowered, wanted = block[:last].lower(), search.encode("utf-8", "surrogatepass").lower()
        found, at = [], 0
        while (place := lowered.find(wanted, at)) >= 0:
            start = block.rfind(b"\n", 0, place) + 1
            newline = block.find(b"\n", place, last)
            end = last if newline < 0 else newline + 1
            found.append(_Span(begin + start, begin + end, block[start:end].rstrip(b"\n"), is_whole=True))
            at = end
        return found, begin + last

    def _shows(self, span: _Span, search: str) -> bool:
        text, _ = self._text(span, in_key=self._is_in_key(span.begin))
        return _folded(search) in _folded(text)

    def _lines(self, begin: int, spans: list[_Span]) -> Iterator[LogLine]:
        if not spans:
            return
        start = self._channel.start
        marks = log_marks.between(
            Path(self._run.folder or os.curdir),
            self._channel.stream,
            start + spans[0].begin,
            start + spans[-1].end,
        )
        number = self._number(begin)
        at, in_key = begin, self._is_in_key(begin)
        for span in spans:
            if span.begin != at:  # lines between two that match are not shown
                number = None if number is None else number + self._newlines(at, span.begin)
                in_key = self._is_in_key(span.begin)
            text, is_cut = self._text(span, in_key=in_key)
            yield LogLine(
                offset=span.begin,
                text=text,
                number=number,
                timestamp=log_marks.moment(marks, start + span.end),
                cut=is_cut or not span.is_whole,
            )
            number = None if number is None else number + 1
            at, in_key = span.end, _in_key_after(span.head, in_key)

    def _text(self, span: _Span, *, in_key: bool) -> tuple[str, bool]:
        if not in_key:
            return _shown(span.head)
        # the last of a key may stand before its end on one line
        end = span.head.find(b"-----END")
        if end <= 0:
            return (redaction.REDACTED, False) if end < 0 else _shown(span.head)
        text, is_cut = _shown(span.head[end:])
        return redaction.REDACTED + text, is_cut

    def _number(self, begin: int) -> int | None:
        return 1 + self._newlines(0, begin) if begin <= READ_BYTES else None

    def _newlines(self, begin: int, end: int) -> int:
        return sum(block.count(b"\n") for _, block in self._stream.blocks(begin, end))

    def _is_in_key(self, begin: int) -> bool:
        """Tell whether a line stands inside a private key that began before."""
        first = max(0, begin - _KEY_BYTES)
        return _in_key_after(self._stream.read(first, begin - first), was=False)

    def _tail(self, reached: int, *, is_line: bool) -> str | None:
        """Give the last line as far as it is written: of a bar that writes itself anew, what it shows now."""
        size_bytes = self._stream.size_bytes
        if not self._live or (is_line and reached >= size_bytes) or size_bytes - reached > READ_BYTES:
            return None
        first = max(reached if is_line else 0, size_bytes - LONGEST_LINE)
        rest = self._stream.read(first, LONGEST_LINE)
        if b"\n" in rest or self._is_in_key(reached):
            return None  # more whole lines came than one page holds
        if (not is_line or first > reached) and b"\r" not in rest.rstrip(b"\r"):
            return None  # the middle of a line: what it belongs to is not known
        return _shown(rest)[0]


def _in_key_after(text: bytes, was: bool) -> bool:
    """Tell whether a private key goes on behind some text."""
    begin, end = text.rfind(b"-----BEGIN"), text.rfind(b"-----END")
    if begin < 0:
        return was and end < 0
    return end < begin and b"PRIVATE KEY" in text[begin : begin + 120]


def _shown(line: bytes) -> tuple[str, bool]:
    """Write a line as a terminal would leave it, without secrets and bytes that are no text; and say if it is cut."""
    visible = line.rstrip(b"\r").rpartition(b"\r")[2]
    text = redaction.redact_text(visible[: 4 * LONGEST_LINE].decode("utf-8", "backslashreplace"))
    return text[:LONGEST_LINE], len(text) > LONGEST_LINE


def _folded(text: str) -> str:
    """Lower ASCII letters only, as the search over bytes does."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)
