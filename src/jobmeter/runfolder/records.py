"""What the records and notes of a run folder say, merged in order, before anything is made of it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from jobmeter.model import measurement
from jobmeter.model.measurement import Measurement
from jobmeter.runfolder import lines, sdkfiles, tailer

_TYPES = ("start", "context", "end")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the records and notes of a folder say, before anything is made of it."""

    by_type: dict[str, lines.Record]
    merged: lines.Record
    definitions: dict[str, Measurement]
    notes: list[lines.Record]
    told: sdkfiles.Told
    unreadable: int


def read(folder: Path) -> Facts:
    """Merge the records of `run.jsonl` and collect `notes.jsonl`."""
    by_type: dict[str, lines.Record] = {}
    merged: lines.Record = {}
    definitions: dict[str, Measurement] = {}
    unreadable = 0
    for record in _records(folder, "run.jsonl"):
        kind = None if record is None else record.get("type")
        if record is None or not isinstance(kind, str):
            unreadable += 1
            continue
        if kind not in _TYPES:
            continue  # a newer recorder's record: its meaning is not known here
        if kind == "start" and "end" in by_type:
            _reopen(by_type, merged)
        by_type[kind] = by_type.get(kind, {}) | record
        _merge(merged, record)
        definitions |= _definitions(record)
    notes: list[lines.Record] = []
    for name in _notes(folder):
        for record in _records(folder, name):
            if record is None:
                unreadable += 1
            else:
                notes.append(record)
    told = sdkfiles.read(folder)
    return Facts(by_type, merged, definitions, notes, told, unreadable + told.unreadable)


def _notes(folder: Path) -> list[str]:
    """List the files of notes: those sent from elsewhere first, what was added here counts more."""
    plain = {name.removesuffix(".gz") for name in os.listdir(folder)}
    found = [name for name in plain if name.startswith("notes.") and name.endswith(".jsonl")]
    return sorted(found, key=len, reverse=True)


def _reopen(by_type: dict[str, lines.Record], merged: lines.Record) -> None:
    """A run that began again after its end has not ended: what the end said over earlier records is taken back."""
    del by_type["end"]
    merged.clear()
    for record in by_type.values():
        _merge(merged, record)


def _records(folder: Path, name: str) -> Iterator[lines.Record | None]:
    """Yield every record, None for a bad line; a torn last line is a record only if it is whole JSON."""
    for piece in tailer.pieces(folder, name, closed=True):
        for line in piece.lines:
            record = lines.record(line)
            if record is not None or (line.strip() and not piece.torn):
                yield record


def _merge(merged: lines.Record, record: lines.Record) -> None:
    """Lay a record over what is known; a host name is not replaced by its details."""
    host = merged.get("host")
    provenance = lines.mapping(merged.get("provenance")) | lines.mapping(record.get("provenance"))
    merged |= record
    if provenance:
        merged["provenance"] = provenance
    if isinstance(record.get("host"), dict):
        details = lines.mapping(record["host"])
        merged["host_details"] = details
        merged["host"] = host if isinstance(host, str) else details.get("hostname")


def _definitions(record: lines.Record) -> dict[str, Measurement]:
    rows = record.get("measurements")
    if not isinstance(rows, list):
        return {}
    try:
        packed = msgspec.msgpack.encode(rows)
    except (UnicodeEncodeError, OverflowError):
        return _made(rows)  # text or a number that no recorder writes
    return _made_once(packed)


@lru_cache(maxsize=64)
def _made_once(packed: bytes) -> dict[str, Measurement]:
    """Make definitions once for all runs that have the same: most runs of a home do."""
    return _made(msgspec.msgpack.decode(packed))


def _made(rows: list[object]) -> dict[str, Measurement]:
    found = [measurement.from_record(row) for row in rows if isinstance(row, dict)]
    return {definition.key: definition for definition in found if definition is not None}
