"""How far every run has been handed to one outlet, in a file that outlives the server.

Before a batch is sent it is noted where it will end, and after it was taken that it was. A server that was killed in
between finds the note and sends that very batch again: the receiver may have it already, but nothing newer.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from jobmeter.delivery.samples import Mark
from jobmeter.errors import StoreError, reason_of

_SCHEMA = 1


class Positions:
    """The marks of one outlet; every change is in the file before it counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.trouble: str | None = None
        self.marks: dict[str, Mark] = {}
        self.pending: dict[str, Mark] = {}
        """Where the batch ends that was being sent."""
        self._load()

    def begin(self, until: Mapping[str, Mark]) -> None:
        """Note where a batch will end."""
        self.pending = dict(until)
        self._save()

    def finish(self) -> None:
        """Note that the batch was taken."""
        self.marks |= self.pending
        self.pending = {}
        self._save()

    def forget_before(self, moment_ms: int) -> None:
        """Drop runs that brought nothing for long; one that goes on begins with what is new then."""
        old = [run_id for run_id, mark in self.marks.items() if mark.usage_ms < moment_ms]
        for run_id in old:
            del self.marks[run_id]

    def _load(self) -> None:
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return
        try:
            raw = json.loads(text)
            self.marks = {str(name): _mark(one) for name, one in raw["runs"].items()}
            self.pending = {str(name): _mark(one) for name, one in raw["pending"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            self.marks, self.pending = {}, {}
            self.trouble = f"{self._path.name} is damaged: the last hour is sent again"

    def _save(self) -> None:
        document = {
            "schema": _SCHEMA,
            "runs": {name: _record(mark) for name, mark in self.marks.items()},
            "pending": {name: _record(mark) for name, mark in self.pending.items()},
        }
        partial = self._path.with_name(f".{self._path.name}.part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(partial, "w", encoding="ascii", opener=_private) as file:
                json.dump(document, file, separators=(",", ":"))
            partial.replace(self._path)
        except OSError as error:
            raise StoreError(
                f"cannot write {self._path}: {reason_of(error)}", hint="make room there"
            ) from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _record(mark: Mark) -> dict[str, object]:
    record: dict[str, object] = {"usage_ms": mark.usage_ms}
    if mark.steps_ms:
        record["steps_ms"] = {str(rank): moment for rank, moment in mark.steps_ms.items()}
    return record | ({"final": True} if mark.final else {})


def _mark(raw: Mapping[str, object]) -> Mark:
    usage_ms, steps_ms = raw["usage_ms"], raw.get("steps_ms", {})
    if not isinstance(usage_ms, int) or not isinstance(steps_ms, dict):
        raise TypeError("no mark")
    return Mark(
        usage_ms=usage_ms,
        steps_ms={int(rank): int(moment) for rank, moment in steps_ms.items()},
        final=raw.get("final") is True,
    )
