"""Silences: times in which alerts are noted but not told. One file in the home, for the server and for every job.

`silences.jsonl` only grows: a silence is a line, its end another. It is not in `server.db`, because jobs without a
server, on other machines that share the home, obey it too.
"""

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from jobmeter.errors import UnknownError, UsageError, reason_of
from jobmeter.model.alert import Silence
from jobmeter.model.moments import iso_time
from jobmeter.model.query import Filter
from jobmeter.runfolder import lines, tailer
from jobmeter.service import filters, lifecycle

FILE = "silences.jsonl"
LONGEST_SECONDS = 366 * 86_400.0
_LONGEST_TEXT = 1000


def new(
    where: str, *, seconds: float, now: float, rules: Sequence[str] = (), comment: str = "", by: str = ""
) -> Silence:
    """Make a silence from now on, for so long; refuse what makes none."""
    if where.strip():
        filters.parse(where, now=now)
    if not 0 < seconds <= LONGEST_SECONDS:
        raise UsageError("a silence lasts more than nothing and at most a year", hint="as in 2h, 3d")
    if max(map(len, (where, comment, *rules))) > _LONGEST_TEXT:
        raise UsageError(f"a text of a silence is longer than {_LONGEST_TEXT} letters", hint="shorten it")
    return Silence(
        id=secrets.token_hex(4),
        where=where.strip(),
        begin=now,
        until=now + seconds,
        rules=tuple(rules),
        comment=comment,
        by=by,
    )


def add(home: str, silence: Silence) -> None:
    """Keep a silence."""
    record = {"type": "silence", **silence.as_record(silence.begin)}
    record.pop("active")
    _append(home, record)


def remove(home: str, silence_id: str, *, now: float) -> Silence:
    """End a silence early."""
    known = {one.id: one for one in read(home) if one.until > now}
    if silence_id not in known:
        hint = f"there are {', '.join(known)}" if known else "there is none"
        raise UnknownError(f"no silence {silence_id[:40]} holds", hint=hint)
    _append(home, {"type": "unsilence", "id": silence_id, "timestamp": iso_time(now)})
    return known[silence_id]


def _append(home: str, record: Mapping[str, object]) -> None:
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        lifecycle.append_line(Path(home, FILE), record)
    except OSError as error:
        raise UsageError(f"cannot write to {home}: {reason_of(error)}", hint="choose another home") from None


def read(home: str) -> list[Silence]:
    """Read the silences that nobody ended, those that are past too."""
    found: dict[str, Silence] = {}
    for piece in tailer.pieces(Path(home), FILE, closed=True):
        for line in piece.lines:
            record = lines.record(line)
            if record is None:
                continue
            silence = _silence(record)
            if silence is not None:
                found[silence.id] = silence
            elif record.get("type") == "unsilence":
                found.pop(str(record.get("id")), None)
    return list(found.values())


def _silence(record: lines.Record) -> Silence | None:
    begin, until = lines.moment(record.get("from")), lines.moment(record.get("until"))
    rules = record.get("rules")
    if record.get("type") != "silence" or begin is None or until is None:
        return None
    return Silence(
        id=str(record.get("id")),
        where=str(record.get("where", "")),
        begin=begin,
        until=until,
        rules=tuple(map(str, rules)) if isinstance(rules, list) else (),
        comment=str(record.get("comment", "")),
        by=str(record.get("by", "")),
    )


def _parsed(silences: Iterable[Silence], now: float) -> Iterator[tuple[Silence, Filter | None]]:
    """Read which runs silences are about; one that cannot be read keeps nothing quiet, and disturbs nothing."""
    for one in silences:
        try:
            yield one, filters.parse(one.where, now=now) if one.where else None
        except UsageError:
            continue  # written by hand, or by a version that knows more fields


class Silences:
    """The silences of a home, read again when the file changed."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._size: int | None = None
        self._read: list[tuple[Silence, Filter | None]] = []

    def over(self, known: Mapping[str, object], rule: str, now: float) -> str | None:
        """Name the silence that keeps a rule quiet for a run with these fields; None where none does."""
        size = tailer.size(Path(self._home), FILE)
        if size != self._size:
            self._size = size
            self._read = list(_parsed(read(self._home), now))
        for silence, where in self._read:
            if not silence.is_active(now) or (silence.rules and rule not in silence.rules):
                continue
            if where is None or where.matches(known):
                return silence.id
        return None
