"""Which run folders of a home came, went or were changed since the last look, without listing all of them.

A month's folder is listed again only when its own time changed. The clock of a file system is coarse, so one
that changed within the last two seconds is listed once more.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.runfolder import lines, reader, tailer
from jobmeter.service import index

_SETTLED_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look found."""

    new: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    """Runs that somebody changed after they had ended: named in the home's `changes.jsonl`."""


class Watch:
    """Remembers the names in every month."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._listed: dict[str, int] = {}
        """By month: the time of its folder when it was listed; 0 where it must be listed again."""
        self._in_month: dict[str, set[str]] = {}
        self._waiting: dict[str, int] = {}
        """Folders that hold no run yet, with their time when that was found."""
        self._changes_offset = 0
        self.names: dict[str, str] = {}
        """The month of every run folder."""

    def folder(self, run_id: str) -> Path:
        """Say where a run lies, or would lie."""
        month = self.names.get(run_id)
        return index.folder_of(self._home, run_id) if month is None else self._home / "runs" / month / run_id

    def is_waiting(self) -> bool:
        """Tell whether a folder may become a run any moment."""
        return bool(self._waiting)

    def skip_changes(self) -> None:
        """Take what is in `changes.jsonl` as known."""
        self._changes_offset = tailer.size(self._home, index.CHANGES) or 0

    def look(self, now: float) -> Seen:
        """Compare with the last look."""
        came, gone = self._months(now)
        self._waiting.update(dict.fromkeys(came, -1))
        for name in gone:
            self._waiting.pop(name, None)
        return Seen(new=list(self._become_runs(now)), gone=gone, changed=self._changes())

    def _months(self, now: float) -> tuple[list[str], list[str]]:
        came: list[str] = []
        gone: list[str] = []
        months = _directories(self._home / "runs")
        for month in self._in_month.keys() - months.keys():
            gone += self._take(month, set())[1]
            del self._in_month[month]
        for month, time_ns in months.items():
            if self._listed.get(month) == time_ns:
                continue
            try:
                names = {name for name in os.listdir(self._home / "runs" / month) if index.is_run_id(name)}
            except (FileNotFoundError, NotADirectoryError):
                continue  # it went between the two looks, and the next one will see that
            self._listed[month] = time_ns if _is_settled(time_ns, now) else 0
            more, less = self._take(month, names)
            came += more
            gone += less
        return came, [name for name in gone if not self._is_elsewhere(name)]

    def _is_elsewhere(self, name: str) -> bool:
        """Tell a folder that was moved from one that is gone."""
        for month, names in self._in_month.items():
            if name in names:
                self.names[name] = month
                return True
        return False

    def _take(self, month: str, names: set[str]) -> tuple[list[str], list[str]]:
        before = self._in_month.get(month, set())
        came = sorted(name for name in names - before if name not in self.names)
        gone = sorted(name for name in before - names if self.names.get(name) == month)
        for name in gone:
            del self.names[name]
        self.names.update(dict.fromkeys(came, month))
        self._in_month[month] = names
        return came, gone

    def _become_runs(self, now: float) -> Iterator[str]:
        for name, looked_at in list(self._waiting.items()):
            folder = self.folder(name)
            try:
                time_ns = os.stat(folder).st_mtime_ns
                if time_ns != looked_at and reader.is_run(folder):
                    del self._waiting[name]
                    yield name
                    continue
            except OSError:
                time_ns = -1  # it may be made readable; until then nothing is known of it
            self._waiting[name] = time_ns if _is_settled(time_ns, now) else -1

    def _changes(self) -> list[str]:
        size = tailer.size(self._home, index.CHANGES) or 0
        if size == self._changes_offset:
            return []
        begin = self._changes_offset if self._changes_offset <= size else 0
        ids: list[str] = []
        for piece in tailer.pieces(self._home, index.CHANGES, begin):
            begin = piece.end
            records = (lines.record(line) for line in piece.lines)
            ids += [str(record.get("run_id")) for record in records if record is not None]
        self._changes_offset = begin
        return [run_id for run_id in dict.fromkeys(ids) if run_id in self.names]


def sizes(folder: Path) -> tuple[object, ...]:
    """Say how large the files of a run are: another answer means that it grew."""
    try:
        with os.scandir(folder) as entries:
            return tuple(sorted((entry.name, entry.stat().st_size) for entry in entries))
    except OSError:
        return ()


def _is_settled(time_ns: int, now: float) -> bool:
    """Tell a time after which the clock of the file system has surely moved on."""
    return now - time_ns / 1e9 > _SETTLED_SECONDS


def _directories(folder: Path) -> dict[str, int]:
    """List the months with the times of their folders."""
    found: dict[str, int] = {}
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return found
    for name in names:
        if name[0] == ".":
            continue
        try:
            found[name] = os.stat(folder / name).st_mtime_ns
        except FileNotFoundError:
            continue  # removed between listing and looking
    return found
