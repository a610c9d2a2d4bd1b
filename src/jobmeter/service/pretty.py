"""Files of jobmeter and con-duct as documents, with what their numbers mean.

A file is one JSON document or one a line, whatever its suffix: con-duct called its lines `usage.json`
for years. Units come from the definitions in the file or in the `run.jsonl` beside it; for con-duct's
own words, which have no definitions, from its documentation.
"""

import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.errors import UsageError, reason_of
from jobmeter.model import measurement, moments, units
from jobmeter.model.measurement import Measurement, Unit
from jobmeter.runfolder import reader, records
from jobmeter.service import explain

WHOLE_BYTES = 64 * 1024 * 1024
"""A larger file is only read line by line."""

_WORDS = {
    "memory_total": Unit.BYTES,
    "memory.total": Unit.NONE,
    "pcpu": Unit.PERCENT,
    "pmem": Unit.PERCENT,
    "rss": Unit.BYTES,
    "vsz": Unit.BYTES,
    "wall_clock_time": Unit.SECONDS,
    "sample_interval": Unit.SECONDS,
    "report_interval": Unit.SECONDS,
}
_SUFFIXES = {"bytes": Unit.BYTES, "seconds": Unit.SECONDS, "percent": Unit.PERCENT}


@dataclass(slots=True)
class Documents:
    """The documents of one file, read as they are asked for; `bad_lines` is right once all were."""

    path: Path
    definitions: dict[str, Measurement] = field(default_factory=dict)
    good_lines: int = 0
    bad_lines: int = 0

    def __iter__(self) -> Iterator[object]:
        whole = self._whole()
        if whole is not None:
            self.good_lines = 1
            yield whole[0]
            return
        for line in _lines(self.path):
            found = _parse(line)
            if found is None:
                self.bad_lines += bool(line.strip())
                continue
            self.good_lines += 1
            yield found[0]

    def _whole(self) -> tuple[object] | None:
        if self.path.stat().st_size > WHOLE_BYTES or self.path.suffix == ".gz":
            return None
        return _parse(self.path.read_bytes())


def open_documents(path: Path) -> Documents:
    """Open a file; what is no readable file is refused."""
    if os.path.isdir(path):
        raise UsageError(f"{path} is a directory", hint="jobmeter show FOLDER shows a run")
    try:
        with path.open("rb"):
            return Documents(path, _definitions_beside(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from error


def humanised(key: str, value: object, definitions: Mapping[str, Measurement]) -> str | None:
    """Write a number in its unit; None where nothing is known of it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
        return None
    if key in ("start_time", "end_time"):
        return moments.iso_time(value)
    definition, _ = explain.definition_of(key, definitions)
    unit = definition.unit if definition is not None else _known_unit(key)
    return None if unit is None else units.format_value(value, unit)


def _known_unit(key: str) -> Unit | None:
    for word in ("peak_", "average_", "total_"):
        key = key.removeprefix(word)
    return _WORDS.get(key) or _SUFFIXES.get(key.rpartition("_")[2])


def _definitions_beside(path: Path) -> dict[str, Measurement]:
    beside = path.parent
    names = ("run.jsonl", "usage.jsonl", "events.jsonl", "info.json")
    if path.name.removesuffix(".gz") in names and reader.is_run(beside):
        return records.read(beside).definitions
    return {}


def definitions_in(document: object) -> dict[str, Measurement]:
    """Collect the definitions a record of `run.jsonl` or an `info.json` carries."""
    rows = document.get("measurements") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        return {}
    found = [measurement.from_record(row) for row in rows if isinstance(row, dict)]
    return {definition.key: definition for definition in found if definition is not None}


def _parse(text: bytes) -> tuple[object] | None:
    try:
        return (json.loads(text.decode("utf-8", "surrogateescape")),)
    except (ValueError, RecursionError):
        return None


def _lines(path: Path) -> Iterator[bytes]:
    if path.suffix != ".gz":
        with path.open("rb") as file:
            yield from file
        return
    with gzip.open(path, "rb") as packed:
        try:
            yield from packed
        except (EOFError, zlib.error, gzip.BadGzipFile):
            yield b"(cut off)"  # counts as a line that could not be read
