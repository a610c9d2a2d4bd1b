"""The file a trainer leaves its numbers in: one object rewritten at every step, or lines that grow.

Writers replace it by rename, write it in place (a reader may see half of it) or append. A record is new when its
step and time were not seen before, so looking twice at the same line gives one sample. Half a record is waited
for; the same half at the next look, or nothing whole three times in a row, is a broken file.
"""

import json
from collections import OrderedDict
from dataclasses import dataclass
from zlib import crc32

from jobmeter.fleet import told
from jobmeter.fleet.tail import PIECE, Found, Got, Tail, Wanted
from jobmeter.fleet.told import Told

WHOLE_BYTES = 65536
"""Up to this size a file is read whole at every look; above, it can only be one that grows."""
_REMEMBERED = 4096
_PATIENCE = 3

Record = dict[str, object]


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a file gave."""

    present: bool
    new: tuple[Told, ...] = ()
    problem: str = ""
    more: bool = False


class MetricsFile:
    """Reads the metrics file of one rank."""

    def __init__(self, paths: tuple[str, ...], rank: int, shared: frozenset[str] = frozenset()) -> None:
        self._paths = paths
        self._rank = rank
        self._shared = shared
        """Files that other ranks look at too: a record there that names no rank belongs to nobody."""
        self._tail: Tail | None = None
        self._rest = b""
        self._identities: OrderedDict[tuple[object, ...], None] = OrderedDict()
        self._torn_looks = 0
        self._torn_bytes = b""
        self._broken = False
        self._validator = ""
        self._path = ""

    def wanted(self) -> Wanted:
        """Ask for the whole of a small file, for the end of a large one."""
        if self._tail is not None:
            return self._tail.wanted()
        return Wanted((self._path,) if self._path else self._paths, validator=self._validator)

    def take(self, got: Got) -> Look:
        """Find the records that are new."""
        if got.found is Found.UNREADABLE:
            return Look(present=True, problem=f"{got.path}: {got.reason or 'permission denied'}")
        if got.found is Found.UNCHANGED:
            return Look(present=True)
        if got.found is Found.MISSING:
            self._tail, self._path, self._validator = None, "", ""
            return Look(present=False)
        self._path, self._validator = got.path, got.validator
        if self._tail is None and len(got.data) > WHOLE_BYTES:
            self._tail, self._rest = Tail((got.path,)), b""
        return self._take_whole(got) if self._tail is None else self._take_grown(self._tail, got)

    def _take_whole(self, got: Got) -> Look:
        records, torn, bad = parse(got.data)
        problem = self._judge(got, records, torn=torn, bad=bad)
        return self._harvest(records, problem)

    def _judge(self, got: Got, records: list[Record], *, torn: bytes, bad: int) -> str:
        """Tell a file that is being written from one that is broken; only a whole record mends it."""
        if records:
            self._torn_looks, self._torn_bytes, self._broken = 0, b"", False
            return ""
        if torn:
            self._broken = self._broken or torn == self._torn_bytes or self._torn_looks + 1 >= _PATIENCE
            self._torn_looks, self._torn_bytes = self._torn_looks + 1, torn
        self._broken = self._broken or bad > 0
        return f"{got.path}: not JSON" if self._broken else ""

    def _take_grown(self, tail: Tail, got: Got) -> Look:
        piece = tail.take(got)
        if piece is None:
            return Look(present=True)
        if piece.restarted or (not piece.data and piece.more):
            # another file took its place: it may be a small one
            self._tail, self._rest = None, b""
            return Look(present=True, more=True)
        text = self._rest + piece.data
        lines, newline, self._rest = text.rpartition(b"\n")
        if len(self._rest) > PIECE:
            return Look(present=True, problem=f"{got.path}: not JSON")
        records, _, bad = parse(lines + newline)
        problem = f"{got.path}: not JSON" if bad and not records else ""
        return self._harvest(records, problem, more=piece.more)

    def _harvest(self, records: list[Record], problem: str, *, more: bool = False) -> Look:
        new: list[Told] = []
        others = 0
        for record in records:
            rank = record.get("rank")
            if rank != self._rank and (rank is not None or self._path in self._shared):
                others += 1
                continue
            one = told.from_record(record)
            if self._is_new(one):
                new.append(one)
        present = not records or others < len(records)
        return Look(present=present, new=tuple(new), problem=problem, more=more)

    def _is_new(self, one: Told) -> bool:
        identity: tuple[object, ...] = (one.timestamp, one.step)
        if one.timestamp is None and one.step is None:
            identity = (crc32(repr(sorted(one.metrics.items())).encode()),)
        if identity in self._identities:
            self._identities.move_to_end(identity)
            return False
        self._identities[identity] = None
        if len(self._identities) > _REMEMBERED:
            self._identities.popitem(last=False)
        return True


def parse(data: bytes) -> tuple[list[Record], bytes, int]:
    """Read one object, a list of them, or lines; give the records, half a record at the end, and bad lines."""
    # a writer that preallocates leaves NUL bytes behind its last line
    text = data.rstrip(b"\0 \r\n\t")
    if not text:
        return [], b"", 0  # nothing yet
    whole = _decode(text)
    if whole is not None:
        return (whole, b"", 0) if whole else ([], b"", 1)
    records: list[Record] = []
    bad = 0
    lines = data.rstrip(b"\0").split(b"\n")
    for line in lines[:-1]:
        found = _decode(line) if line.strip() else []
        records += found or []
        bad += not found and bool(line.strip())
    last = lines[-1] if lines[-1].strip() else b""
    found = _decode(last) if last else []
    if found:
        return records + found, b"", bad
    if bad and not records:
        return _maybe_torn(text)
    return records, last, bad


def _maybe_torn(text: bytes) -> tuple[list[Record], bytes, int]:
    """An object laid out over several lines, of which only the first were written."""
    return ([], text, 0) if text[:1] in (b"{", b"[") else ([], b"", 1)


def _decode(text: bytes) -> list[Record] | None:
    """Give the objects a text holds; an empty list where it is JSON of another kind, None where it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, dict):
        return [found]
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
