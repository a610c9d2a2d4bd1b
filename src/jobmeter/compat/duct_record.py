"""A finished run folder as con-duct's files need it, read with the standard library alone.

`runfolder.reader` reads any folder in any state; this one was just written by ourselves, and `jobmeter duct`
shall not cost its user the import of that reader after every command.
"""

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Record = dict[str, object]
    Cell = int | float | str | dict[str, int]


_FEBRUARY = 2


class Inexact:
    """Which numbers are bounds."""

    __slots__ = ("inexact",)

    def __init__(self, inexact: dict[str, str]) -> None:
        self.inexact = inexact


class Line:
    """One line of `usage.jsonl`."""

    __slots__ = ("clock", "num_samples", "timestamp", "values")

    def __init__(self, record: "Record") -> None:
        self.timestamp = _moment(record.get("timestamp")) or 0.0
        samples = record.get("num_samples")
        self.num_samples = samples if isinstance(samples, int) else 1
        self.clock = {name: (pair[0], pair[1]) for name, pair in _mapping(record.get("clock")).items()}
        self.values: dict[tuple[str, str], Cell] = {}
        for key, value in _mapping(record.get("measurements")).items():
            if isinstance(value, dict):
                self.values.update({(key, instance): cell for instance, cell in value.items()})
            else:
                self.values[key, ""] = value


class Lines:
    """The lines of a folder; may be walked more than once."""

    __slots__ = ("_path",)

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "usage.jsonl")

    def __iter__(self) -> "Iterator[Line]":
        if not os.path.exists(self._path):
            return
        with open(self._path, "rb") as file:
            for text in file:
                yield Line(json.loads(text))


class Recorded:
    """The facts of the run that just ended."""

    __slots__ = (
        "command",
        "context",
        "cwd",
        "ended_at",
        "exit_code",
        "folder",
        "host",
        "message",
        "outputs",
        "provenance",
        "run_id",
        "samples",
        "started_at",
        "summary",
        "wall_seconds",
    )

    def __init__(self, folder: str) -> None:
        start, context, end = _records(folder)
        self.folder = folder
        self.run_id = str(start["run_id"])
        self.command = tuple(str(word) for word in _listed(start.get("command")))
        self.cwd = _text(start.get("cwd"))
        self.message = _text(start.get("message"))
        self.host = _text(start.get("host"))
        self.started_at = _moment(start.get("started_at"))
        self.ended_at = _moment(end.get("ended_at"))
        self.exit_code = _whole(end.get("exit_code"))
        self.samples = _whole(end.get("samples"))
        wall = end.get("wall_seconds")
        self.wall_seconds = float(wall) if isinstance(wall, int | float) else None
        self.summary: dict[str, int | float | str] = _mapping(end.get("summary"))
        self.provenance = Inexact(_mapping(end.get("inexact")))
        self.context = {**start, **context}
        self.outputs = [_output(folder, _mapping(row)) for row in _listed(context.get("outputs"))]
        """Stream, file, and where in it the job's first byte stands."""

    def without_summary(self) -> "Recorded":
        """Forget the job's own totals, for where its whole session is asked for."""
        self.summary = {}
        return self


def _records(folder: str) -> tuple["Record", "Record", "Record"]:
    found: dict[str, Record] = {"start": {}, "context": {}, "end": {}}
    with open(os.path.join(folder, "run.jsonl"), "rb") as file:
        for text in file:
            record = json.loads(text)
            found.setdefault(record["type"], {}).update(record)
    return found["start"], found["context"], found["end"]


def _output(folder: str, row: "Record") -> tuple[str, str, int]:
    path = str(row.get("path", ""))
    captured = row.get("mode") == "captured"
    return (
        str(row.get("stream")),
        os.path.join(folder, path) if captured else path,
        _whole(row.get("offset")) or 0,
    )


def _moment(value: object) -> float | None:
    """Read our own stamps, UTC with milliseconds, without importing a calendar for it."""
    if not isinstance(value, str):
        return None
    year, month, day = int(value[:4]), int(value[5:7]), int(value[8:10])
    hour, minute, seconds = int(value[11:13]), int(value[14:16]), float(value[17:].removesuffix("Z"))
    # days since the epoch, in years that begin in March: the leap day is their last
    years = year - (month <= _FEBRUARY)
    days = (
        365 * years
        + years // 4
        - years // 100
        + years // 400
        + (153 * ((month + 9) % 12) + 2) // 5
        + day
        - 719469
    )
    return days * 86400 + hour * 3600 + minute * 60 + seconds


def _mapping(value: object) -> "dict[str, Any]":
    return value if isinstance(value, dict) else {}


def _listed(value: object) -> "list[object]":
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
