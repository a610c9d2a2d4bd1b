"""Read a run folder back, whatever state it is in: whole, being written, cut off, garbled, compressed.

Nothing here raises for the content of a file; only an unreadable file (rights, I/O) is an OSError. What
could not be read is counted in the run's provenance under `unreadable_lines`.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from jobmeter.model.run import Provenance, Run, Status
from jobmeter.model.steps import Step
from jobmeter.model.view import Event, Window
from jobmeter.runfolder import lines, liveness, records, sdkfiles, tailer, values

UNREADABLE = "unreadable_lines"

_TAKEN = frozenset((
    "type", "schema", "run_id", "job_id", "command", "cwd", "name",
    "project", "message", "tags", "started_at", "outputs", "measurements", "status",
    "exit_code", "signal", "ended_at", "wall_seconds", "samples", "summary", "by_command",
    "inexact", "dropped", "timestamp", "host", "host_details", "provenance", "world_size",
))  # fmt: skip
"""Fields of records that have their own place in a Run; every other field is its context."""


def is_run(folder: Path) -> bool:
    """Tell a run folder from any other directory or file; OSError where one may not look."""
    try:
        names = os.listdir(folder)
    except (NotADirectoryError, FileNotFoundError):
        return False
    return not {"run.jsonl", "usage.jsonl", "run.jsonl.gz", "usage.jsonl.gz"}.isdisjoint(names)


def read_run(folder: Path, *, machine: liveness.Here | None = None, now: float | None = None) -> Run:
    """Read the facts of a run; its headline is left for those who know how to compute it."""
    return read_run_and_finality(folder, machine=machine, now=now)[0]


def read_run_and_finality(
    folder: Path, *, machine: liveness.Here | None = None, now: float | None = None
) -> tuple[Run, bool]:
    """Read a run and say whether it can no longer change."""
    facts = records.read(folder)
    status, final = _status(facts, folder, machine or liveness.here(), time.time() if now is None else now)
    return _run(facts, folder, status), final


def _status(facts: records.Facts, folder: Path, machine: liveness.Here, now: float) -> tuple[Status, bool]:
    end, start = facts.by_type.get("end"), facts.by_type.get("start", {})
    by_own_word = _own_word(facts, start)
    if end is not None:
        status = _ended(end)
        return (by_own_word if status is Status.LOST and by_own_word else status), True
    verdict = liveness.judge(start, folder, machine, now)
    if not verdict.alive and liveness.goes_on(start, facts.told.unfinished, machine):
        # its recorder was killed: what it uses is not measured any more, but it still logs
        return Status.RUNNING, False
    if not verdict.alive:
        return by_own_word or Status.LOST, verdict.final
    return (Status.PAUSED if _paused(folder) else Status.RUNNING), verdict.final


def _own_word(facts: records.Facts, start: lines.Record) -> Status | None:
    """Ask the job's own process how it ended: a recorder that only attached cannot know."""
    outcome = facts.told.outcome()
    return None if outcome is None or not start.get("attached") else _ended(outcome)


def _ended(end: lines.Record) -> Status:
    try:
        return Status(end.get("status"))
    except ValueError:
        # a word of a newer schema: what the exit code says still holds
        return Status.COMPLETED if end.get("exit_code") == 0 else Status.FAILED


def _paused(folder: Path) -> bool:
    """A job is paused while the last of its stops and continuations is a stop."""
    last = ""
    for event in read_events(folder, sdkfiles.RECORDER_EVENTS):
        if event.type in ("stopped", "continued"):
            last = event.type
    return last == "stopped"


def _run(facts: records.Facts, folder: Path, status: Status) -> Run:
    merged, told = facts.merged, facts.told
    tags = values.tags(told.facts.get("tags")) | values.tags(merged.get("tags"))
    named: lines.Record = {key: merged.get(key) or told.facts.get(key) for key in ("name", "project")}
    texts = _apply(facts.notes, tags, named)
    user = lines.mapping(merged.get("user"))
    outcome = _outcome(facts)
    return Run(
        run_id=lines.text(merged.get("run_id")) or folder.name,
        job_id=lines.text(merged.get("job_id")) or lines.text(merged.get("run_id")) or folder.name,
        status=status,
        command=values.command(merged.get("command")),
        cwd=lines.text(merged.get("cwd")),
        name=lines.text(named["name"]),
        project=lines.text(named["project"]),
        message=lines.text(merged.get("message")) or lines.text(told.facts.get("notes")),
        tags=tags,
        notes=tuple(texts),
        group=lines.text(told.facts.get("group")),
        ranks=told.ranks,
        world_size=told.world_size or lines.whole(merged.get("world_size")),
        host=lines.text(merged.get("host")),
        user=lines.text(user.get("name")) or (str(user["uid"]) if "uid" in user else None),
        exit_code=lines.whole(outcome.get("exit_code")),
        signal=lines.text(outcome.get("signal")),
        started_at=lines.moment(merged.get("started_at")),
        ended_at=lines.moment(outcome.get("ended_at")),
        wall_seconds=lines.number(merged.get("wall_seconds")),
        samples=lines.whole(merged.get("samples")),
        summary=values.values(merged.get("summary")),
        results=values.results(told.summary),
        by_command=values.shares(merged.get("by_command")),
        limits=values.limits(merged.get("limits")),
        provenance=_provenance(facts),
        outputs=values.outputs(merged.get("outputs")),
        folder=str(folder),
        disk_bytes=disk_bytes(folder),
        definitions=facts.definitions,
        context=_context(merged) | _told_context(told, merged),
    )


def _outcome(facts: records.Facts) -> lines.Record:
    """Take the end record, and what the job said itself where an attached recorder could not tell."""
    end = facts.by_type.get("end", {})
    outcome = facts.told.outcome()
    known = end.get("exit_code") is not None or end.get("signal") is not None
    if outcome is None or known or not facts.by_type.get("start", {}).get("attached"):
        return end
    told = {"exit_code": outcome.get("exit_code"), "ended_at": outcome.get("timestamp")}
    return told | {key: value for key, value in end.items() if value is not None}


def _told_context(told: sdkfiles.Told, merged: lines.Record) -> lines.Record:
    names = ("job_type", "argv", "packages", "python", "git", "resumed")
    known = {key: told.facts[key] for key in names if key in told.facts and key not in merged}
    config = lines.mapping(merged.get("config")) | told.config
    pids: lines.Record = {"rank_pids": told.pids} if told.pids else {}
    return known | pids | ({"config": config} if config else {})


def _context(merged: lines.Record) -> lines.Record:
    """Keep what has no field of its own, limits with their sources and the details of the host included."""
    rest = {key: value for key, value in merged.items() if key not in _TAKEN}
    if "host_details" in merged:
        rest["host"] = merged["host_details"]
    how = lines.mapping(merged.get("provenance"))
    more = {key: value for key, value in how.items() if key not in ("selected", "missing", "origin")}
    return rest | more


def _apply(notes: list[lines.Record], tags: dict[str, str], named: lines.Record) -> list[str]:
    """Lay what people added over what was recorded; returns their texts."""
    texts: list[str] = []
    for note in notes:
        for key, value in lines.mapping(note.get("tags")).items():
            if value is None:
                tags.pop(key, None)
            else:
                tags[key] = str(value)
        for field in ("name", "project"):
            if note.get("type") == field:
                named[field] = note.get(field)
        if note.get("type") == "note":
            _write_note(note, texts)
    return texts


def _write_note(note: lines.Record, texts: list[str]) -> None:
    """Add a note, or put it in the place of the one it replaces; that one goes where there is no text."""
    replaced, text = note.get("replaces"), note.get("text")
    place = texts.index(replaced) if isinstance(replaced, str) and replaced in texts else len(texts)
    texts[place : place + 1] = [text] if isinstance(text, str) else []


def _provenance(facts: records.Facts) -> Provenance:
    merged = facts.merged
    found = lines.mapping(merged.get("provenance"))
    selected = found.get("selected")
    dropped = values.counts(merged.get("dropped"))
    if facts.unreadable:
        dropped[UNREADABLE] = facts.unreadable
    return Provenance(
        selected=tuple(map(str, selected)) if isinstance(selected, list) else (),
        missing=values.reasons(found.get("missing")),
        dropped=dropped,
        inexact=values.reasons(merged.get("inexact")),
        origin=lines.text(found.get("origin")) or "jobmeter",
    )


def disk_bytes(folder: Path) -> int:
    """Sum the sizes of a folder's files."""
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                total += (
                    entry.stat(follow_symlinks=False).st_size if entry.is_file(follow_symlinks=False) else 0
                )
            except FileNotFoundError:
                continue  # compressed and replaced between listing and asking
    return total


def read_windows(folder: Path, offset: int = 0) -> Iterator[Window]:
    """Yield every window of `usage.jsonl` from a byte offset on."""
    reader = lines.WindowReader()
    for piece in tailer.pieces(folder, "usage.jsonl", offset, closed=True):
        yield from reader.read(piece.lines)


def read_steps(folder: Path) -> Iterator[Step]:
    """Yield the steps of a training loop, of every rank that wrote any."""
    for name in sdkfiles.names(os.listdir(folder), sdkfiles.STEPS):
        for line in _lines(folder, name):
            step = lines.step(line)
            if step is not None:
                yield step


def read_events(folder: Path, name: str | None = None) -> Iterator[Event]:
    """Yield every event, of one file or of the recorder and of every rank."""
    for file in sdkfiles.names(os.listdir(folder), sdkfiles.EVENTS) if name is None else [name]:
        for line in _lines(folder, file):
            event = lines.event(line)
            if event is not None:
                yield event


def _lines(folder: Path, name: str) -> Iterator[bytes]:
    for piece in tailer.pieces(folder, name, closed=True, mapped=sdkfiles.is_mapped(name)):
        yield from piece.lines
