"""What clients of a server change of a run: its name, project, tags and notes; throw it away, take it back, destroy it.

The run's own records stay as they are: changes are lines in `notes.jsonl`, deletions go to the bin of the home, as by
`jobmeter tag` and `jobmeter rm`.
"""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

import msgspec

from jobmeter.errors import UnknownError, UsageError
from jobmeter.model.moments import iso_time
from jobmeter.model.run import Run
from jobmeter.runfolder import reader
from jobmeter.service import by_id, garbage, index, lifecycle

LONGEST_TEXT = 10_000
LONGEST_NAME = 500
MOST_TAGS = 100
MOST_NOTES = 100


class Change(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be changed; what is not said stays."""

    name: str | None = None
    project: str | None = None
    note: str | None = None
    """A sentence to add."""
    notes: dict[str, str | None] = {}
    """Notes to write anew, by what they say now; one of null is taken away."""
    tags: dict[str, str | None] = {}
    """Tags to set; one of null is taken off."""


def change(home: str, run_id: str, wanted: Change) -> Run:
    """Write changes down and give the run as it is now."""
    _check(wanted)
    run = by_id.ask(home, run_id, lambda _, run: run)
    folder = str(_folder(run))
    if unknown := set(wanted.notes) - set(reader.read_run(Path(folder)).notes if wanted.notes else ()):
        raise UsageError("no note says that", hint=f"it was changed meanwhile: {min(unknown)[:100]}")
    steps: list[Callable[[], Run]] = []
    if wanted.tags:
        steps.append(lambda: lifecycle.tag(home, folder, wanted.tags))
    for before, text in wanted.notes.items():
        steps.append(functools.partial(lifecycle.rewrite_note, home, folder, before, text))
    if wanted.note is not None:
        steps.append(lambda: lifecycle.note(home, folder, wanted.note or ""))
    if wanted.name is not None:
        steps.append(lambda: lifecycle.rename(home, folder, wanted.name or ""))
    if wanted.project is not None:
        steps.append(lambda: lifecycle.move_to_project(home, folder, wanted.project or ""))
    for write in steps:
        write()
    # an index that a server keeps up follows a moment later
    now = reader.read_run(Path(folder))
    return dataclasses.replace(run, name=now.name, project=now.project, tags=now.tags, notes=now.notes)


def _check(wanted: Change) -> None:
    if wanted == Change():
        raise UsageError("nothing is to be changed", hint="say a name, project, note, notes or tags")
    named = {"name": wanted.name, "project": wanted.project}
    for word, text in named.items():
        if text is not None and not (0 < len(text) <= LONGEST_NAME and text.isprintable()):
            raise UsageError(f"the {word} cannot be used", hint=f"1 to {LONGEST_NAME} printable letters")
    _check_notes(wanted)
    if len(wanted.tags) > MOST_TAGS:
        raise UsageError(f"{len(wanted.tags)} tags are too many", hint=f"at most {MOST_TAGS} at once")
    for key, value in wanted.tags.items():
        if not (0 < len(key) <= LONGEST_NAME and key.isprintable() and "=" not in key):
            raise UsageError("a tag needs a printable name without '='", hint="as in team: vision")
        if value is not None and not (len(value) <= LONGEST_NAME and value.isprintable()):
            raise UsageError(
                f"the value of the tag {key} cannot be used", hint=f"at most {LONGEST_NAME} letters"
            )


def _check_notes(wanted: Change) -> None:
    if len(wanted.notes) > MOST_NOTES:
        raise UsageError(f"{len(wanted.notes)} notes are too many", hint=f"at most {MOST_NOTES} at once")
    for text in (wanted.note, *wanted.notes.values()):
        if text is not None and not (text.strip() and len(text) <= LONGEST_TEXT):
            raise UsageError("the note cannot be used", hint=f"1 to {LONGEST_TEXT} letters")


def remove(home: str, run_id: str) -> Run:
    """Throw a run away, into the bin."""
    run = by_id.ask(home, run_id, lambda _, run: run)
    return lifecycle.remove(home, str(_folder(run)))


def _folder(run: Run) -> Path:
    """Name the folder of a run; an index that a server keeps up may not know yet that it is gone."""
    folder = lifecycle.folder_of(run)
    if not folder.is_dir():
        raise UnknownError(f"unknown run: {run.run_id}", hint="it was just removed")
    return folder


def restore(home: str, run_id: str) -> str:
    """Take a run out of the bin again by its very id."""
    if not index.is_run_id(run_id) or not _binned(home, run_id):
        raise UnknownError("no such run is in the bin", hint="GET /api/v1/bin lists what is")
    return lifecycle.put_back(home, _binned(home, run_id)[-1]).name


def purge(home: str, run_id: str) -> int:
    """Destroy a run, in the bin or not; give the bytes that were freed."""
    if not index.is_run_id(run_id):
        raise UnknownError("unknown run", hint="GET /api/v1/runs lists them")
    if not _binned(home, run_id) or index.folder_of(Path(home), run_id).is_dir():
        remove(home, run_id)
    return sum(garbage.delete(Path(home), folder) for folder in _binned(home, run_id))


def listed(home: str) -> list[dict[str, object]]:
    """List the runs in the bin, the last thrown away first."""
    found = []
    for folder in lifecycle.binned(home):
        try:
            removed_at = folder.stat().st_ctime
        except FileNotFoundError:
            continue  # another process was first
        found.append((removed_at, lifecycle.without_stamp(folder.name), reader.disk_bytes(folder)))
    return [
        {"run_id": run_id, "removed_at": iso_time(removed_at), "disk_bytes": size}
        for removed_at, run_id, size in sorted(found, reverse=True)
    ]


def _binned(home: str, run_id: str) -> list[Path]:
    """List what the bin holds of a run, what was thrown away last at the end."""
    folders = lifecycle.binned(home)
    return [folder for folder in folders if lifecycle.without_stamp(folder.name) == run_id]
