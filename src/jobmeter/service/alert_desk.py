"""What becomes of a change: an event in the run's folder, and a message unless somebody asked for silence.

Events go to a file of the evaluator's own, `events.alerts-<who>.jsonl`: one writer a file, so that a run that is
pushed on to another server carries what was told of it, and that server writes beside it, not into it.
"""

import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jobmeter.model.alert import Change, Notice, RunBook, Standing, State, Turn
from jobmeter.model.moments import iso_time
from jobmeter.model.run import Run
from jobmeter.runfolder import reader
from jobmeter.service import fields, lifecycle
from jobmeter.service.alert_settings import AlertSettings
from jobmeter.service.alert_silences import Silences

_LONGEST_JOB = 80
Told = tuple[Notice, tuple[str, ...]]


def tell(
    run: Run,
    book: RunBook,
    changes: Sequence[Change],
    *,
    settings: AlertSettings,
    silences: Silences,
    now: float,
) -> tuple[RunBook, list[Told]]:
    """Decide what of some changes is told, and through which channels."""
    known = fields.of_run(run)
    standings = {one.name: one for one in book.standings}
    told: list[Told] = []
    for change in [*changes, *_no_longer_silenced(standings.values(), known, silences, now)]:
        name = change.standing.name
        quiet = silences.over(known, change.standing.rule, now)
        if change.turn is Turn.FIRED and name in standings:
            standings[name] = replace(standings[name], silenced_by=quiet)
        # that it is well again is told to those who were told that it was not
        stands = standings.get(name, change.standing)
        hushed = stands.silenced_by if change.turn is Turn.RESOLVED else quiet
        rule = settings.rules.get(change.standing.rule)
        if hushed is None:
            told.append((notice_of(run, change), () if rule is None else settings.channels_of(rule)))
    return replace(book, standings=tuple(standings.values())), told


def with_silences(changes: Iterable[Change], book: RunBook) -> list[Change]:
    """Say with each change who asked for silence about it, as `tell` has found."""
    silenced_by = {one.name: one.silenced_by for one in book.standings}
    return [
        replace(change, standing=replace(change.standing, silenced_by=silenced_by.get(change.standing.name)))
        for change in changes
    ]


def _no_longer_silenced(
    standings: Iterable[Standing], known: Mapping[str, object], silences: Silences, now: float
) -> list[Change]:
    """Find what fired during a silence that is over, and still does."""
    return [
        Change(turn=Turn.FIRED, standing=one, at=now)
        for one in standings
        if one.silenced_by is not None
        and one.state_at(now) is State.FIRING
        and silences.over(known, one.rule, now) is None
    ]


def notice_of(run: Run, change: Change) -> Notice:
    """Write what a person is told of a change."""
    standing = change.standing
    return Notice(
        id=change.id,
        turn=change.turn,
        rule=standing.rule,
        run_id=standing.run_id,
        instance=standing.instance,
        severity=standing.severity,
        sentence=standing.sentence,
        at=change.at,
        value=standing.value,
        job=(run.name or " ".join(run.command))[:_LONGEST_JOB],
        project=run.project,
        host=run.host,
        user=run.user,
    )


def events_file(home: str) -> str:
    """Name the file of events that an evaluator of this home, on this machine, writes."""
    who = f"{os.uname().nodename}\0{os.path.realpath(home)}".encode("utf-8", "surrogateescape")
    return f"events.alerts-{zlib.crc32(who):08x}.jsonl"


class EventWriter:
    """Writes changes as events of a run, each once however often it is worked out."""

    def __init__(self, home: str) -> None:
        self._file = events_file(home)
        self._written: dict[str, set[str]] = {}

    def write(self, folder: Path, changes: Iterable[Change]) -> int:
        """Append what is not there yet; give how many that were. OSError where the folder takes nothing."""
        written = self._written_to(folder)
        count = 0
        for change in changes:
            if change.id in written:
                continue
            lifecycle.append_line(folder / self._file, _record(change))
            written.add(change.id)
            count += 1
        return count

    def forget(self, folder: Path) -> None:
        """Let go of a run that is over."""
        self._written.pop(str(folder), None)

    def _written_to(self, folder: Path) -> set[str]:
        name = str(folder)
        if name not in self._written:
            there = (folder / self._file).exists()
            events = reader.read_events(folder, self._file) if there else ()
            self._written[name] = {str(event.details.get("id")) for event in events}
        return self._written[name]


def _record(change: Change) -> dict[str, object]:
    standing = change.standing
    details = {
        "id": change.id,
        "rule": standing.rule,
        "state": "resolved" if change.turn is Turn.RESOLVED else "firing",
        "severity": standing.severity.value,
        "title": f"{change.turn.value}: {standing.rule}",
        "text": standing.sentence,
        "instance": standing.instance or None,
        "value": standing.value,
        "silenced_by": standing.silenced_by,
    }
    shown = {name: value for name, value in details.items() if value is not None}
    return {"timestamp": iso_time(change.at), "type": "alert", "details": shown}
