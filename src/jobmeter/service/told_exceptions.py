"""Exceptions that the SDK told of, read as their tracebacks would be: a training of which no output was captured is
judged like any other. What the output shows already is not told twice."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from jobmeter.formats.errorlines import ErrorReader
from jobmeter.model.report import LogError
from jobmeter.model.view import Event

KIND = "exception"
SOURCE = f"event {KIND}"
"""Where such an error stands: in no stream."""
_MASK = "[redacted]"
_COMPARED_LETTERS = 200


def errors(
    events: Iterable[Event], printed: Iterable[LogError], *, is_alone: bool = False
) -> Iterator[LogError]:
    """Give an error for every exception that none of the printed ones is; of a process alone its rank says nothing."""
    shown = [error.traceback or error.message for error in printed]
    seen: set[str] = set()
    for event in events:
        kind, text = event.details.get("type"), event.details.get("text", "")
        if event.type != KIND or not isinstance(kind, str) or not isinstance(text, str):
            continue
        words = _words(kind, text)
        # the last of a chain in a traceback, with its module before its name: it is looked for anywhere
        if words not in seen and not any(words in text for text in shown):
            seen.add(words)
            found = _read(event, _traceback(kind, text, event.details.get("where")))
            yield from (replace(error, ranks=() if is_alone else error.ranks) for error in found)


def _words(kind: str, text: str) -> str:
    """Give what is surely printed of an exception: its first line, up to what was redacted when it was told."""
    line = text.partition("\n")[0].partition(_MASK)[0][:_COMPARED_LETTERS].rstrip()
    return f"{kind}: {line}" if text else kind


def _read(event: Event, text: str) -> Iterator[LogError]:
    reader = ErrorReader()
    reader.feed(text.encode("utf-8", "surrogatepass"), lambda _offset: event.timestamp, 0, final=True)
    for error in reader.take():
        ranks = () if event.rank is None else (event.rank,)
        yield replace(error, stream=SOURCE, offset=None, timestamp=event.timestamp, ranks=ranks)


def _traceback(kind: str, text: str, where: object) -> str:
    """Write an exception down as Python does; `where` is `file:line in function`."""
    place, _, function = where.rpartition(" in ") if isinstance(where, str) else ("", "", "")
    file, _, line = place.rpartition(":")
    frame = f'  File "{file}", line {line}, in {function}\n' if line.isdecimal() else ""
    return f"Traceback (most recent call last):\n{frame}{kind}{': ' if text else ''}{text}\n"
